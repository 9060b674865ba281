"""torch.autograd: running a graph backwards, and everything around it."""

from ms_adapter import _C

from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .gradcheck import gradcheck, gradgradcheck
from .profiler import _disable_profiler, _profiler_enabled
from .variable import Variable

_native = _C.autograd
Tensor = _C.Tensor


def _as_tuple(value):
    if value is None:
        return ()
    if isinstance(value, (Tensor, graph.GradientEdge)):
        return (value,)
    return tuple(value)


def _match_grads(outputs, grads, is_grads_batched=False):
    """One gradient for each output: ``None`` stands for ones and is allowed for single elements only."""
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    for out, grad in zip(outputs, grads, strict=True):
        if isinstance(out, graph.GradientEdge):
            continue
        if grad is None:
            if out.requires_grad and out.numel() != 1:
                raise RuntimeError(
                    "grad can be implicitly created only for scalar outputs; this one has shape "
                    f"{tuple(out.shape)}: pass its gradient, or reduce it first (out.sum())."
                )
            if out.requires_grad and not (out.is_floating_point() or out.is_complex()):
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
                )
        elif not isinstance(grad, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        elif (grad.shape[1:] if is_grads_batched else grad.shape) != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output has a shape of {grad.shape} and output has a shape of "
                f"{out.shape}."
            )
        elif out.is_complex() != grad.is_complex():
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output has a dtype of {grad.dtype} and output has a dtype of "
                f"{out.dtype}."
            )
    return tuple(grads)


def backward(
    tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None
):
    """Add the gradients of ``tensors`` to the ``grad`` of the graph's leaves (or of ``inputs`` only).

    Args:
        tensors: a tensor or several.
        grad_tensors: the gradients to start from; needed for tensors of more than one element.
        retain_graph: keep the graph for another backward; default: the value of ``create_graph``.
        create_graph: record the backward itself, for higher derivatives.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    if inputs is not None and not isinstance(inputs, (Tensor, graph.GradientEdge)) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors, inputs = _as_tuple(tensors), _as_tuple(inputs)
    grads = (None,) * len(tensors) if grad_tensors is None else _as_tuple(grad_tensors)
    grads = _match_grads(tensors, grads)
    keep = create_graph if retain_graph is None else retain_graph
    _native.run_backward(tensors, grads, keep, create_graph, inputs, True, True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple; no ``grad`` is touched.

    Args:
        grad_outputs: the gradients to start from; needed for outputs of more than one element.
        allow_unused: give ``None`` for inputs that the outputs do not depend on, in place of an error.
        materialize_grads: give zeros for those.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if not only_inputs:
        raise ValueError("only_inputs argument is deprecated: only the gradients of `inputs` are computed.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: False."
        )
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    grads = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    grads = _match_grads(outputs, grads, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    allow = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        return _grad_batched(outputs, inputs, grads, create_graph, allow, materialize_grads)
    result = _native.run_backward(outputs, grads, keep, create_graph, inputs, allow, False)
    if materialize_grads:
        result = tuple(_zeros_like(x) if g is None else g for g, x in zip(result, inputs, strict=True))
    return result


def _zeros_like(tensor):
    if isinstance(tensor, graph.GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return tensor.new_zeros(tensor.shape)


def _grad_batched(outputs, inputs, grads, create_graph, allow, materialize_grads):
    """One backward for all entries of the gradients' first dimension at once."""
    from .._functorch.vmap import vmap

    given = [i for i, g in enumerate(grads) if g is not None]
    used = []

    def one(*rows):
        weights = list(grads)
        for place, row in zip(given, rows, strict=True):
            weights[place] = row
        found = grad(
            outputs,
            inputs,
            weights,
            True,
            create_graph,
            allow_unused=allow,
            materialize_grads=materialize_grads,
        )
        used[:] = [g is not None for g in found]
        return tuple(g for g in found if g is not None)

    columns = iter(vmap(one)(*(grads[i] for i in given)))
    return tuple(next(columns) if is_used else None for is_used in used)
