"""Custom differentiable functions: Function, its context, and what decorates them."""

import functools
import inspect
import warnings

from ms_adapter import _C

from . import _transformed
from .grad_mode import no_grad

_native = _C.autograd
Tensor = _C.Tensor

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: one object for each application of a Function."""

    def save_for_backward(self, *tensors):
        """Keep tensors (or ``None``) for ``backward``, which finds them in ``saved_tensors``; call it
        once.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but got {type(tensor).__name__}: keep other "
                    "values as attributes of ctx."
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Say which inputs ``forward`` changed in place; they must be returned too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether ``backward`` gets zeros (the default) or ``None`` for outputs without a gradient."""
        self.materialize_grads = value

    @property
    def saved_tensors(self):
        """The tensors given to ``save_for_backward``, checked for changes in place since then."""
        if self._saved is None:
            if self._freed:
                raise RuntimeError(
                    "Trying to backward through the graph a second time (or directly access saved tensors "
                    "after they have already been freed). Saved intermediate values of the graph are freed "
                    "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
                    "backward through the graph a second time or if you need to access saved tensors after "
                    "calling backward."
                )
            return self.to_save or ()
        return tuple(None if saved is None else saved.unpack() for saved in self._saved)

    @property
    def saved_variables(self):
        """The older name of ``saved_tensors``."""
        return self.saved_tensors

    def _release(self):
        """The core calls this once backward has run and the graph is not kept."""
        for saved in self._saved or ():
            if saved is not None:
                saved.clear()
        self._saved, self.to_save, self._freed = None, None, True

    def _keep(self, node, outputs):
        """Turn the tensors to save into saved ones, once the node exists."""
        mine = {id(t) for t in outputs if t is not None}
        self._saved = [
            None if t is None else _native.SavedTensor(t, node if id(t) in mine else None)
            for t in self.to_save or ()
        ]
        self.to_save = None

    def name(self):
        """The name of the backward node."""
        return type(self).__name__


def _context_class(function):
    """The class of a Function's contexts: its ``backward`` is the Function's."""
    return type(f"{function.__name__}Backward", (FunctionCtx,), {"_function": function})


class _FunctionMeta(type):
    """Gives each Function the class of its contexts."""

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls._backward_cls = _context_class(cls)


class Function(metaclass=_FunctionMeta):
    """A differentiable function with a ``backward`` of one's own; called through ``apply``.

    Either ``forward(ctx, *args)``, or ``forward(*args)`` together with ``setup_context(ctx, inputs,
    output)``; ``backward(ctx, *grads)`` returns one gradient (or ``None``) for each argument of ``forward``.

    >>> import ms_adapter.pytorch as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated: its methods are static, and apply() is called on the "
            f"class.",
            DeprecationWarning,
            stacklevel=2,
        )

    @staticmethod
    def forward(*args, **kwargs):
        """The computation; every Function defines it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Fill ``ctx`` from the inputs and output, where ``forward`` does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the inputs from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use "
            "it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The forward-mode derivative."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """The batched computation: ``(outputs, out_dims)`` for arguments with these batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run ``forward`` and record a node whose backward is the class's ``backward``."""
        split = cls.setup_context is not Function.setup_context
        if kwargs or split:
            args, kwargs = _bind_defaults(cls.forward, args, kwargs, skip=0 if split else 1)
        ctx = _new_context(cls, args)
        level, tangents = _transformed.tangents_of(args)
        if level is None:
            return _record(cls, ctx, args, cls._run(ctx, split, args, kwargs))
        with _transformed.without_tangents():
            result = _record(cls, ctx, args, cls._run(ctx, split, args, kwargs))
        outputs = result if isinstance(result, tuple) else (result,)
        _transformed.push_forward(cls, ctx, args, tangents, level, outputs)
        return result

    @classmethod
    def _run(cls, ctx, split, args, kwargs):
        """The outputs, nothing recorded, and ``ctx`` filled."""
        batched = _transformed.vmap_level(args)
        if batched and not split:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
                "...), it must override the setup_context staticmethod."
            )
        mapped = (
            _transformed.run_mapped(cls, args, batched, cls.vmap is not Function.vmap) if batched else None
        )
        with no_grad():
            if not split:
                return cls.forward(ctx, *args, **kwargs)
            result = cls.forward(*args, **kwargs) if mapped is None else mapped
            cls.setup_context(ctx, args, result)
        return result


def _bind_defaults(forward, args, kwargs, skip):
    """Positional arguments with the defaults of ``forward`` filled in, as backward counts them."""
    signature = inspect.signature(forward)
    bound = signature.bind(*(None,) * skip, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[skip:], bound.kwargs


def _new_context(cls, args):
    ctx = cls._backward_cls()
    ctx.needs_input_grad = tuple(
        isinstance(arg, Tensor) and arg.requires_grad and _native.is_grad_enabled() for arg in args
    )
    ctx.to_save = ctx._saved = None
    ctx._freed = False
    ctx.dirty_tensors = ctx.non_differentiable = ()
    ctx.materialize_grads = True
    return ctx


def _record(cls, ctx, args, result):
    single = not isinstance(result, tuple)
    outputs = (result,) if single else result
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    inputs = tuple(args[i] for i in places)
    tensors = tuple(out if isinstance(out, Tensor) else None for out in outputs)
    vjp = functools.partial(_run_backward, cls, ctx, len(args), places)
    wired, node = _native.record_function(
        ctx, ctx.name(), inputs, tensors, vjp, tuple(ctx.dirty_tensors), tuple(ctx.non_differentiable)
    )
    if node is not None:
        ctx._output_like = tuple(None if t is None else (t.shape, t.dtype, t.device) for t in wired)
        kept = dict(zip(map(id, tensors), wired, strict=True))
        ctx.to_save = tuple(kept.get(id(t), t) for t in ctx.to_save or ())
        ctx._keep(node, wired)
    final = tuple(raw if wire is None else wire for raw, wire in zip(outputs, wired, strict=True))
    return final[0] if single else final


def _run_backward(cls, ctx, n_args, places, *grads):
    """Gradients of the tensor inputs, from the user's backward."""
    import ms_adapter.pytorch as torch

    if ctx.materialize_grads:
        grads = tuple(
            torch.zeros(like[0], dtype=like[1], device=like[2]) if grad is None and like is not None else grad
            for grad, like in zip(grads, ctx._output_like, strict=True)
        )
    backward = cls.backward if cls.backward is not Function.backward else cls.vjp
    answer = backward(ctx, *grads)
    answer = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
    if len(answer) > n_args and all(extra is None for extra in answer[n_args:]):
        answer = answer[:n_args]
    if len(answer) != n_args:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {n_args}, got "
            f"{len(answer)})"
        )
    for place, (grad, needed) in enumerate(zip(answer, ctx.needs_input_grad, strict=True)):
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(
                f"function {ctx.name()} returned a {type(grad).__name__} for argument {place}; backward "
                "returns tensors or None."
            )
        if grad is not None and place not in places and not needed:
            raise RuntimeError(
                f"function {ctx.name()} returned a gradient different than None at position {place + 1}, but "
                "the corresponding forward input was not a Variable"
            )
    return tuple(answer[place] for place in places)


def once_differentiable(fn):
    """Decorates a ``backward`` that cannot itself be differentiated: doing so raises."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        if not _native.is_grad_enabled():
            return outputs
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            return outputs
        return not_twice(outputs) if isinstance(outputs, tuple) else not_twice((outputs,))[0]

    return wrapper


def not_twice(gradients):
    """The gradients again, whose own differentiation raises."""
    return tuple(g if g is None else _NotTwice.apply(g.detach().requires_grad_()) for g in gradients)


class _NotTwice(Function):
    """Identity whose backward is the complaint of once_differentiable."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable or is "
            "compiled; leave it uncompiled where its gradients are differentiated."
        )
