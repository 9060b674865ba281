"""Our tensors and modules among MindSpore's, and the other way round: over the same memory, gradients
included."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ms_adapter import _C
from ms_adapter import pytorch as torch

from . import backend
from ._package import DTYPES, mindspore

DEVICE = backend.DEVICE


def _walk(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists and dicts with `change` done to what they hold."""
    if isinstance(value, dict):
        return {k: _walk(v, change) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_walk(v, change) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_walk(v, change) for v in value)
    return change(value)


def cast_to_ms_tensor(value: Any) -> Any:
    """Our tensors, alone or in tuples, lists and dicts, as MindSpore tensors over the same memory.

    Strided bool and complex tensors are copied, which MindSpore cannot alias. MindSpore's own autograd begins
    anew at such a tensor, and a warning says so where ours is recording: what shall pass gradients between
    the two goes through :func:`as_module` or :func:`as_cell`.
    """

    def change(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        version = mindspore().__version__
        if (dtype := str(x.dtype).removeprefix("torch.")) not in DTYPES:
            raise TypeError(
                f"cast_to_ms_tensor: MindSpore {version} has no dtype for torch.{dtype}; "
                "cast the tensor first, as by .to(torch.float32)."
            )
        if x.requires_grad and torch.is_grad_enabled():
            warnings.warn(
                "cast_to_ms_tensor: the gradient ends at this tensor; wrap the MindSpore code in "
                "as_module() to pass it on, or detach() the tensor.",
                RuntimeWarning,
                stacklevel=4,
            )
        return _C.package_tensor(x.detach()) if x.device.type == DEVICE else backend.handle(x.detach())

    return _walk(value, change)


def cast_to_adapter_tensor(value: Any) -> Any:
    """MindSpore tensors, alone or in tuples, lists and dicts, as our tensors on `mindspore` over the same
    memory."""
    ms = mindspore()
    return _walk(value, lambda x: _C.adopt_tensor(DEVICE, x) if isinstance(x, ms.Tensor) else x)


def convert_tensor(tensor: Any) -> Any:
    """A tensor of real PyTorch as one of ours on `cpu`, over the same memory where it is dense.

    Whether it wants a gradient goes with it; its history does not. A conjugate that PyTorch has not computed
    yet is computed, in memory of its own. TypeError for what is no tensor of PyTorch, for other layouts,
    devices without memory, and dtypes that DLPack does not carry.
    """
    if type(tensor).__module__.partition(".")[0] != "torch" or isinstance(tensor, torch.Tensor):
        raise TypeError(f"convert_tensor: a tensor of PyTorch is wanted, got {type(tensor).__name__}.")
    dense = tensor.detach().resolve_conj().resolve_neg()
    try:
        is_bool = str(tensor.dtype) == "torch.bool"
        found = torch.from_numpy(dense.numpy()) if is_bool else torch.from_dlpack(dense)
    except (BufferError, RuntimeError, TypeError) as error:
        raise TypeError(
            f"convert_tensor: a {tensor.layout} tensor of {tensor.dtype} on {tensor.device} "
            f"cannot be taken over ({error}); make it dense, of a plain dtype, on cpu first."
        ) from error
    return found.requires_grad_(tensor.requires_grad)


class _Foreign(torch.autograd.Function):
    """A call of a MindSpore function: its backward is MindSpore's."""

    @staticmethod
    def forward(ctx: Any, fn: Callable[..., Any], weights: list[Any], n_inputs: int, *tensors: Any) -> Any:
        inputs = cast_to_ms_tensor(list(tensors[:n_inputs]))
        if weights:
            out, ctx.pull = mindspore().ops.vjp(fn, *inputs, weights=weights)
        else:
            out, ctx.pull = mindspore().ops.vjp(fn, *inputs)
        ctx.n_inputs, ctx.has_weights = n_inputs, bool(weights)
        return cast_to_adapter_tensor(out)

    @staticmethod
    def backward(ctx: Any, *douts: Any) -> Any:
        given = ctx.pull(*cast_to_ms_tensor([d.contiguous() for d in douts]))
        of_inputs, of_weights = given if ctx.has_weights else (given, ())
        of_inputs = of_inputs if isinstance(of_inputs, (tuple, list)) else (of_inputs,)
        return None, None, None, *cast_to_adapter_tensor([*of_inputs, *of_weights])


class _ForeignModule(torch.nn.Module):
    """A MindSpore Cell or function as a module."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self._fn, self._theirs = (
            fn,
            list(fn.trainable_params()) if isinstance(fn, mindspore().nn.Cell) else [],
        )
        for theirs in self._theirs:
            ours = torch.nn.Parameter(cast_to_adapter_tensor(theirs))
            self.register_parameter(theirs.name.replace(".", "_"), ours)

    def forward(self, *inputs: Any) -> Any:
        inputs = tuple(x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in inputs)
        return _Foreign.apply(self._fn, self._theirs, len(inputs), *inputs, *self._parameters.values())


def as_module(fn: Callable[..., Any]) -> Any:
    """A MindSpore function or Cell as a module of ours: called on our tensors within our autograd.

    A Cell's trainable parameters are the module's, over the same memory: our optimizers move them.
    """
    return _ForeignModule(fn)


def as_cell(module: Any) -> Any:
    """A module of ours as a MindSpore Cell: its parameters are MindSpore Parameters over the same memory.

    MindSpore's optimizers move them, `mindspore.save_checkpoint` saves them, MindSpore's autograd goes
    through it.
    The module moves to the device `mindspore`.
    """
    ms = mindspore()
    names, params = [], []
    for name, ours in module.to(DEVICE).named_parameters():
        theirs = ms.Parameter(cast_to_ms_tensor(ours.detach()), name=name, requires_grad=ours.requires_grad)
        ours.data = cast_to_adapter_tensor(theirs)
        names.append(name)
        params.append(theirs)

    class Core(ms.nn.Cell):
        """One call: parameters and inputs in, gradients of all of them out."""

        def construct(self, *tensors: Any) -> Any:
            with torch.no_grad():
                return cast_to_ms_tensor(module(*cast_to_adapter_tensor(tensors[len(params) :])))

        def bprop(self, *given: Any) -> Any:
            *tensors, _, dout = given
            inputs = cast_to_adapter_tensor(list(tensors[len(params) :]))
            wanted = [x for x in inputs if x.is_floating_point()]
            for x in wanted:
                x.requires_grad_()
            with torch.enable_grad():
                out = module(*inputs)
                ours = list(module.parameters())
                found = torch.autograd.grad(
                    out, [*ours, *wanted], cast_to_adapter_tensor(dout), allow_unused=True
                )
            by_tensor = {id(t): g for t, g in zip([*ours, *wanted], found)}
            every = [*ours, *inputs]
            return cast_to_ms_tensor(
                tuple(
                    torch.zeros_like(t) if by_tensor.get(id(t)) is None else by_tensor[id(t)] for t in every
                )
            )

    class ModuleCell(ms.nn.Cell):
        """A module of ours; `adapter_module` is it."""

        def __init__(self) -> None:
            super().__init__(auto_prefix=False)
            for name, theirs in zip(names, params):
                self.insert_param_to_cell(name.replace(".", "_"), theirs, check_name_contain_dot=False)
            self.core = Core()

        def construct(self, *inputs: Any) -> Any:
            return self.core(*params, *inputs)

    cell = ModuleCell()
    cell.adapter_module = module
    return cell
