"""Checkpoint files of each kind: told apart, read without loading, and written piece by piece, whole."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

from ms_adapter.tools.formats import torch_files
from ms_adapter.tools.formats.entry import ITEM_BYTES, BadFile, Entry
from ms_adapter.tools.formats.mindspore_checkpoint import CHECKSUM_BYTES, DTYPES, checksum_of
from ms_adapter.tools.formats.read import read_path
from ms_adapter.tools.frame import ToolError

from .names import Move

KINDS = {".pth": "torch", ".pt": "torch", ".bin": "torch", ".safetensors": "safetensors",
         ".ckpt": "mindspore"}  # fmt: skip
_STEP = 1 << 24  # bytes copied at a time
_SLICE = 512 << 20  # bytes of a parameter in one message, as MindSpore cuts them
_TYPE_NAMES = {ours: theirs for theirs, ours in DTYPES.items()}
_SAFE_NAMES = {ours: theirs for theirs, ours in torch_files.SAFETENSORS_DTYPES.items()}


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
        if kind == "mindspore" and _is_of_torch(path):
            kind, entries = "torch", [entry.check() for entry in torch_files.read_torch(path)]
        else:
            entries = read_path(path)
    except BadFile as error:
        raise ToolError(str(error)) from error
    return kind, entries, _others(path) if kind == "torch" else []


def _is_of_torch(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


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


def write(path: str, kind: str, moves: list[Move]) -> None:
    """Writes the tensors that are not left out; the file is there whole, or as it was before."""
    from ms_adapter.pytorch.serialization.atomic import replacing

    kept = [move for move in moves if move.new is not None]
    try:
        with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "wb") as file:
            {"mindspore": _write_ckpt, "safetensors": _write_safetensors, "torch": _write_torch}[kind](
                file, kept
            )
    except RuntimeError as error:  # a folder that is not there
        raise ToolError(f"{path}: {error}") from error


def _bytes_of(entry: Entry | None) -> Iterator[memoryview | bytes]:
    """The elements' bytes, not more than a step at a time; without an entry those of the int64 0."""
    if entry is None:
        yield bytes(8)
    elif entry.memory is not None:
        yield memoryview(entry.memory)
    else:
        for path, place, size in entry.pieces:
            with open(path, "rb") as file:
                file.seek(place)
                while size:
                    data = file.read(min(_STEP, size))
                    if not data:
                        raise ToolError(f"{path} became shorter while it was read")
                    size -= len(data)
                    yield data


def _dtype(move: Move) -> str:
    return move.source.dtype if move.source else "int64"


def _size(move: Move) -> int:
    return move.source.bytes if move.source else ITEM_BYTES["int64"]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, size: int) -> bytes:
    """What stands before a field of `size` bytes."""
    return _varint(number << 3 | 2) + _varint(size)


def _write_ckpt(file: IO[bytes], moves: list[Move]) -> None:
    for move in moves:
        left = _size(move)
        parts = _bytes_of(move.source)
        rest = memoryview(b"")
        while True:
            size = min(left, _SLICE)
            file.write(_ckpt_head(move, size))
            left -= size
            while size:
                rest = rest or memoryview(next(parts))
                file.write(rest[:size])
                taken = min(size, len(rest))
                rest, size = rest[taken:], size - taken
            if not left:
                break


def _ckpt_head(move: Move, size: int) -> bytes:
    """A value's bytes up to its content."""
    assert move.new is not None
    name, kind = move.new.encode(), _TYPE_NAMES[_dtype(move)].encode()
    dims = b"".join(_varint(1 << 3) + _varint(n) for n in (move.shape or (0,)))
    tensor = dims + _field(2, len(kind)) + kind + _field(3, size)
    value = _field(1, len(name)) + name + _field(2, len(tensor) + size) + tensor
    return _field(1, len(value) + size) + value


def _write_safetensors(file: IO[bytes], moves: list[Move]) -> None:
    # Wide elements first, so that each tensor begins at a multiple of its element's size.
    ordered = sorted(moves, key=lambda move: -ITEM_BYTES[_dtype(move)])
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for move in ordered:
        if _dtype(move) not in _SAFE_NAMES:
            raise ToolError(f"{move.new}: safetensors has no dtype {_dtype(move)}; write a .pth file.")
        end = place + _size(move)
        fields = {"dtype": _SAFE_NAMES[_dtype(move)], "shape": list(move.shape), "data_offsets": [place, end]}
        header[str(move.new)] = fields
        place = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for move in ordered:
        for data in _bytes_of(move.source):
            file.write(data)


def _write_torch(file: IO[bytes], moves: list[Move]) -> None:
    import ms_adapter.pytorch as torch

    torch.save({move.new: _as_tensor(move) for move in moves}, file)


def _as_tensor(move: Move) -> Any:
    """The tensor over the file's own memory where it lies in one piece; else put together."""
    import numpy as np

    import ms_adapter.pytorch as torch

    if move.source is None:
        return torch.zeros((), dtype=torch.int64)
    entry, dtype = move.source, getattr(torch, move.source.dtype)
    if not entry.count:
        return torch.empty(move.shape, dtype=dtype)
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
    return flat.view(dtype).reshape(move.shape)
