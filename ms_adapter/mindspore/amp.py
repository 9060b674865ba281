"""`ms.amp`: MindSpore's mixed precision for our modules: levels, loss scales, and the search for overflow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ms_adapter import pytorch as torch
from ms_adapter.pytorch import nn

LEVELS = ("O0", "O1", "O2", "O3", "auto")
# What O2 leaves in float32, MindSpore's black list.
KEPT = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm)


def nested(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same tuples, lists and dicts with `change` done to the tensors in them."""
    if isinstance(value, dict):
        return {k: nested(v, change) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(nested(v, change) for v in value)
    return change(value) if isinstance(value, torch.Tensor) else value


def to_floating(value: Any, dtype: Any) -> Any:
    """Floating tensors of a nest as `dtype`."""
    return nested(value, lambda t: t.to(dtype) if t.is_floating_point() else t)


def our_dtype(dtype: Any) -> Any:
    """float16 or bfloat16 of PyTorch's face for that or for MindSpore's; ValueError for others."""
    name = str(dtype).removeprefix("torch.").lower()
    if name not in ("float16", "bfloat16"):
        raise ValueError(f"auto_mixed_precision: dtype is {dtype}; it must be float16 or bfloat16.")
    return getattr(torch, name)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Any = torch.float16) -> Any:
    """The module, whose forward now computes in `dtype` as the level says; its parameters stay as they are.

    O0: nothing changes. O1: what autocast lowers (convolutions, products) in `dtype`. O2: all in `dtype` but
    BatchNorm and LayerNorm. O3: all in `dtype`. "auto": as O1, the output in the dtype that it comes in. The
    output of O1 to O3 is float32.

    >>> net = auto_mixed_precision(nn.Linear(2, 1), "O3")
    >>> net(torch.ones(1, 2)).dtype, net.weight.dtype
    (torch.float32, torch.float32)
    """
    if amp_level not in LEVELS:
        raise ValueError(
            f"auto_mixed_precision: amp_level is {amp_level!r}; it must be one of {', '.join(LEVELS)}."
        )
    if not isinstance(network, nn.Module):
        raise TypeError(f"auto_mixed_precision: a module is wanted, got {type(network).__name__}.")
    if amp_level == "O0":
        return network
    if hasattr(network, "_amp_level"):
        raise ValueError(
            f"auto_mixed_precision: the module is at level {network._amp_level} already; set it once, "
            "and leave Model's amp_level at O0 then."
        )
    forward, low = network.forward, our_dtype(dtype)
    if amp_level in ("O1", "auto"):
        network.forward = _autocasting(network, forward, low, amp_level == "O1")
    else:
        network.forward = _lowered(network, forward, low, KEPT if amp_level == "O2" else ())
    network._amp_level = amp_level
    return network


def _autocasting(network: Any, forward: Any, dtype: Any, back: bool) -> Any:
    """The forward under autocast; `back`: its output in float32."""

    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        device = next((p.device.type for p in network.parameters()), "cpu")
        with torch.autocast(device, dtype=dtype):
            out = forward(*args, **kwargs)
        return to_floating(out, torch.float32) if back else out

    return run


def _lowered(network: Any, forward: Any, dtype: Any, kept: tuple[type, ...]) -> Any:
    """The forward with inputs and parameters cast to `dtype`, except in modules of the classes `kept`."""
    prefixes = [name + "." for name, m in network.named_modules() if kept and isinstance(m, kept)]
    for name, module in network.named_modules():
        if name + "." in prefixes:
            module.register_forward_pre_hook(lambda m, args: to_floating(args, torch.float32))
            module.register_forward_hook(lambda m, args, out: to_floating(out, dtype))
    under_way = False

    def cast_tensors() -> dict[str, Any]:
        every = [*network.named_parameters(), *network.named_buffers()]
        return {
            name: t.to(dtype)
            for name, t in every
            if t.is_floating_point() and not name.startswith(tuple(prefixes))
        }

    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal under_way
        if under_way:
            return forward(*args, **kwargs)
        under_way = True
        try:
            given = to_floating(args, dtype), to_floating(kwargs, dtype)
            out = torch.func.functional_call(network, cast_tensors(), *given)
        finally:
            under_way = False
        return to_floating(out, torch.float32)

    return run


def all_finite(inputs: Any) -> torch.Tensor:
    """Whether no element of the tensors is infinite or NaN: a bool tensor without dimensions.

    >>> all_finite([torch.ones(2), torch.tensor([1.0, float("inf")])])
    tensor(False)
    """
    found: list[Any] = []
    nested(inputs, lambda t: found.append(torch.isfinite(t).all()))
    return torch.stack(found).all() if found else torch.tensor(True)


class StaticLossScaler:
    """A loss scale that stays: `scale(loss)` before the gradients, `unscale(grads)` after them."""

    def __init__(self, scale_value: float) -> None:
        if scale_value < 1.0:
            raise ValueError(f"{type(self).__name__}: scale_value is {scale_value}; it must be at least 1.")
        self.scale_value = float(scale_value)

    def scale(self, inputs: Any) -> Any:
        """The tensors times the scale."""
        return scaled(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """The tensors divided by the scale."""
        return scaled(inputs, 1.0 / self.scale_value)

    def adjust(self, grads_finite: Any) -> bool:
        """False: nothing changes."""
        return False


class DynamicLossScaler(StaticLossScaler):
    """A loss scale that goes down by `scale_factor` on overflow, and up after `scale_window` good steps.

    >>> scaler = DynamicLossScaler(8.0, scale_factor=2, scale_window=1)
    >>> scaler.adjust(False), scaler.scale_value, scaler.adjust(True), scaler.scale_value
    (True, 4.0, True, 8.0)
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        self.scale_factor, self.scale_window, self.counter = scale_factor, scale_window, 0

    def adjust(self, grads_finite: Any) -> bool:
        """Takes the outcome of a step in; True."""
        self.counter = (self.counter + 1) % self.scale_window if grads_finite else 0
        if not grads_finite:
            self.scale_value = max(self.scale_value / self.scale_factor, 1.0)
        elif self.counter == 0:
            self.scale_value *= self.scale_factor
        return True


def scaled(inputs: Any, factor: float) -> Any:
    """The tensors of a nest times a number."""
    return nested(inputs, lambda t: t * factor)


class FixedLossScaleManager:
    """Model's loss scale, always the same; a step with overflow is left out if `drop_overflow_update`."""

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        if loss_scale < 1:
            raise ValueError(f"FixedLossScaleManager: loss_scale is {loss_scale}; it must be at least 1.")
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        """The loss scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps with overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Nothing changes."""

    def get_update_cell(self) -> Any:
        """What TrainOneStepWithLossScaleCell takes as its `scale_sense`."""
        return self if self._drop_overflow_update else None


class DynamicLossScaleManager:
    """Model's loss scale: halved (by `scale_factor`) on overflow, doubled after `scale_window` good steps."""

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        self._scaler = DynamicLossScaler(init_loss_scale, scale_factor, scale_window)

    def get_loss_scale(self) -> float:
        """The loss scale."""
        return self._scaler.scale_value

    def get_drop_overflow_update(self) -> bool:
        """True: steps with overflow are left out."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Takes the outcome of a step in."""
        self._scaler.adjust(not overflow)

    def get_update_cell(self) -> Any:
        """What TrainOneStepWithLossScaleCell takes as its `scale_sense`."""
        return self


def manager_of(scale_sense: Any) -> Any:
    """What manages a loss scale: a manager as it is; of MindSpore's cells that update one, the same by ours;
    of a number, one that keeps it."""
    if hasattr(scale_sense, "update_loss_scale"):
        return scale_sense
    if hasattr(scale_sense, "scale_factor") and hasattr(scale_sense, "scale_window"):
        scale, factor = float(scale_sense.get_loss_scale()), int(scale_sense.scale_factor)
        return DynamicLossScaleManager(scale, factor, int(scale_sense.scale_window))
    if hasattr(scale_sense, "get_loss_scale"):
        return FixedLossScaleManager(float(scale_sense.get_loss_scale()))
    return FixedLossScaleManager(float(scale_sense))


def build_train_network(
    network: Any,
    optimizer: Any,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    **options: Any,
) -> Any:
    """A module whose call is one step of training at an amp level.

    Options: `keep_batchnorm_fp32` (True makes O3 an O2, False O2 an O3), `cast_model_type`,
    `loss_scale_manager` (O2 has a dynamic one of its own).
    """
    from .training import TrainOneStepCell, TrainOneStepWithLossScaleCell, WithLossCell

    level = _level_of(level, boost_level, options)
    manager = options.pop("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if options:
        raise ValueError(f"build_train_network: unknown options {', '.join(options)}.")
    network = auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = WithLossCell(network, loss_fn)
    if manager is None:
        return TrainOneStepCell(network, optimizer)
    return TrainOneStepWithLossScaleCell(network, optimizer, manager)


def _level_of(level: str, boost_level: str, options: dict[str, Any]) -> str:
    """The level that the older options make of it."""
    if boost_level != "O0":
        raise NotImplementedError(
            f"boost_level={boost_level!r} is not supported for our modules; leave it at 'O0'."
        )
    kind, keep = options.pop("cast_model_type", None), options.pop("keep_batchnorm_fp32", None)
    if kind is not None:
        low = str(kind).removeprefix("torch.").lower() == "float16"
        level = ("O2" if keep or (keep is None and level == "O2") else "O3") if low else "O0"
    elif keep is not None and level in ("O2", "O3"):
        level = "O2" if keep else "O3"
    return level


def __getattr__(name: str) -> Any:
    from .bridge import of_package

    return of_package("amp", name)
