"""Checkpoint files of each kind: told apart, and read without loading."""

from __future__ import annotations

import os
import zlib

from ms_adapter.tools.formats import torch_files
from ms_adapter.tools.formats.entry import BadFile, Entry
from ms_adapter.tools.formats.mindspore_checkpoint import CHECKSUM_BYTES, checksum_of
from ms_adapter.tools.formats.read import read_path
from ms_adapter.tools.frame import ToolError

KINDS = {".pth": "torch", ".pt": "torch", ".bin": "torch", ".safetensors": "safetensors",
         ".ckpt": "mindspore"}  # fmt: skip
_STEP = 1 << 24  # bytes read at a time


def kind_of(path: str) -> str:
    """The kind of a file by its name; ToolError for other names."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in KINDS:
        raise ToolError(f"{path}: unknown kind of checkpoint; {', '.join(KINDS)} are known.")
    return KINDS[suffix]


def read(path: str) -> tuple[str, list[Entry], list[str]]:
    """(kind, tensors, names of what is no tensor). A `.ckpt` that torch.save wrote is taken as that."""
    kind = kind_of(path)
    try:
        entries = read_path(path)
    except BadFile as error:
        raise ToolError(str(error)) from error
    if kind == "mindspore" and torch_files.is_of_torch(path):
        kind = "torch"
    return kind, entries, _others(path) if kind == "torch" else []


def _others(path: str) -> list[str]:
    loaded = torch_files.load_mapped(path)
    return [name for name, value in torch_files.leaves_of(loaded) if not torch_files.is_tensor(value)]


def checksum_state(path: str) -> str:
    """What a MindSpore file's checksum says: "none", "right" or "wrong"."""
    with open(path, "rb") as file:
        said = checksum_of(file)
        if said is None:
            return "none"
        left, found = os.fstat(file.fileno()).st_size - CHECKSUM_BYTES, 0
        file.seek(0)
        while left > 0:
            data = file.read(min(_STEP, left))
            found, left = zlib.crc32(data, found), left - len(data)
    return "right" if found == said else "wrong"
