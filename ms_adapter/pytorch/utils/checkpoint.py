"""torch.utils.checkpoint: memory for time: what a function saved for backward is computed again."""

import contextlib
import warnings

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ._recompute import (
    CheckpointError,
    Recompute,
    check_determinism,
    debug_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from ._selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ._surroundings import DefaultDeviceType, Surroundings, get_device_states, set_device_states

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


def noop_context_fn():
    """Two contexts that do nothing: for the first run and for the repeated one."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs):
    """The tensors of a tuple as leaves of their own, which require gradients as before; the rest as it is."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: expected a tuple of tensors, got {type(inputs).__name__}.")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
        for value in inputs
    )


def check_backward_validity(inputs):
    """Warn when no input requires a gradient: then none flows through a reentrant checkpoint."""
    if not any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs):
        warnings.warn(
            "checkpoint: none of the inputs requires a gradient, so there will be none.", stacklevel=3
        )


class CheckpointFunction(torch.autograd.Function):
    """The reentrant kind: forward runs without a graph, backward runs it again with one."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """``run_function(*args)`` without a graph."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(preserve_rng_state, *args)
        places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.tensor_places = places
        ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*(args[i] for i in places))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of the inputs, from a second run."""
        if not _C.autograd.current_pass()[1]:
            raise RuntimeError(
                "checkpoint: with use_reentrant=True only backward() without inputs= gives gradients, not "
                "autograd.grad or backward(inputs=...); pass use_reentrant=False."
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.tensor_places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        inputs = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), torch.enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("checkpoint: no output of the function requires a gradient.")
        torch.autograd.backward(*map(list, zip(*pairs, strict=True)))
        return (None, None, *(value.grad if isinstance(value, torch.Tensor) else None for value in inputs))


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """``function(*args, **kwargs)``, whose intermediate tensors are not kept but computed again in backward.

    Args:
        function: what to run; it must do the same when it runs again.
        use_reentrant: False keeps to the graph and may be used everywhere, True is the older kind, which
            needs an input that requires a gradient. At first True, with a warning.
        preserve_rng_state: whether the second run draws the same random numbers (True).
        context_fn: gives two contexts, for the first and the second run.
        determinism_check: "default" compares shapes and dtypes of both runs, "none" does not.
        debug: whether the error of a mismatch lists the operators of both runs.
        early_stop: whether the second run ends once all that was saved is there again.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = checkpoint(lambda t: (t * t * t).sum(), x, use_reentrant=False)
    >>> y.backward(); x.grad
    tensor([ 3., 12.])
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("checkpoint")
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        check_determinism(determinism_check)
        if not torch.is_grad_enabled():
            return function(*args, **kwargs)
        contexts = debug_contexts(context_fn, debug)
        return Recompute(
            function, preserve, contexts, determinism_check, early_stop, args, kwargs
        ).first_run()
    if kwargs:
        raise ValueError(f"checkpoint: unexpected keyword arguments {', '.join(kwargs)}.")
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("checkpoint: context_fn= and debug= need use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _reentrant_by_default(who):
    warnings.warn(
        f"{who}: pass use_reentrant=False, or True for the older kind, which is meant when nothing is said.",
        stacklevel=3,
    )
    return True


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """The functions (or the modules of a Sequential) one after another, checkpointed in ``segments`` pieces.

    The last piece runs as it is: its tensors are needed at once.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.utils.checkpoint import checkpoint_sequential
    >>> model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(4)))
    >>> x = torch.ones(1, 2, requires_grad=True)
    >>> y = checkpoint_sequential(model, 2, x, use_reentrant=False)
    >>> torch.equal(y, model(x))
    True
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keyword arguments {', '.join(kwargs)}.")
    functions = list(functions.children() if isinstance(functions, torch.nn.Sequential) else functions)
    size = len(functions) // segments

    def piece(begin, end):
        def run(value):
            for function in functions[begin:end]:
                value = function(value)
            return value

        return run

    begin = 0
    for _ in range(segments - 1):
        run = piece(begin, begin + size)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        begin += size
    return piece(begin, len(functions))(input)
