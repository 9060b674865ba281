"""Hooks of modules: those of one module, and those common to all modules."""

import functools
import warnings
import weakref
from collections import OrderedDict

from ms_adapter import _C

from ...utils.hooks import RemovableHandle

_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_is_full_backward_hook = None  # which of the two kinds of backward hook the global ones are

_MIXED_KINDS = (
    "Cannot use both regular backward hooks and full backward hooks as {where}. Please use only one of them."
)


_CALL_HOOKS = (
    _global_backward_pre_hooks,
    _global_backward_hooks,
    _global_forward_pre_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
)
_C.set_global_module_hooks(_CALL_HOOKS)  # while they are empty a call goes straight to forward


def _has_any_global_hook():
    return any(_CALL_HOOKS)


def _add(hooks, hook, extra=(), prepend=False):
    """Store a hook; ``extra`` holds the dictionaries that mark it (with kwargs, always called)."""
    handle = RemovableHandle(hooks, extra_dict=list(extra))
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Call ``hook(module, name, buffer)`` at every buffer registration; what it returns replaces the
    buffer.
    """
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Call ``hook(module, name, submodule)`` at every submodule registration; what it returns replaces it."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call ``hook(module, name, param)`` at every parameter registration; what it returns replaces it."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before the forward of every module; it may return new arguments."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call ``hook(module, args, output)`` after the forward of every module; it may return a new output."""
    extra = [_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called]
    handle = _add(_global_forward_hooks, hook, extra)
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return _add(_global_backward_pre_hooks, hook)


def _register_global_backward(hook, full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED_KINDS.format(where="a global Module hook"))
    _global_is_full_backward_hook = full
    return _add(_global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """The older kind of backward hook, for every module; use ``register_module_full_backward_hook``."""
    return _register_global_backward(hook, full=False)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    return _register_global_backward(hook, full=True)


class _WrappedHook:
    """A hook that may take its module first, held weakly so that hooks do not keep modules alive."""

    def __init__(self, hook, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class Hooks:
    """The hook-registering half of :class:`Module`."""

    __slots__ = ()

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(module, args)`` (or ``hook(module, args, kwargs)``) before each forward.

        The hook may return new arguments (with kwargs: a pair of new args and new kwargs). Returns a handle
        whose ``remove()`` takes the hook away.
        """
        handle = _add(self._forward_pre_hooks, hook, [self._forward_pre_hooks_with_kwargs], prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call ``hook(module, args, output)`` (or ``(module, args, kwargs, output)``) after each forward.

        What the hook returns, unless ``None``, replaces the output. ``always_call`` runs it even when
        forward raised.

        >>> import ms_adapter.pytorch as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(torch.tensor(1))
        tensor(2)
        """
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _add(self._forward_hooks, hook, extra, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_output)`` before the module's backward; it may return a new
        ``grad_output``.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_input, grad_output)`` in the module's backward; it may return a new
        ``grad_input``.
        """
        return self._register_backward(hook, True, prepend)

    def register_backward_hook(self, hook):
        """The older kind of backward hook; use :meth:`register_full_backward_hook`."""
        return self._register_backward(hook, False, False)

    def _register_backward(self, hook, full, prepend):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED_KINDS.format(where="a single Module"))
        self._is_full_backward_hook = full
        return _add(self._backward_hooks, hook, prepend=prepend)

    def _get_backward_hooks(self):
        """The full backward hooks that apply to this module, and the older ones."""
        found = {True: [], False: []}
        if _global_is_full_backward_hook is not None:
            found[_global_is_full_backward_hook] += _global_backward_hooks.values()
        if self._is_full_backward_hook is not None:
            found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``; it may change it in
        place.
        """
        hook._from_public_api = True
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` collects."""
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _add(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)``
        before loading.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the keys' lists in place."""
        return _add(self._load_state_dict_post_hooks, hook)


def warn_of_partial_hook(is_tensor, inputs, result, node):
    """Warn where an old-style backward hook sees only part of the gradients of its module."""
    fault = _partial_hook_fault(is_tensor, inputs, result, node)
    if fault:
        warnings.warn(
            f"Using {fault}. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )


def _partial_hook_fault(is_tensor, inputs, result, node):
    results = result if isinstance(result, tuple) else (result,)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if not all(map(is_tensor, results)):
        return (
            "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            "is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_output"
        )
    if not all(map(is_tensor, inputs)):
        return (
            "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is deprecated and will be removed in future versions. This hook will be missing some "
            "of the grad_input"
        )
    if len({r.grad_fn for r in results if r.grad_fn is not None}) > 1:
        return (
            "a non-full backward hook when outputs are generated by different autograd Nodes is deprecated "
            "and will be removed in future versions. This hook will be missing some grad_output"
        )
    if {i.grad_fn for i in inputs if i.grad_fn is not None} != {n for n, _ in node.next_functions}:
        return (
            "a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and "
            "will be removed in future versions. This hook will be missing some grad_input"
        )
    return None
