"""Parametrizations: a module's parameter computed from other tensors at each use."""

import copy
from contextlib import contextmanager

import ms_adapter.pytorch as torch

from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_depth = 0
_cache = {}


@contextmanager
def cached():
    """Inside, each parametrized tensor is computed once and kept.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(original, value):
    """Give ``original`` the values of ``value``, whatever its shape."""
    if value.dtype != original.dtype:
        raise ValueError(f"right_inverse gave {value.dtype} for a parameter of dtype {original.dtype}.")
    original.set_(value)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the tensors they start from.

    Those are ``original``, or ``original0``, ``original1``, ... where the first one takes several.
    """

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            start = self._invert(original, required=False)
        if not isinstance(start, (torch.Tensor, list, tuple)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        self.is_tensor = isinstance(start, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if dtype != start.dtype:
                raise ValueError(
                    f"right_inverse must keep the dtype: it gave {start.dtype} for {dtype}. Register it with "
                    "unsafe=True only if forward restores it."
                )
            with torch.no_grad():
                original.set_(start)
            _register(self, "original", original)
        else:
            for i, part in enumerate(start):
                self._register_part(i, part, original)
        if not unsafe:
            self._check_forward(shape, dtype)

    def _register_part(self, i, part, original):
        if not isinstance(part, torch.Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {i} of the sequence with type {type(part).__name__}."
            )
        if isinstance(original, Parameter):
            part = Parameter(part, original.requires_grad)
        part.requires_grad_(original.requires_grad)
        _register(self, f"original{i}", part)

    def _check_forward(self, shape, dtype):
        result = self()
        if not isinstance(result, torch.Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        if result.dtype != dtype:
            raise ValueError(
                f"Registering a parametrization may not change the dtype from {dtype} to {result.dtype} "
                "unless unsafe=True."
            )
        if result.shape != shape:
            raise ValueError(
                f"Registering a parametrization may not change the shape from {tuple(shape)} to "
                f"{tuple(result.shape)} unless unsafe=True."
            )

    def _invert(self, value, required):
        """``value`` through all right inverses, last first; a missing one is skipped unless ``required``."""
        for module in reversed(self):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if required:
                        raise
            elif required:
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
        return value

    def _originals(self):
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with torch.no_grad():
            value = self._invert(value, required=True)
            if self.is_tensor:
                if not isinstance(value, torch.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                value = [value]
            elif not isinstance(value, (list, tuple)) or len(value) != self.ntensors:
                raise ValueError(f"`right_inverse` must return a sequence of {self.ntensors} tensors.")
            for original, part in zip(self._originals(), value, strict=True):
                _set(original, part)

    def forward(self):
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _deepcopy(self, memo):
    replica = self.__new__(type(self))
    memo[id(self)] = replica
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return replica


def _refuse_pickling(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). "
        "Save that, or remove the parametrizations first."
    )


def _inject_new_class(module):
    """Give the module a class of its own, on which properties can stand for parametrized tensors."""
    cls = type(module)
    inside = {"__getstate__": _refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        inside["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), inside)


def _inject_property(module, name):
    def get(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let the module ``parametrization`` compute the parameter or buffer ``tensor_name`` of ``module``.

    Args:
        parametrization: takes the original and gives the value. With ``right_inverse`` the tensor can be
            assigned to, and starts from the value it has; that method may give several tensors.
        unsafe: allow a change of shape or dtype.

    >>> import ms_adapter.pytorch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrizations = module.parametrizations[tensor_name]
        if not unsafe:
            _check_further(getattr(module, tensor_name), parametrization)
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_further(value, parametrization):
    """Check a parametrization that is to follow others: neither way may it change shape or dtype."""
    steps = [("", parametrization)]
    if hasattr(parametrization, "right_inverse"):
        steps.append((".right_inverse", parametrization.right_inverse))
    for name, step in steps:
        result = step(value)
        if not isinstance(result, torch.Tensor):
            raise ValueError(f"parametrization{name} must return a tensor. Got {type(result).__name__}.")
        if (result.dtype, result.shape) != (value.dtype, value.shape):
            raise ValueError(
                f"parametrization{name} may not change shape or dtype unless unsafe=True: from "
                f"{tuple(value.shape)} {value.dtype} it gave {tuple(result.shape)} {result.dtype}."
            )


def is_parametrized(module, tensor_name=None):
    """Whether a tensor of the module is parametrized, or with no name whether any is."""
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make ``tensor_name`` an ordinary tensor again: with its present value, or the original's."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
            "of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class without what parametrizing made of it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Move copies of the parametrizations, and the parameters they start from, to another module."""
    if not is_parametrized(from_module):
        return to_module
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization))
        target = to_module.parametrizations[name]
        if target.is_tensor:
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
