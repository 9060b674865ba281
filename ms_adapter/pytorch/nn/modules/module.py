"""Module, the base class of everything with parameters: registration, attributes, the call."""

import inspect
import warnings
from collections import OrderedDict

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ...utils.hooks import BackwardHook, RemovableHandle  # noqa: F401 - imported from here by libraries
from ..parameter import Buffer, Parameter
from . import _hooks
from ._convert import Convert
from ._hooks import (
    Hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    _WrappedHook,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state import _EXTRA_STATE_KEY_SUFFIX, State, _IncompatibleKeys  # noqa: F401 - as above
from ._walk import Walk

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_WrappedHook.__module__ = __name__  # where pickles look for it

# The hook dictionaries every module carries; their names travel in pickles.
_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _forward_unimplemented(self, *input):
    """Define the computation performed at every call; every subclass overrides it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _run_registration_hooks(hooks, module, name, value):
    for hook in hooks.values():
        answer = hook(module, name, value)
        value = value if answer is None else answer
    return value


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")


class Module(Walk, State, Hooks, Convert, _C.ModuleBase):
    """Base class of all neural network modules.

    Parameters, buffers and modules assigned as attributes are registered, in order: ``parameters()``,
    ``state_dict()``, ``to()`` and the like then find them. Subclasses call ``super().__init__()`` first and
    define ``forward``.

    >>> import ms_adapter.pytorch as torch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = torch.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.fc(x)
    >>> Net()
    Net(
      (fc): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    dump_patches = False
    _version = 1
    call_super_init = False
    _compiled_call_impl = None
    forward = _forward_unimplemented

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "bprop" in vars(cls):
            from ._bprop import with_bprop

            cls.forward = with_bprop(cls.forward)

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were "
                    f"given"
                )
        store = self.__dict__  # straight into the dictionary: __setattr__ looks into what is made here
        store["training"] = True
        store["_parameters"] = {}
        store["_buffers"] = {}
        store["_non_persistent_buffers_set"] = set()
        store["_is_full_backward_hook"] = None
        for name in _HOOK_DICTS:
            store[name] = OrderedDict()
        store["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- registration ---------------------------------------------------------------------------
    def _check_new_name(self, kind, name, registered):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in registered:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not a parameter; ``persistent=False`` keeps it out of
        ``state_dict``.

        >>> import ms_adapter.pytorch as torch
        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_new_name("buffer", name, self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                f"required)"
            )
        self._buffers[name] = _run_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Add a parameter, or ``None`` to keep its name free of anything else."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_new_name("parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = _run_registration_hooks(
            _global_parameter_registration_hooks, self, name, param
        )

    def add_module(self, name, module):
        """Add a submodule under ``name``."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_new_name("module", name, self._modules)
        self._modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name, module):
        """The same as :meth:`add_module`."""
        self.add_module(name, module)

    # ---- attributes -----------------------------------------------------------------------------
    def __setattr__(self, name, value):
        store = self.__dict__
        params, modules, buffers = store.get("_parameters"), store.get("_modules"), store.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, store, buffers, modules)
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, store, params, buffers)
            modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._assign_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name, *places):
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name, value):
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        overridden = getattr(self.register_buffer, "__func__", None) is not Module.register_buffer
        if overridden and "persistent" not in inspect.signature(self.register_buffer).parameters:
            if not persistent:
                raise RuntimeError(
                    "Registering a non-persistent buffer on a Module subclass that implements "
                    "register_buffer() without the persistent argument is not allowed."
                )
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, persistent)

    def __delattr__(self, name):
        for held in (self._parameters, self._buffers, self._modules):
            if name in held:
                del held[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        held = [*self._parameters, *self._modules, *self._buffers]
        keys = {*dir(type(self)), *self.__dict__, *held}
        return sorted(key for key in keys if not key[0].isdigit())

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOK_DICTS:  # files older than some of the hooks
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- the call -------------------------------------------------------------------------------
    def _call_impl(self, *args, **kwargs):
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _has_any_global_hook()
        ):
            return self.forward(*args, **kwargs)
        call = _HookedCall(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_always_called_hooks()
            raise

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def compile(self, *args, **kwargs):
        """Compile this module's call through ``torch.compile``, whose arguments it takes."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # ---- representation -------------------------------------------------------------------------
    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What ``repr`` shows between the parentheses; override it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return "\n  ".join([f"{self._get_name()}(", *lines, *children]) + "\n)"


class _HookedCall:
    """One call of a module that has hooks, its own or global."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result, self.called = None, set()

    def run(self):
        module = self.module
        backward_pre = module._get_backward_pre_hooks()
        full, partial = module._get_backward_hooks()
        self._run_pre_hooks()
        backward = BackwardHook(module, full, backward_pre) if full or backward_pre else None
        if backward:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._run_forward_hooks()
        if backward:
            if not isinstance(self.result, (torch.Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of "
                    f"Tensors but received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = backward.setup_output_hook(self.result)
        if partial:
            self._attach_partial(partial)
        return self.result

    def _run_pre_hooks(self):
        module = self.module
        for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if key in module._forward_pre_hooks_with_kwargs:
                answer = hook(module, self.args, self.kwargs)
                if answer is None:
                    continue
                if not (isinstance(answer, tuple) and len(answer) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{answer}."
                    )
                self.args, self.kwargs = answer
            else:
                answer = hook(module, self.args)
                if answer is not None:
                    self.args = answer if isinstance(answer, tuple) else (answer,)

    def _run_forward_hook(self, key, hook):
        module = self.module
        if key in module._forward_hooks_with_kwargs or key in _global_forward_hooks_with_kwargs:
            answer = hook(module, self.args, self.kwargs, self.result)
        else:
            answer = hook(module, self.args, self.result)
        if answer is not None:
            self.result = answer

    def _forward_hooks(self):
        return (*_global_forward_hooks.items(), *self.module._forward_hooks.items())

    def _run_forward_hooks(self):
        for key, hook in self._forward_hooks():
            self.called.add(key)
            self._run_forward_hook(key, hook)

    def run_always_called_hooks(self):
        """After a failure: the hooks that asked for it, those that did not run yet."""
        always = {**_global_forward_hooks_always_called, **self.module._forward_hooks_always_called}
        for key, hook in self._forward_hooks():
            if key not in always or key in self.called:
                continue
            try:
                self._run_forward_hook(key, hook)
            except Exception as err:
                kind = "global module" if key in _global_forward_hooks else "module"
                warnings.warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                    f"another error was raised in forward: {err}",
                    stacklevel=3,
                )

    def _attach_partial(self, hooks):
        """Old-style backward hooks sit on the node of the first tensor in the result."""
        var = self.result
        while not isinstance(var, torch.Tensor):
            if isinstance(var, dict):
                var = next(v for v in var.values() if isinstance(v, torch.Tensor))
            else:
                var = var[0]
        if var.grad_fn is not None:
            for hook in hooks:
                var.grad_fn.register_hook(_WrappedHook(hook, self.module))
            _hooks.warn_of_partial_hook(
                lambda t: isinstance(t, torch.Tensor), self.args, self.result, var.grad_fn
            )


def _indent(text):
    """``text`` with its lines after the first moved in by two; blank ones stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])
