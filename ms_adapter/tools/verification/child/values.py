"""Writes each value of a tensor once, to a file that the comparing process reads."""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple


class Value(NamedTuple):
    """A tensor as it was: where its elements are in the chunk's file; of large ones each `stride`-th."""

    dtype: str
    shape: tuple[int, ...]
    stored: str  # NumPy's dtype of the elements in the file
    offset: int
    elements: int
    stride: int


class Store:
    """Numbers values and writes them; the same tensor, unchanged, keeps its number."""

    def __init__(self, torch: Any, folder: str, most_elements: int) -> None:
        self._torch, self._folder, self._most = torch, folder, most_elements
        self._known: dict[int, tuple[Any, tuple[int, int], int, int]] = {}  # reference, state, epoch, number
        self._epochs: dict[int, int] = {}  # of storages: changes that versions do not show
        self._epoch = 0
        self._next = 0
        self._chunk = 0
        self._makers: dict[int, int] = {}  # of storages: the event that last wrote to them
        self._first = 0  # the chunk's first number
        self.values: dict[int, Value] = {}
        self.made_by: dict[int, int] = {}  # of parameters' values: that event
        self.same: dict[int, int] = {}  # values -> what the same tensor, unchanged, was in a chunk before
        self._file = self._open()

    def _open(self) -> Any:
        return open(os.path.join(self._folder, f"chunk-{self._chunk:06}.values"), "wb")

    def number_of(self, tensor: Any) -> int:
        """The number of the tensor's present value; -1 for what has no plain elements."""
        key, state = id(tensor), self._state(tensor)
        known = self._known.get(key)
        unchanged = known is not None and known[0]() is tensor and known[1] == state
        if known is not None and unchanged and known[2] == self._epoch:
            return known[3]
        number = self._write(tensor)
        if known is not None and unchanged and known[3] < self._first:
            self.same[number] = known[3]
        if isinstance(tensor, self._torch.nn.Parameter):  # made of another tensor, changed through .data
            maker = self._makers.get(storage_of(tensor))
            if maker is not None:
                self.made_by[number] = maker
        self._known[key] = (weakref.ref(tensor), state, self._epoch, number)
        return number

    def _state(self, tensor: Any) -> tuple[int, int]:
        try:
            return tensor._version, self._epochs.get(storage_of(tensor), 0)
        except RuntimeError:  # inference tensors count no versions: taken anew each time
            self._next += 1
            return -self._next, 0

    def written_by(self, tensors: Iterable[Any], event: int) -> None:
        """An event has written to the storages of these tensors."""
        for tensor in tensors:
            self._makers[storage_of(tensor)] = event

    def changed(self, tensor: Any) -> None:
        """All tensors on the same storage have new values."""
        place = storage_of(tensor)
        self._epochs[place] = self._epochs.get(place, 0) + 1

    def all_changed(self) -> None:
        """What is known of any tensor may be out of date (after an optimizer's step)."""
        self._epoch += 1
        self._makers.clear()
        if len(self._known) > 10_000:
            self._known = {key: known for key, known in self._known.items() if known[0]() is not None}

    def _write(self, tensor: Any) -> int:
        number, self._next = self._next, self._next + 1
        name = str(tensor.dtype).rpartition(".")[2]
        with self._torch.no_grad():
            try:
                stride = 1 + (tensor.numel() - 1) // self._most if tensor.numel() else 1
                array = plain_array(self._torch, tensor, stride).reshape(-1)
            except (RuntimeError, NotImplementedError, TypeError):  # meta, quantized, wrapped: no elements
                return -1
        offset = self._file.tell()
        self._file.write(array.tobytes())
        shape = tuple(int(n) for n in tensor.shape)
        self.values[number] = Value(name, shape, str(array.dtype), offset, array.size, stride)
        return number

    def finish_chunk(self, chunk: dict[str, Any]) -> None:
        """Completes the chunk's file and publishes it with what happened in it."""
        self._file.close()
        path = os.path.join(self._folder, f"chunk-{self._chunk:06}.events")
        with open(path + ".part", "wb") as file:
            kept = {"values": self.values, "made_by": self.made_by, "same": self.same}
            pickle.dump({**chunk, **kept}, file)
        os.rename(path + ".part", path)  # the reader sees whole files only
        self.values, self.made_by, self.same = {}, {}, {}
        self._first = self._next
        self.all_changed()  # what the next chunk uses is written there again: chunks stand alone
        self._chunk += 1
        self._file = self._open()


_NUMPY_NAMES = frozenset((
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
    "float32", "float64", "complex64", "complex128",
))  # fmt: skip


def plain_array(torch: Any, tensor: Any, stride: int = 1) -> Any:
    """A tensor as a NumPy array; of its elements in a row each `stride`-th, if more than 1."""
    plain = tensor.detach()
    if str(plain.layout) != "torch.strided":
        plain = plain.to_dense()
    plain = plain.cpu().resolve_conj().resolve_neg()
    if stride > 1:
        plain = plain.reshape(-1)[::stride]
    if str(tensor.dtype).rpartition(".")[2] not in _NUMPY_NAMES:
        plain = plain.to(torch.complex64 if plain.is_complex() else torch.float32)
    return plain.contiguous().numpy()


def storage_of(tensor: Any) -> int:
    """Where the tensor's storage lies; 0 for those that have none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
