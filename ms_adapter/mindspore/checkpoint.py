"""MindSpore's `.ckpt` files, read and written with or without MindSpore: protobuf messages of named
tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ms_adapter import pytorch as torch

# What tensor_type says, and the dtype here. BFloat16 goes by its bits, which NumPy has no dtype for.
_TYPES = {
    "Bool": "bool",
    "Int8": "int8",
    "Int16": "int16",
    "Int32": "int32",
    "Int64": "int64",
    "UInt8": "uint8",
    "Float16": "float16",
    "BFloat16": "bfloat16",
    "Float32": "float32",
    "Float64": "float64",
    "Complex64": "complex64",
    "Complex128": "complex128",
}
_NAMES = {ours: theirs for theirs, ours in _TYPES.items()}
_ENCRYPTED = (0x7F3A5ED8).to_bytes(4, "big")
_CRC, _CRC_BYTES = b"crc_num", 17  # the word and ten digits behind the messages
_BYTES = 2  # the wire type of strings, bytes and messages


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(number, value) of a message's fields: ints, or bytes for strings and messages."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == _BYTES:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise IndexError
            yield key >> 3, data[at : at + size]
            at += size
        elif key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        else:
            raise IndexError


def _dims(value: Any) -> list[int]:
    """One repeated int64, or several packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        size, at = _varint(value, at)
        found.append(size)
    return found


def _tensor(name: str, kind: str, dims: list[int], content: bytes) -> torch.Tensor:
    if kind not in _TYPES:
        raise NotImplementedError(f"load_checkpoint: {name} is of type {kind!r}, which is not supported.")
    ours = _TYPES[kind]
    array = np.frombuffer(content, "int16" if ours == "bfloat16" else ours).copy()
    tensor = torch.from_numpy(array.reshape(() if dims == [0] and array.size == 1 else dims))
    return tensor.view(torch.bfloat16) if ours == "bfloat16" else tensor


def load_checkpoint(file: str | Path) -> dict[str, torch.Tensor]:
    """The tensors of a `.ckpt` file by name, on cpu; a tensor in several pieces comes as one.

    Raises RuntimeError for encrypted files and for what is no `.ckpt` file. A CRC behind the data is left
    aside.
    """
    data = Path(file).read_bytes()
    if data[:4] == _ENCRYPTED:
        raise RuntimeError(
            f"load_checkpoint: {file} is encrypted; decrypt it by mindspore.load_checkpoint(dec_key=)."
        )
    if data[-_CRC_BYTES:].startswith(_CRC):
        data = data[:-_CRC_BYTES]
    found: dict[str, tuple[str, list[int], bytes]] = {}
    try:
        for number, value in _fields(memoryview(data)):
            if number != 1:
                continue
            fields = dict(_fields(value))
            name, kind, dims, content = bytes(fields[1]).decode(), "", [], b""
            for inner, part in _fields(fields[2]):
                if inner == 1:
                    dims += _dims(part)
                elif inner == 2:
                    kind = bytes(part).decode()
                elif inner == 3:
                    content = bytes(part)
            before = found[name][2] if name in found else b""
            found[name] = (kind, dims, before + content)
        return {name: _tensor(name, *parts) for name, parts in found.items()}
    except (IndexError, KeyError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise RuntimeError(f"load_checkpoint: {file} is no MindSpore checkpoint, or is damaged.") from error


def _number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(content)) + content


def save_checkpoint(save_obj: Any, ckpt_file_name: str | Path) -> None:
    """Writes a module's state, or tensors by name, as a `.ckpt` file that MindSpore loads.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.ckpt")
    >>> save_checkpoint({"w": torch.ones(2)}, path)
    >>> load_checkpoint(path)
    {'w': tensor([1., 1.])}
    """
    state = save_obj.state_dict() if isinstance(save_obj, torch.nn.Module) else save_obj
    messages = []
    for name, tensor in state.items():
        ours = str(tensor.dtype).removeprefix("torch.")
        if ours not in _NAMES:
            raise TypeError(
                f"save_checkpoint: {name} is {tensor.dtype}, which .ckpt files do not have; cast it."
            )
        host = tensor.detach().cpu().contiguous()
        host = host.view(torch.int16) if ours == "bfloat16" else host
        dims = b"".join(_number(1 << 3) + _number(n) for n in (host.shape or (0,)))
        body = dims + _field(2, _NAMES[ours].encode()) + _field(3, host.numpy().tobytes())
        messages.append(_field(1, _field(1, name.encode()) + _field(2, body)))
    Path(ckpt_file_name).write_bytes(b"".join(messages))
