"""custom_op: a Python function as an operator with kernels, a gradient, and a shape-only form."""

import functools

import ms_adapter.pytorch as torch

from ..ops import _custom
from ..ops._schemas import parse_schema
from ._define import find, key_of
from ._infer import infer_schema

__all__ = [
    "CustomOpDef",
    "custom_op",
    "get_ctx",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


class CustomOpDef:
    """What :func:`custom_op` makes: call it, or add to it."""

    def __init__(self, overload, init_fn):
        self._opoverload, self._init_fn = overload, init_fn
        self._namespace, self._name = overload.namespace, overload._opname
        self._qualname = f"{self._namespace}::{self._name}"
        functools.update_wrapper(self, init_fn)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """See ``torch.library.register_kernel``."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """See ``torch.library.register_fake``."""
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        """See ``torch.library.register_autograd``."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """See ``torch.library.register_torch_dispatch``."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_vmap(self, func=None):
        """See ``torch.library.register_vmap``."""
        return register_vmap(self, func)

    def register_autocast(self, device_type, cast_inputs):
        """See ``torch.library.register_autocast``."""
        register_autocast(self, device_type, cast_inputs)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes a function the operator ``ns::name``, which modes, transforms and exporters take as one call.

    Args:
        name: "namespace::name".
        fn: the function; without it, this is a decorator. Its annotations give the schema.
        mutates_args: names of the tensors that it writes to (``()`` for none).
        device_types: the devices that ``fn`` is for, as "cpu"; None for all.
        schema: "(Tensor x) -> Tensor" in place of the annotations.

    The function must not return its inputs or views of them.

    >>> import ms_adapter.pytorch as torch
    >>> @torch.library.custom_op("docs::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return x**3
    >>> cube.register_autograd(
    ...     lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> cube(x).backward(); x.grad
    tensor(12.)
    """

    def make(function):
        text = schema or infer_schema(function, mutates_args=mutates_args)
        namespace, separator, bare = name.partition("::")
        if not separator:
            raise ValueError(f"custom_op: the name is written 'namespace::name', got {name!r}.")
        previous = _custom.packets.get((namespace, bare))
        if previous is not None:  # as where a notebook's cell runs again
            for overload in list(previous._overloads.values()):
                _custom.forget(overload)
        overload = _custom.define(parse_schema(f"{name}{text}"))
        overload.tags = list(tags) if isinstance(tags, (tuple, list)) else [tags] if tags else []
        overload.is_function = True
        made = CustomOpDef(overload, function)
        register_kernel(made, device_types, function)
        return made

    return make if fn is None else make(fn)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Gives an operator a function for device types, as "cpu" (None: for all); or a decorator."""
    kinds = (device_types,) if isinstance(device_types, str) or device_types is None else device_types

    def register(function):
        for kind in kinds:
            find(op).kernels[key_of(kind)] = function
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Gives an operator its form on meta tensors: a function that makes outputs of the right shape and dtype.

    An operator named here may be defined later. Without ``func`` a decorator.
    """

    def register(function):
        try:
            find(op).fake = function
        except RuntimeError as err:
            if not isinstance(op, str) or isinstance(err, NotImplementedError):
                raise
            _custom.pending_fakes[op.removesuffix(".default")] = function
        return function

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The older name of :func:`register_fake`."""
    return register_fake(qualname, func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Gives an operator a gradient.

    Args:
        op: the operator, or its name.
        backward: ``backward(ctx, *grads)`` returns a gradient (or None) for each input.
        setup_context: ``setup_context(ctx, inputs, output)`` keeps what backward needs.
    """
    overload = find(op)
    if overload._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload} with schema "
            f"{overload._schema}."
        )
    overload.backward, overload.setup_context = backward, setup_context


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None, allow_override=False):
    """Lets ``func`` run an operator for a class or mode with ``__torch_dispatch__``, instead of that.

    For a class ``func(op, types, args, kwargs)``, for a mode ``func(mode, op, types, args, kwargs)``.
    """

    def register(function):
        rules = find(op).dispatch_rules
        if torch_dispatch_class in rules and not allow_override:
            raise RuntimeError(
                f"{torch_dispatch_class} already has a `__torch_dispatch__` rule registered for {op}"
            )
        rules[torch_dispatch_class] = function
        return function

    return register if func is None else register(func)


def register_vmap(op, func=None, /, *, lib=None):
    """Keeps ``func(info, in_dims, *args)`` as the operator's rule for vmap."""

    def register(function):
        find(op).vmap = function
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Says what dtype floating inputs are cast to under autocast on a device type."""
    if torch.device(device_type).type != "cpu":  # "cuda" means it
        raise ValueError(f"Unknown device type: {device_type}")
    find(op).autocast_dtype = {**(find(op).autocast_dtype or {}), device_type: cast_inputs}


class FakeImplCtx:
    """What a fake may ask for."""

    def new_dynamic_size(self, *, min=0, max=None):
        """Raises: sizes that depend on data are never symbolic here."""
        raise NotImplementedError(
            "new_dynamic_size: sizes that depend on data have no symbol in ms_adapter; run the operator "
            "on cpu tensors."
        )

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx():
    """The FakeImplCtx, to be called in fakes."""
    return FakeImplCtx()
