"""How tensors and storages travel between processes: as descriptors of shared memory, without a copy."""

import os
from multiprocessing import context, parent_process, reduction

import ms_adapter.pytorch as torch
from ms_adapter import _C

from . import keeper

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor", "reduce_typed_storage"]

_SENDER_GONE = (
    "a tensor arrived whose sender has ended: its memory lived in that process. Keep the sender alive until "
    "all that it sent is received, for example with an Event, or let it call "
    "torch.multiprocessing.set_sharing_strategy('file_system') first."
)


def _check_sendable(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "A tensor that is the result of recorded operations cannot go to another process, since autograd "
            "does not cross processes. Send tensor.detach(), or a leaf."
        )
    torch.utils.hooks.warn_if_has_hooks(tensor)


def reduce_tensor(tensor):
    """How to build a tensor again over the same memory: a function and its arguments.

    Raises RuntimeError for a tensor with a history of autograd, and for one whose device has no shared
    memory.
    """
    _check_sendable(tensor)
    if tensor.layout != torch.strided:
        return torch._utils._rebuild_sparse_tensor, (tensor.layout, torch._utils._sparse_parts(tensor))
    if tensor.is_meta:
        layout = (tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.requires_grad)
        return _rebuild_meta_tensor, (_is_parameter(tensor), layout)
    return rebuild_tensor, (_is_parameter(tensor), tensor.untyped_storage(), describe(tensor))


def _is_parameter(tensor):
    return type(tensor) is torch.nn.Parameter


def describe(tensor):
    """Everything about a strided tensor but its class and its bytes."""
    size, stride = tuple(tensor.size()), tensor.stride()
    return tensor.dtype, tensor.storage_offset(), size, stride, tensor.requires_grad, tensor.is_conj()


def rebuild_tensor(is_parameter, storage, description):
    """The tensor that :func:`describe` described."""
    dtype, offset, size, stride, requires_grad, is_conj = description
    tensor = torch.empty((0,), dtype=dtype, device="cpu").set_(storage, offset, size, stride)
    return _finished(is_parameter, tensor.conj() if is_conj else tensor, requires_grad)


def _finished(is_parameter, tensor, requires_grad):
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor(is_parameter, layout):
    tensor = torch._utils._rebuild_meta_tensor_no_storage(*layout)
    return _finished(is_parameter, tensor.detach(), tensor.requires_grad)


def reduce_storage(storage):
    """How to map a storage in another process; moves it to shared memory if it is not there yet."""
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"A storage on {storage.device} cannot go to another process: send the tensor's .cpu(), or for a "
            "tensor on meta the tensor itself."
        )
    if storage.nbytes() == 0:
        return rebuild_storage_empty, ()
    memory = _C.SharedMemory.of(storage.share_memory_())
    return rebuild_storage_fd, (_sendable(memory.fd), storage.nbytes())


def _sendable(descriptor):
    """What stands for a descriptor in a message. A process starts its children and outlives them: only what
    these send back can be received after their end.
    """
    outlives = torch.multiprocessing.get_sharing_strategy() == "file_system" and parent_process() is not None
    if outlives and context.get_spawning_popen() is None:
        return keeper.keep(descriptor)
    return reduction.DupFd(descriptor)


def rebuild_storage_empty():
    """A storage of no bytes."""
    return torch.UntypedStorage()


def rebuild_storage_fd(duplicate, nbytes):
    """The storage over a descriptor: the one that this process has already, if it does."""
    try:
        descriptor = duplicate.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        raise type(error)(f"{_SENDER_GONE} ({error})") from error
    memory = _C.SharedMemory.attach(descriptor)
    if memory.nbytes != nbytes:
        raise RuntimeError(f"a shared storage has {memory.nbytes} bytes where its sender says {nbytes}")
    return memory.whole()


def reduce_typed_storage(storage):
    """How to build a typed storage again."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def rebuild_typed_storage(storage, dtype):
    """A typed storage over an untyped one."""
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype)


def fd_id(fd):
    """What names the memory behind a descriptor in all processes."""
    status = os.fstat(fd)
    return status.st_ino, status.st_dev


def init_reductions():
    """Teach multiprocessing's pickler tensors and storages; importing torch does it."""
    for cls in (torch.Tensor, torch.nn.Parameter):
        reduction.register(cls, reduce_tensor)
    reduction.register(torch.UntypedStorage, reduce_storage)
    reduction.register(torch.TypedStorage, reduce_typed_storage)
