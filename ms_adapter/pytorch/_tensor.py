"""Methods of Tensor that are Python: what is neither an operator nor hot."""

import copy
import copyreg
from collections import OrderedDict

import ms_adapter.pytorch as torch
from ms_adapter import _C

from . import _standin, _utils
from ._tensor_str import _str
from .autograd.graph import NodeHandle

Tensor = _C.Tensor
_native = _C.autograd


def _hook_handle(tensor, number):
    return NodeHandle(lambda: _native.remove_tensor_hook(tensor, number))


def _copy_with_storage(tensor, memo):
    """A copy over a copied storage; tensors that shared one share its copy."""
    if tensor.is_meta or tensor.layout != torch.strided:
        return tensor.detach().clone()
    storage = tensor.untyped_storage()
    key = ("storage", storage._cdata)
    if key not in memo:
        memo[key] = _copy_storage(storage)
    plain = torch.empty((0,), dtype=tensor.dtype, device=tensor.device)
    return plain.set_(memo[key], tensor.storage_offset(), tensor.size(), tensor.stride())


def _copy_storage(storage):
    copied = _C.UntypedStorage(storage.nbytes(), device=storage.device)
    whole = [torch.empty((0,), dtype=torch.uint8, device=storage.device) for _ in range(2)]
    for tensor, source in zip(whole, (copied, storage), strict=True):
        tensor.set_(source, 0, (storage.nbytes(),), (1,))
    whole[0].copy_(whole[1])
    return copied


def _copy_attributes(source, target, memo):
    for name in copyreg._slotnames(type(source)):
        if hasattr(source, name):
            setattr(target, name, copy.deepcopy(getattr(source, name), memo))
    attributes = getattr(source, "__dict__", None)
    if attributes:
        target.__dict__.update(copy.deepcopy(attributes, memo))


def _reduce_plain(tensor):
    """How to build the tensor again, its class and attributes aside."""
    if tensor.is_meta:
        args = (tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.requires_grad)
        return _utils._rebuild_meta_tensor_no_storage, args
    if tensor.layout != torch.strided:
        return _utils._rebuild_sparse_tensor, (tensor.layout, _utils._sparse_parts(tensor))
    args = (
        torch.storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True),
        tensor.storage_offset(),
        tuple(tensor.size()),
        tensor.stride(),
        tensor.requires_grad,
        OrderedDict(),
    )
    if torch.storage.has_typed_class(tensor.dtype):
        return _utils._rebuild_tensor_v2, args
    return _utils._rebuild_tensor_v3, (tensor.untyped_storage(), *args[1:], tensor.dtype)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass, or with attributes of its own."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    restore = getattr(type(made), "__setstate__", None)
    if restore is not None and restore is not TensorMethods.__setstate__:
        made.__setstate__(state)
        return made
    return _utils._set_obj_state(made, state)


class TensorMethods:
    """What is attached to the type Tensor, under these names."""

    __array_priority__ = 1000  # NumPy's operators then leave the work to ours

    def nonzero(self, *, as_tuple=False):
        """The places of the nonzero elements, see ``torch.nonzero``."""
        return torch.nonzero(self, as_tuple=as_tuple)

    def __repr__(self, *, tensor_contents=None):
        return _str(self, tensor_contents=tensor_contents)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add this tensor's gradients to the ``grad`` of the graph's leaves; see
        :func:`torch.autograd.backward`.
        """
        torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Call ``hook(grad)`` whenever the gradient of this tensor is computed; what it returns replaces the
        gradient.

        Returns a handle whose ``remove()`` takes the hook away.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return _hook_handle(self, _native.add_tensor_hook(self, hook))

    def register_post_accumulate_grad_hook(self, hook):
        """Call ``hook(tensor)`` after this leaf's ``grad`` was added to."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return _hook_handle(self, _native.add_post_accumulate_hook(self, hook))

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                "at the moment. If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage."
            )
        if id(self) in memo:
            return memo[id(self)]
        with torch.no_grad():
            if type(self).__torch_dispatch__ is Tensor.__torch_dispatch__:
                copied = self._make_subclass(type(self), _copy_with_storage(self, memo), self.requires_grad)
            else:  # its class makes the copy
                copied = self.clone().requires_grad_(self.requires_grad)
            memo[id(self)] = copied
            if self.grad is not None:
                copied.grad = self.grad.__deepcopy__(memo)
            _copy_attributes(self, copied, memo)
        return copied

    def __reduce_ex__(self, protocol):
        torch.utils.hooks.warn_if_has_hooks(self)
        function, args = _reduce_plain(self)
        state = _utils._get_obj_state(self)
        if type(self) is Tensor and not state:
            return function, args
        return _rebuild_from_type_v2, (function, type(self), args, state)

    def __setstate__(self, state):
        _utils._set_obj_state(self, state)

    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        if self.layout != torch.strided:
            return (self[i] for i in range(self.size(0)))
        return iter(self.unbind(0))

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    def __contains__(self, element, /):
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((element == self).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    def __dir__(self):
        names = {*dir(type(self)), *getattr(self, "__dict__", {})}
        return sorted(name for name in names if not name.startswith("_cuda"))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None:
            array = array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def asnumpy(self):
        """The values as a NumPy array, from whatever device and history: MindSpore's name for it.

        >>> import ms_adapter.pytorch as torch
        >>> torch.ones(2, requires_grad=True).asnumpy()
        array([1., 1.], dtype=float32)
        """
        return self.detach().cpu().numpy()

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if array.dtype == bool:  # NumPy's comparisons
            array = array.astype("uint8")
        return torch.from_numpy(array)

    def storage(self):
        """The typed storage; new code uses ``untyped_storage``."""
        return torch.storage.TypedStorage(
            wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True
        )

    _typed_storage = storage

    def share_memory_(self):
        """Move the storage to memory that other processes can share; all views of it follow.

        >>> import ms_adapter.pytorch as torch
        >>> torch.ones(2).share_memory_().is_shared()
        True
        """
        self.untyped_storage().share_memory_()
        return self

    def is_shared(self):
        """Whether other processes can share the storage."""
        return self.untyped_storage().is_shared()

    def type(self, dtype=None, non_blocking=False, **kwargs):
        """Without arguments the old name of the tensor's type, as "torch.FloatTensor"; else a cast to that
        type.
        """
        if dtype is None:
            return torch.storage.tensor_type_name(self)
        if isinstance(dtype, str):
            dtype = torch.storage.dtype_of_type_name(dtype)
        return self.to(dtype=getattr(dtype, "dtype", dtype), non_blocking=non_blocking)

    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        """See :func:`torch.norm`."""
        return torch.norm(self, p, dim, keepdim, dtype=dtype)

    def lu(self, pivot=True, get_infos=False):
        """See :func:`torch.lu`."""
        return torch.lu(self, pivot, get_infos)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """See :func:`torch.unique`."""
        return torch.unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """See :func:`torch.unique_consecutive`."""
        return torch.unique_consecutive(self, return_inverse, return_counts, dim)

    def resize_as_(self, the_template, *, memory_format=None):
        """Resized in place to the size of ``the_template``."""
        keywords = {} if memory_format is None else {"memory_format": memory_format}
        return self.resize_(the_template.shape, **keywords)

    def __rdiv__(self, other):
        return self.reciprocal() * other

    def polygamma(self, n):
        """See :func:`torch.polygamma`, which takes the order first."""
        return torch.polygamma(n, self)

    def polygamma_(self, n):
        """:meth:`polygamma` in place."""
        return self.copy_(torch.polygamma(n, self))

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """The tensor on the accelerator, or on ``cpu`` where there is none, which is said once."""
        return self.to(_standin.meant(device), non_blocking=non_blocking)

    def npu(self, device=None, non_blocking=False, memory_format=None):
        """The tensor on ``npu``; RuntimeError where there is no such device."""
        return self.to(_standin.meant_npu(device), non_blocking=non_blocking)

    def cpu(self, memory_format=None):
        """The tensor in the CPU's memory."""
        return self.to("cpu")

    def module_load(self, other, assign=False):
        """What ``load_state_dict`` puts in this tensor's place when it swaps tensors."""
        return other.detach() if assign else self.copy_(other).detach()


class NodeMethods:
    """What is attached to the type of backward nodes."""

    def register_hook(self, fn):
        """Call ``fn(grad_inputs, grad_outputs)`` after the node ran; it may return new ``grad_inputs``."""
        number = self.add_hook(fn)
        return NodeHandle(lambda: self.remove_hook(number))

    def __getattr__(self, name):
        """What a Function's forward left on its ``ctx`` is found on the node, too."""
        if name == "ctx" or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            return getattr(self.ctx, name)
        except AttributeError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def register_prehook(self, fn):
        """Call ``fn(grad_outputs)`` before the node runs; it may return new ``grad_outputs``."""
        number = self.add_prehook(fn)
        return NodeHandle(lambda: self.remove_hook(number))


def _own(cls):
    """What a class body defined."""
    return {name: value for name, value in vars(cls).items() if name not in _CLASS_ATTRIBUTES}


_CLASS_ATTRIBUTES = {"__module__", "__doc__", "__dict__", "__weakref__", "__qualname__"}
NODE_METHODS = _own(NodeMethods)
