"""MindSpore's ckpt files: a protobuf message whose tensors are found by walking it, without loading it.

The message is a sequence of values: field 1, each with a name (1) and a tensor (2) of dims (1), type (2) and
content (3). A large parameter is several values of one name, whose contents follow each other.
"""

from __future__ import annotations

import os
from typing import IO

from .entry import BadFile, Entry

DTYPES = {
    "Int8": "int8", "UInt8": "uint8", "Int16": "int16", "UInt16": "uint16", "Int32": "int32",
    "UInt32": "uint32", "Int64": "int64", "UInt64": "uint64", "Float16": "float16", "Float32": "float32",
    "Float64": "float64",
    "Bool": "bool", "BFloat16": "bfloat16", "Complex64": "complex64", "Complex128": "complex128",
}  # fmt: skip
_CHECKSUM = b"crc_num"
CHECKSUM_BYTES = 17
_ENCRYPTED = tuple(mode + b"\x5e\x3a\x7f" for mode in (b"\xd8", b"\xd9", b"\xda"))  # GCM, CBC, SM4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_TEXT = 1 << 16
_MOST_DIMS = 64


class _Walk:
    """Reads protobuf's wire format between two places of a file, which is read only where asked."""

    def __init__(self, file: IO[bytes], begin: int, end: int) -> None:
        self._file, self.at, self._end = file, begin, end

    def __iter__(self) -> _Walk:
        return self

    def __next__(self) -> tuple[int, int, int, int]:
        """(field, kind, place, bytes) of the next field; of a number: (field, kind, number, 0)."""
        if self.at >= self._end:
            raise StopIteration
        key = self.varint()
        field, kind = key >> 3, key & 7
        if field == 0:
            raise BadFile("no MindSpore checkpoint, or damaged (a field without a number)")
        if kind == _VARINT:
            return field, kind, self.varint(), 0
        if kind == _BYTES:
            size = self.varint()
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise BadFile(f"no MindSpore checkpoint, damaged, or encrypted (wire type {kind})")
        place = self.at
        if place + size > self._end:
            raise BadFile(f"half written, or damaged: {size} bytes announced, {self._end - place} left")
        self.at = place + size
        return field, kind, place, size

    def varint(self) -> int:
        """A number at the present place."""
        self._file.seek(self.at)
        data = self._file.read(min(10, self._end - self.at))
        value = 0
        for i, byte in enumerate(data):
            value |= (byte & 127) << 7 * i
            if byte < 128:
                self.at += i + 1
                return value
        raise BadFile("half written, or damaged: a number has no end")

    def text(self, place: int, size: int) -> str:
        """A short text."""
        if size > _LONGEST_TEXT:
            raise BadFile(f"damaged: a name of {size} bytes")
        self._file.seek(place)
        try:
            return self._file.read(size).decode("utf-8")
        except UnicodeDecodeError:
            raise BadFile("damaged, or encrypted: a name is no text") from None

    def inside(self, place: int, size: int) -> _Walk:
        """The fields of a message in this one."""
        return _Walk(self._file, place, place + size)


def read_ckpt(path: str) -> list[Entry]:
    """The parameters of a checkpoint, in its order."""
    found: dict[str, Entry] = {}
    with open(path, "rb") as file:
        if file.read(4) in _ENCRYPTED:
            raise BadFile("encrypted: load it by mindspore.load_checkpoint(dec_key=...) and save it again")
        for field, kind, place, size in _Walk(file, 0, _end_of_message(file)):
            if (field, kind) != (1, _BYTES):
                raise BadFile("no MindSpore checkpoint (it has other fields)")
            entry = _value(_Walk(file, place, place + size), path)
            if entry.name in found:
                found[entry.name].pieces += entry.pieces
            else:
                found[entry.name] = entry
    if not found:
        raise BadFile("there is no parameter in it")
    return list(found.values())


def checksum_of(file: IO[bytes]) -> int | None:
    """The CRC-32 that the file's end says, if it says one."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(size - CHECKSUM_BYTES, 0))
    end = file.read(CHECKSUM_BYTES)
    is_one = len(end) == CHECKSUM_BYTES and end.startswith(_CHECKSUM)
    return int.from_bytes(end[len(_CHECKSUM) :], "big") if is_one else None


def _end_of_message(file: IO[bytes]) -> int:
    """Where the message ends: a checksum may follow."""
    size = os.fstat(file.fileno()).st_size
    return size if checksum_of(file) is None else size - CHECKSUM_BYTES


def _value(walk: _Walk, path: str) -> Entry:
    name, tensor = None, None
    for field, kind, place, size in walk:
        if (field, kind) == (1, _BYTES):
            name = walk.text(place, size)
        elif (field, kind) == (2, _BYTES):
            tensor = _tensor(walk.inside(place, size), path)
        elif field == 3:
            tensor = Entry("", error="a map parameter, which is not supported")
    if name is None or tensor is None:
        raise BadFile("no MindSpore checkpoint, or damaged (a value without a name or a tensor)")
    tensor.name = name
    return tensor


def _tensor(walk: _Walk, path: str) -> Entry:
    entry = Entry("")
    dims: list[int] = []
    for field, kind, place, size in walk:
        if (field, kind) == (1, _VARINT):
            dims.append(place)
        elif (field, kind) == (1, _BYTES):  # packed
            packed = walk.inside(place, size)
            while packed.at < place + size:
                dims.append(packed.varint())
        elif (field, kind) == (2, _BYTES):
            name = walk.text(place, size)
            entry.dtype = DTYPES.get(name, name)
        elif (field, kind) == (3, _BYTES):
            entry.pieces.append((path, place, size))
        if len(dims) > _MOST_DIMS:
            raise BadFile("damaged: a tensor of more than 64 dimensions")
    is_number = dims == [0] and any(piece[2] for piece in entry.pieces)  # MindSpore writes its shape as 0
    entry.shape = () if is_number else tuple(dims)
    return entry
