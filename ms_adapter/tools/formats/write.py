"""Files of tensors written from entries: piece by piece, and there whole or not at all."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from typing import IO, Any

from .entry import ITEM_BYTES, BadFile, Entry
from .mindspore_checkpoint import DTYPES
from .torch_files import SAFETENSORS_DTYPES

_STEP = 1 << 24  # bytes copied at a time
_SLICE = 512 << 20  # bytes of a parameter in one message, as MindSpore cuts them
_TYPE_NAMES = {ours: theirs for theirs, ours in DTYPES.items()}
_SAFE_NAMES = {ours: theirs for theirs, ours in SAFETENSORS_DTYPES.items()}


def write_file(path: str, kind: str, entries: list[Entry]) -> None:
    """Writes a file of the kind "mindspore", "safetensors" or "torch"; until it is whole the old one stays.

    Raises:
        BadFile: the kind has no such dtype, an entry's bytes cannot be had, or there is no such folder.
    """
    from ms_adapter.pytorch.serialization.atomic import replacing

    for entry in entries:
        if entry.check().error:
            raise BadFile(f"{entry.name}: {entry.error}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise BadFile(f"{path}: there is no folder {folder}")
    with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "wb") as file:
        _WRITERS[kind](file, entries)


def as_tensor(entry: Entry) -> Any:
    """The entry as a tensor of ours: over the file itself where it lies in one piece, else put together."""
    import numpy as np

    import ms_adapter.pytorch as torch

    dtype = getattr(torch, entry.dtype)
    if not entry.count:
        return torch.empty(entry.shape, dtype=dtype)
    if entry.memory is not None:
        raw = np.asarray(entry.memory)
    elif len(entry.pieces) == 1:
        path, place, size = entry.pieces[0]
        raw = np.memmap(path, np.uint8, "c", place, (size,))  # pages are the file's until written to
    else:
        raw = np.empty(entry.bytes, np.uint8)
        at = 0
        for data in _bytes_of(entry):
            raw[at : at + len(data)] = np.frombuffer(data, np.uint8)
            at += len(data)
    flat = torch.from_numpy(raw)
    if flat.data_ptr() % ITEM_BYTES[entry.dtype]:
        flat = flat.clone()
    return flat.view(dtype).reshape(entry.shape)


def _bytes_of(entry: Entry) -> Iterator[memoryview | bytes]:
    """The elements' bytes, not more than a step at a time."""
    if entry.memory is not None:
        yield memoryview(entry.memory)
        return
    for path, place, size in entry.pieces:
        with open(path, "rb") as file:
            file.seek(place)
            while size:
                data = file.read(min(_STEP, size))
                if not data:
                    raise BadFile(f"{path} became shorter while it was read")
                size -= len(data)
                yield data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, size: int) -> bytes:
    """What stands before a field of `size` bytes."""
    return _varint(number << 3 | 2) + _varint(size)


def _write_ckpt(file: IO[bytes], entries: list[Entry]) -> None:
    for entry in entries:
        if entry.dtype not in _TYPE_NAMES:
            raise BadFile(f"{entry.name}: MindSpore's files have no dtype {entry.dtype}; write a .pth file")
        left = entry.bytes
        parts = _bytes_of(entry)
        rest = memoryview(b"")
        while True:
            size = min(left, _SLICE)
            file.write(_ckpt_head(entry, size))
            left -= size
            while size:
                rest = rest or memoryview(next(parts))
                file.write(rest[:size])
                taken = min(size, len(rest))
                rest, size = rest[taken:], size - taken
            if not left:
                break


def _ckpt_head(entry: Entry, size: int) -> bytes:
    """A value's bytes up to its content."""
    name, kind = entry.name.encode(), _TYPE_NAMES[entry.dtype].encode()
    dims = b"".join(_varint(1 << 3) + _varint(n) for n in (entry.shape or (0,)))
    tensor = dims + _field(2, len(kind)) + kind + _field(3, size)
    value = _field(1, len(name)) + name + _field(2, len(tensor) + size) + tensor
    return _field(1, len(value) + size) + value


def _write_safetensors(file: IO[bytes], entries: list[Entry]) -> None:
    # Wide elements first, so that each tensor begins at a multiple of its element's size.
    ordered = sorted(entries, key=lambda entry: -ITEM_BYTES[entry.dtype])
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for entry in ordered:
        if entry.dtype not in _SAFE_NAMES:
            raise BadFile(f"{entry.name}: safetensors has no dtype {entry.dtype}; write a .pth file")
        end = place + entry.bytes
        header[entry.name] = {
            "dtype": _SAFE_NAMES[entry.dtype], "shape": list(entry.shape), "data_offsets": [place, end]
        }  # fmt: skip
        place = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for entry in ordered:
        for data in _bytes_of(entry):
            file.write(data)


def _write_torch(file: IO[bytes], entries: list[Entry]) -> None:
    import ms_adapter.pytorch as torch

    torch.save({entry.name: as_tensor(entry) for entry in entries}, file)


_WRITERS = {"mindspore": _write_ckpt, "safetensors": _write_safetensors, "torch": _write_torch}
