"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""

from collections import OrderedDict

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

Tensor = _C.Tensor


class _ParameterMeta(type(Tensor)):
    """Lets ``isinstance(t, Parameter)`` also hold for tensor subclasses marked ``_is_param``."""

    def __instancecheck__(self, instance):
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter: assigned to a module's attribute it is registered there.

    Args:
        data: the tensor whose storage the parameter takes; default an empty one.
        requires_grad: whether gradients are recorded for it, as a rule ``True``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = _C._disabled_torch_function_impl  # operators on parameters give plain tensors

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A subclass of Tensor stays what it is, and is marked as a parameter.
        kept = data.detach().requires_grad_(requires_grad)
        if type(kept) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but it returned {type(kept).__name__}: implement "
                "__torch_function__ so that it does."
            )
        kept._is_param = True
        return kept

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        from .. import _utils

        args = self.data, self.requires_grad, OrderedDict()  # hooks are not saved
        state = _utils._get_obj_state(self)
        return (
            (_utils._rebuild_parameter_with_state, (*args, state))
            if state
            else (_utils._rebuild_parameter, args)
        )


_C.set_parameter_type(Parameter)  # the argument parser then knows its objects at a glance


class _BufferMeta(type(Tensor)):
    """Lets ``isinstance(t, Buffer)`` see the mark: a buffer is otherwise a plain tensor."""

    def __instancecheck__(self, instance):
        if self is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is registered as a buffer when assigned to a module; ``persistent`` ones are saved."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# What may be asked of a tensor whose shape is not known: modules are moved and cast before their first call.
_NEED_NO_VALUES = {"__get__", "__set__", "__hash__", "size", "copy_", "is_complex", "is_floating_point"}
_NEED_NO_VALUES |= {"half", "float", "double", "bfloat16", "char", "short", "int", "long", "type"}
_NEED_NO_VALUES |= {"cuda", "cpu", "to", "get_device", "detach", "requires_grad_"}


class _Uninitialized:
    """What lazy parameters and buffers share: no shape until ``materialize``."""

    def materialize(self, shape, device=None, dtype=None):
        """Give the tensor its shape (and device and dtype), in place; it then is an ordinary one."""
        self.data = torch.empty(
            shape, device=self.data.device if device is None else device, dtype=dtype or self.data.dtype
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Run the module once: its "
            "lazy parameters then take their shapes."
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in _NEED_NO_VALUES:
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"{name}: Attempted to use an uninitialized parameter or buffer. Run the module once: its "
            "lazy parameters then take their shapes."
        )

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), type(self)(self.requires_grad, self.data.device, self.data.dtype))

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Run the module once first."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter without a shape yet: lazy modules materialize it at their first call."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = torch.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer without a shape yet."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param):
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, _Uninitialized)
