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
        self._known: dict[int, tuple[Any, int, int, int]] = {}  # id -> reference, version, epoch, number
        self._epochs: dict[int, int] = {}  # of storages: changes that versions do not show
        self._epoch = 0
        self._next = 0
        self._chunk = 0
        self._makers: dict[int, int] = {}  # of storages: the event that last wrote to them
        self.values: dict[int, Value] = {}
        self.made_by: dict[int, int] = {}  # of parameters' values: that event
        self._file = self._open()

    def _open(self) -> Any:
        return open(os.path.join(self._folder, f"chunk-{self._chunk:06}.values"), "wb")

    def number_of(self, tensor: Any) -> int:
        """The number of the tensor's present value; -1 for what has no plain elements."""
        key, state = id(tensor), self._state(tensor)
        known = self._known.get(key)
        if known is not None and known[0]() is tensor and known[1:3] == state:
            return known[3]
        number = self._write(tensor)
        if isinstance(tensor, self._torch.nn.Parameter):  # made of another tensor, changed through .data
            maker = self._makers.get(storage_of(tensor))
            if maker is not None:
                self.made_by[number] = maker
        self._known[key] = (weakref.ref(tensor), *state, number)
        return number

    def _state(self, tensor: Any) -> tuple[int, int]:
        try:
            return tensor._version, self._epoch + self._epochs.get(storage_of(tensor), 0)
        except RuntimeError:  # inference tensors count no versions: taken anew each time
            self._next += 1
            return -self._next, self._epoch

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
        torch = self._torch
        number, self._next = self._next, self._next + 1
        name = str(tensor.dtype).rpartition(".")[2]
        with torch.no_grad():
            try:
                flat = tensor.detach()
                if str(flat.layout) != "torch.strided":
                    flat = flat.to_dense()
                flat = flat.cpu().resolve_conj().resolve_neg().reshape(-1)
                stride = 1 + (flat.numel() - 1) // self._most if flat.numel() else 1
                if stride > 1:
                    flat = flat[::stride]
                if name not in _NUMPY_NAMES:
                    flat = flat.float()
                array = flat.contiguous().numpy()
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
            pickle.dump({**chunk, "values": self.values, "made_by": self.made_by}, file)
        os.rename(path + ".part", path)  # the reader sees whole files only
        self.values, self.made_by = {}, {}
        self.all_changed()  # what the next chunk uses is written there again: chunks stand alone
        self._chunk += 1
        self._file = self._open()


_NUMPY_NAMES = frozenset((
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
    "float32", "float64", "complex64", "complex128",
))  # fmt: skip


def storage_of(tensor: Any) -> int:
    """Where the tensor's storage lies; 0 for those that have none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
