"""Rebuilding tensors and parameters from pickles: the functions that files name."""

import contextlib
import os
import sys
import threading
import traceback

import ms_adapter.pytorch as torch


class KeyErrorMessage(str):
    """A text that KeyError, which shows its argument's repr, shows as it is."""

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again in another thread or process."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raise an exception of the same type whose text ends with the original traceback.

        A type that cannot be made of a text alone gives RuntimeError.
        """
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        try:
            raised = self._made_of(text)
        except Exception:
            raised = RuntimeError(text)
        raise raised from None

    def _made_of(self, text):
        if issubclass(self.exc_type, KeyError):
            return self.exc_type(KeyErrorMessage(text))
        if getattr(self.exc_type, "message", None):
            return self.exc_type(message=text)
        return self.exc_type(text)


def cpu_count():
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _storage_of(storage):
    """The untyped storage behind what a pickle holds, and the dtype it was saved with, if it says."""
    untyped = getattr(storage, "_untyped_storage", storage)
    return untyped, getattr(storage, "dtype", None)


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor over a typed storage."""
    untyped, dtype = _storage_of(storage)
    tensor = torch.empty((0,), dtype=dtype, device=untyped.device)
    return tensor.set_(untyped, storage_offset, torch.Size(size), stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor over a typed storage, with what autograd knows of it."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    if metadata and metadata.get("conj"):
        tensor = _changed(tensor, torch.conj_physical)
    if metadata and metadata.get("neg"):
        tensor = _changed(tensor, torch.neg)
    tensor.requires_grad = requires_grad
    return tensor


def _changed(tensor, change):
    """``change(tensor)``, whose elements come once the storages of the file being read are filled."""
    if _per_thread.late is None:
        return change(tensor)
    result = torch.empty_like(tensor)
    _per_thread.late.append((result, tensor, change))
    return result


@contextlib.contextmanager
def storages_filled_last():
    """For files whose storages' bytes come after the pickle: values made from them follow at the end."""
    before, _per_thread.late = _per_thread.late, []
    try:
        yield
        with torch.no_grad():
            for result, tensor, change in _per_thread.late:
                result.copy_(change(tensor))
    finally:
        _per_thread.late = before


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    """A tensor over an untyped storage: dtypes without a typed storage of their own."""
    tensor = torch.empty((0,), dtype=dtype, device=_storage_of(storage)[0].device)
    tensor.set_(_storage_of(storage)[0], storage_offset, torch.Size(size), stride)
    tensor.requires_grad = requires_grad
    return tensor


def _sparse_parts(tensor):
    """What a pickle holds of a sparse tensor."""
    size = torch.Size(tensor.shape)
    if tensor.layout == torch.sparse_coo:
        return tensor._indices(), tensor._values(), size, tensor.is_coalesced()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values().detach(), size
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values().detach(), size


class _PerThread(threading.local):
    unchecked = None  # sparse tensors of the file being loaded
    late = None  # (result, tensor, change) of tensors whose storages are not filled yet


_per_thread = _PerThread()


@contextlib.contextmanager
def checking_sparse_tensors():
    """Check the sparse tensors that are rebuilt within the block at its end: only then old files' storages
    are filled.
    """
    before, _per_thread.unchecked = _per_thread.unchecked, []
    try:
        yield
        for layout, data in _per_thread.unchecked:
            _sparse_tensor(layout, data, True)
    finally:
        _per_thread.unchecked = before


def _rebuild_sparse_tensor(layout, data):
    """A sparse tensor of its parts, which are checked: they come from a file."""
    later = _per_thread.unchecked
    if later is not None:
        later.append((layout, data))
    return _sparse_tensor(layout, data, later is None)


def _sparse_tensor(layout, data, check):
    if layout == torch.sparse_coo:
        indices, values, size, *coalesced = data  # old files do not say whether it is
        parts = indices, values, tuple(size), bool(coalesced and coalesced[0])
        if check:
            torch._validate_sparse_coo_tensor_args(*parts)
        return torch._sparse_coo_tensor_unsafe(*parts)
    compressed, plain, values, size = data
    return torch.sparse_compressed_tensor(
        compressed, plain, values, size, layout=layout, check_invariants=check
    )


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A parameter."""
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """A parameter with attributes of its own."""
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor without data."""
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _get_obj_state(obj):
    """What an object holds beyond its tensor: its dictionary, and its slots where it has any."""
    state = getattr(obj, "__dict__", {}) if getattr(obj, "_has_attributes", True) else {}
    slots = {
        name: getattr(obj, name) for cls in type(obj).__mro__ for name in _slots(cls) if hasattr(obj, name)
    }
    return (state, slots) if slots else state


def _slots(cls):
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _set_obj_state(obj, state):
    values, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(values or {}), **(slots or {})}.items():
        setattr(obj, name, value)
    return obj
