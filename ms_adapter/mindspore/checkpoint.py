"""MindSpore's `.ckpt` files, read and written with or without MindSpore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ms_adapter import pytorch as torch
from ms_adapter.tools.formats.entry import BadFile, from_tensor
from ms_adapter.tools.formats.mindspore_checkpoint import DTYPES, read_ckpt
from ms_adapter.tools.formats.write import as_tensor, write_file


def load_checkpoint(file: str | Path) -> dict[str, torch.Tensor]:
    """The tensors of a `.ckpt` file by name, on cpu; a tensor in several pieces comes as one.

    Raises RuntimeError for encrypted files and for what is no `.ckpt` file. A CRC behind the data is left
    aside: `ms-adapter ckpt show` compares it.
    """
    try:
        entries = [entry.check() for entry in read_ckpt(os.fspath(file))]
    except BadFile as error:
        raise RuntimeError(f"load_checkpoint: {file} cannot be read: {error}.") from error
    for entry in entries:
        if entry.error:
            raise RuntimeError(f"load_checkpoint: {entry.name} of {file} cannot be read: {entry.error}.")
    return {entry.name: as_tensor(entry).clone() for entry in entries}


def save_checkpoint(save_obj: Any, ckpt_file_name: str | Path) -> None:
    """Writes a module's state, or tensors by name, as a `.ckpt` file that MindSpore loads.

    The file is there whole or as it was before. TypeError for dtypes that such files do not have.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.ckpt")
    >>> save_checkpoint({"w": torch.ones(2)}, path)
    >>> load_checkpoint(path)
    {'w': tensor([1., 1.])}
    """
    state = save_obj.state_dict() if isinstance(save_obj, torch.nn.Module) else save_obj
    for name, tensor in state.items():
        if str(tensor.dtype).removeprefix("torch.") not in DTYPES.values():
            raise TypeError(
                f"save_checkpoint: {name} is {tensor.dtype}, which .ckpt files do not have; cast it."
            )
    try:
        write_file(os.fspath(ckpt_file_name), "mindspore", [from_tensor(*item) for item in state.items()])
    except BadFile as error:
        raise RuntimeError(f"save_checkpoint: {error}.") from error


def load_param_into_net(
    net: Any, parameter_dict: dict[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Puts tensors, ours or MindSpore's, into a module by their names.

    Gives the module's names that the dictionary lacks, and the dictionary's that the module lacks.
    RuntimeError where shapes differ.

    >>> from ms_adapter.pytorch import nn
    >>> load_param_into_net(nn.Linear(2, 1), {"weight": torch.ones(1, 2), "extra": torch.ones(1)})
    (['bias'], ['extra'])
    """
    tensors = {
        name: value if isinstance(value, torch.Tensor) else torch.from_numpy(value.asnumpy())
        for name, value in parameter_dict.items()
    }
    missing, unexpected = net.load_state_dict(tensors, strict=False)
    return list(missing), list(unexpected)
