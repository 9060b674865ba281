"""One tensor of a file or of memory, described without reading it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

ITEM_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8,
    "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
    "complex32": 4, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e5m2": 1, "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
}  # fmt: skip


class BadFile(Exception):
    """A file, or one tensor of it, cannot be read; the text says what is wrong with it."""


@dataclass
class Entry:
    """Where a tensor's elements lie, in row-major order: in `pieces` of files, or in the buffer `memory`.

    `error` is set instead where the bytes cannot be had.
    """

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    pieces: list[tuple[str, int, int]] = field(default_factory=list)  # (path, offset, bytes)
    memory: Any = None
    error: str | None = None

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """The number of bytes of all elements."""
        return self.count * ITEM_BYTES.get(self.dtype, 0)

    def check(self) -> Entry:
        """Itself, with an error if the dtype is unknown or the bytes are not as many as the shape needs."""
        if self.error:
            return self
        if self.dtype not in ITEM_BYTES:
            self.error = f"the dtype {self.dtype[:30]} is not supported"
        elif self.memory is None and (have := sum(piece[2] for piece in self.pieces)) != self.bytes:
            self.error = f"it has {have} bytes where shape {self.shape} of {self.dtype} needs {self.bytes}"
        return self


def from_array(name: str, array: Any) -> Entry:
    """The entry of a NumPy array."""
    import numpy as np

    array = np.asarray(array)
    dtype = array.dtype
    if dtype.byteorder == ">" or (dtype.byteorder == "=" and not np.little_endian):
        array = array.astype(dtype.newbyteorder("<"))
    if str(array.dtype) not in ITEM_BYTES:
        return Entry(name, error=f"the dtype {str(dtype)[:30]} is not supported")
    flat = np.ascontiguousarray(array).reshape(-1)
    return Entry(name, str(array.dtype), tuple(array.shape), memory=flat.view(np.uint8))


def from_tensor(name: str, tensor: Any) -> Entry:
    """The entry of a tensor of ours, or of PyTorch."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    if dtype not in ITEM_BYTES:
        return Entry(name, error=f"the dtype {dtype} is not supported")
    plain = tensor.detach()
    if str(plain.layout) != "torch.strided":
        plain = plain.to_dense()
    plain = plain.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    raw = plain.view((plain.new_empty(0) != 0).byte().dtype)  # uint8 of whichever torch it is
    return Entry(name, dtype, tuple(int(n) for n in tensor.shape), memory=raw.numpy())
