"""Batches on their way from a worker: pickled, the bytes of their tensors in shared memory that is reused.

A worker keeps the regions that it made. One that the loader's process has done with (``held`` is 0) is
written again, so that in a long run neither side makes, maps or clears memory. Few bytes go with the pickle.
"""

import io
import os
import pickle
import threading
from multiprocessing.reduction import ForkingPickler

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ....multiprocessing import reductions

__all__ = ["Inbox", "Outbox", "pack_inline", "room_for"]

INLINE_BYTES = 8192  # up to here copying twice is cheaper than a region, and pins no larger one
_PAGE_BYTES = 4096
_MOST_REGIONS = 64
_IDLE_BATCHES = 16  # a region unused for so many batches is given back to the system
_DTYPES = sorted(_C.dtypes.values(), key=str)
_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}


# --- the worker's side -------------------------------------------------------------------------------


class Outbox:
    """A worker's regions, and the packing of what it sends."""

    def __init__(self):
        self._regions = {}  # by key
        self._last_use = {}  # the number of the batch
        self._batch = 0
        self._new, self._forgotten = [], []  # to tell the loader's process
        self._told = []  # regions whose descriptors are on their way

    def room(self, nbytes):
        """A storage of ``nbytes`` in a region that nobody uses."""
        for region in self._regions.values():
            if nbytes <= region.nbytes <= 2 * nbytes and _is_free(region):
                break
        else:
            region = self._add_region(nbytes)
        self._last_use[region.key] = self._batch
        return region.piece(0, nbytes, False)

    def _add_region(self, nbytes):
        region = _C.SharedMemory(-(-nbytes // _PAGE_BYTES) * _PAGE_BYTES)
        self._regions[region.key] = region
        self._new.append(region)
        return region

    def _trim(self):
        """Forget what is idle or must not be written again, and the oldest of too many."""
        surplus = len(self._regions) - _MOST_REGIONS
        for key, region in list(self._regions.items()):
            idle = region.held == 0 and self._batch - self._last_use[key] > _IDLE_BATCHES
            if region.pieces == 0 and (surplus > 0 or region.retired or idle):
                surplus -= 1
                del self._regions[key], self._last_use[key]
                self._forgotten.append(key)

    def copy(self, storage):
        """The bytes of a storage in a region."""
        return self.room(storage.nbytes()).copy_(storage)

    def region_of(self, storage):
        """The region of ours that a storage lies in, if it does."""
        region = _C.SharedMemory.of(storage)
        return region and self._regions.get(region.key)

    def pack(self, head, value):
        """A message of ``head``, a tuple of plain values, and ``value``: the arguments of Channel.send."""
        data, pickler = _pickled(value, self)
        for region in pickler.held:
            region.hold()
        new, self._new = self._new, []
        self._told += new
        forgotten, self._forgotten = self._forgotten, []
        control = (head, [r.key for r in new], forgotten, [region.key for region in pickler.held])
        self._batch += 1
        if self._batch % _IDLE_BATCHES == 0 or len(self._regions) > _MOST_REGIONS:
            self._trim()  # none of these is new to the loader's process, which hears of it next time
        return pickle.dumps(control, 5), data, new + pickler.shared

    def all_sent(self):
        """Close the descriptors of what has been sent: the other process has its own."""
        for region in self._told:
            region.close()
        self._told = []


def _is_free(region):
    return region.pieces == 0 and region.held == 0 and not region.retired


class _Overlap(Exception):
    """Two views overlap whose storage was to be sent in parts."""


class _BatchPickler(ForkingPickler):
    """Pickles tensors by region where an outbox is given, else with their bytes."""

    def __init__(self, file, outbox, whole):
        super().__init__(file, 5)
        self.outbox = outbox
        self.whole = whole  # storages to be sent as a whole, by address
        self.parts = {}  # the byte ranges sent of others
        self.held = []
        self.shared = []  # regions of the user's own, to be sent by descriptor
        self._alive = []  # storages made while pickling, which the memo knows by address

    def reducer_override(self, obj):
        """See pickle.Pickler."""
        kind = type(obj)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return self._tensor(obj)
        if kind is torch.UntypedStorage:
            return self._storage(obj)
        return NotImplemented

    def _tensor(self, tensor):
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.requires_grad:
            return reductions.reduce_tensor(tensor)
        storage = tensor.untyped_storage()
        if tensor.nbytes < storage.nbytes() and not _C.SharedMemory.of(storage):
            tensor = self._part(tensor, storage)
            storage = tensor.untyped_storage()
        if tensor.storage_offset() == 0 and tensor.is_contiguous() and not tensor.is_conj():
            return _plain, (storage, _CODES[tensor.dtype], tuple(tensor.shape))
        return reductions.rebuild_tensor, (False, storage, reductions.describe(tensor))

    def _part(self, tensor, storage):
        """A copy of a view that is small beside its storage, unless others overlap it."""
        address = storage.data_ptr()
        if address in self.whole or storage.nbytes() <= 2 * tensor.nbytes:
            return tensor
        last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
        begin = tensor.storage_offset()
        end = begin + last + 1
        size = tensor.element_size()
        sent = self.parts.setdefault(address, [])
        if any(begin * size < other_end and other_begin < end * size for other_begin, other_end in sent):
            self.whole.add(address)
            raise _Overlap
        sent.append((begin * size, end * size))
        copied = tensor.clone()
        self._alive.append(copied)
        return copied

    def _storage(self, storage):
        if storage.device.type != "cpu":
            return reductions.reduce_storage(storage)
        region = _C.SharedMemory.of(storage)
        if self.outbox is None or (storage.nbytes() <= INLINE_BYTES and region is None):
            return _inline, (bytes(storage),)
        if region is not None and region.fd >= 0 and self.outbox.region_of(storage) is None:
            self.shared.append(region)
            return _by_descriptor, (len(self.shared) - 1,)
        own = self.outbox.region_of(storage)
        if own is None:
            self._alive.append(self.outbox.copy(storage))
            own = self.outbox.region_of(self._alive[-1])
        self.held.append(own)
        return _by_region, (own.key, storage.nbytes())


def _pickled(value, outbox):
    whole = set()
    while True:
        file = io.BytesIO()
        pickler = _BatchPickler(file, outbox, whole)
        try:
            pickler.dump(value)
            return file.getbuffer(), pickler
        except _Overlap:
            pass  # once for each storage at most


def pack_inline(value):
    """A control part that brings ``value`` whole, tensors too."""
    return bytes(_pickled(value, None)[0])


_outbox = None  # of this process, if it is a worker


def become_worker():
    """Make this process's collated batches lie in shared memory; returns its outbox."""
    global _outbox
    _outbox = Outbox()
    return _outbox


def room_for(shape, dtype, nbytes):
    """An uninitialised tensor that can be sent without a copy; None where a plain one will do."""
    if _outbox is None or nbytes <= INLINE_BYTES:
        return None
    tensor = torch.empty((0,), dtype=dtype, device="cpu")
    return tensor.set_(_outbox.room(nbytes), 0, shape)


# --- the loader's side -------------------------------------------------------------------------------

_now = threading.local()  # what the message being unpickled in this thread came with


class Inbox:
    """The regions of one worker as the loader's process maps them."""

    def __init__(self):
        self._regions = {}
        self._taken = []

    def unpack(self, control, data, descriptors):
        """What `Outbox.pack` packed: (head, a function that gives the value).

        The function must be called: until then the value's regions count as in use.
        """
        head, new, forgotten, held = pickle.loads(control)
        for key, descriptor in zip(new, descriptors, strict=False):
            region = self._regions[key] = _C.SharedMemory.attach(descriptor)
            region.close()
        for key in forgotten:
            del self._regions[key]
        return head, lambda: self._value(data, held, descriptors[len(new) :])

    def _value(self, data, held, descriptors):
        _now.inbox, _now.descriptors, self._taken = self, descriptors, []
        try:
            return pickle.loads(data)
        except BaseException:
            for key in held[len(self._taken) :]:
                self.take(key, 0)  # let go of what the pickle did not come to
            raise
        finally:
            _now.inbox = _now.descriptors = None
            for descriptor in descriptors:
                if descriptor is not None:
                    os.close(descriptor)

    def take(self, key, nbytes):
        """A storage in a region; its end tells the worker."""
        self._taken.append(key)
        return self._regions[key].piece(0, nbytes, True)


def _plain(storage, code, shape):
    """A contiguous tensor over a storage."""
    return torch.empty((0,), dtype=_DTYPES[code], device="cpu").set_(storage, 0, shape)


def _inline(data):
    """A storage of these bytes."""
    storage = torch.UntypedStorage(len(data))
    if data:
        memoryview(storage).cast("B")[:] = data
    return storage


def _by_region(key, nbytes):
    """A storage in a region of the worker that sent the message."""
    return _now.inbox.take(key, nbytes)


def _by_descriptor(number):
    """The storage over a region that came with the message."""
    descriptor, _now.descriptors[number] = _now.descriptors[number], None
    return _C.SharedMemory.attach(descriptor).whole()
