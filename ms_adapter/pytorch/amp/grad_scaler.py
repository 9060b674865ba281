"""torch.amp.GradScaler: losses are scaled up so that small gradients survive float16."""

import enum
import math
import warnings

import ms_adapter.pytorch as torch

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """How far an optimizer is in the present iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """What is known of one optimizer since the last update."""

    def __init__(self):
        self.stage = OptState.READY
        self.found_inf = {}  # device -> a tensor of one element, 0 or 1


class GradScaler:
    """Scales the loss by a factor that grows while gradients stay finite, and shrinks when they do not.

    Args:
        device: the device type of the model, "cpu" or "mindspore"; "cuda" without CUDA switches it off.
        init_scale: the first factor.
        growth_factor: what the factor is multiplied with after ``growth_interval`` finite steps in a row.
        backoff_factor: what it is multiplied with after a step with inf or nan.
        growth_interval: see ``growth_factor``.
        enabled: False makes every method pass its argument through.

    >>> import ms_adapter.pytorch as torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((weight * weight).sum()).backward()
    >>> weight.grad
    tensor([16., 16.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.detach(), scaler.get_scale()
    (tensor([0., 0.]), 8.0)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn("GradScaler: there is no CUDA device here, so the scaler stays off.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        assert growth_factor > 1.0, f"GradScaler: growth_factor must be above 1.0, got {growth_factor}."
        assert backoff_factor < 1.0, f"GradScaler: backoff_factor must be below 1.0, got {backoff_factor}."
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale = self._growth_tracker = None  # tensors, from the first use on
        self._per_optimizer_states = {}  # id of an optimizer -> _Progress

    # ---- the factor ------------------------------------------------------------------------------
    def _lazy_init_scale_growth_tracker(self, dev):
        assert self._growth_tracker is None, "GradScaler: _growth_tracker was set before _scale."
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=dev)
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=dev)

    def _check_scale_growth_tracker(self, funcname):
        for name in ("_scale", "_growth_tracker"):
            assert getattr(self, name) is not None, (
                f"GradScaler: {funcname} was called but {name} is None: scale the loss first with "
                "scaler.scale(loss)."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs):
        """The loss, or every tensor of a list or tuple, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError(
            f"GradScaler.scale takes a Tensor or an iterable of them, not {type(outputs).__name__}."
        )

    # ---- gradients -------------------------------------------------------------------------------
    def _progress(self, optimizer):
        return self._per_optimizer_states.setdefault(id(optimizer), _Progress())

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Multiply gradients by ``inv_scale``; device -> whether one of its gradients was not finite."""
        by_device = {}
        for group in optimizer.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if not allow_fp16 and grad.dtype == torch.float16:
                    raise ValueError(
                        "GradScaler: gradients of float16 cannot be unscaled; keep weights in float32."
                    )
                values = grad._values() if grad.is_sparse else grad
                by_device.setdefault(values.device, []).append(values)
        found = {}
        for device, grads in by_device.items():
            found[device] = found_inf.to(device, copy=True)
            torch._amp_foreach_non_finite_check_and_unscale_(grads, found[device], inv_scale.to(device))
        return found

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer by the factor, for clipping them before :meth:`step`."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        progress = self._progress(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError(
                "GradScaler: unscale_() was called twice for this optimizer since the last update()."
            )
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("GradScaler: unscale_() comes before step(), which was called already.")
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        progress.found_inf = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        progress.stage = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, unless one of them is inf or nan.

        Returns what the optimizer's step returns; None where it was skipped.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "GradScaler.step: a closure would compute gradients that nobody unscales; step without."
            )
        self._check_scale_growth_tracker("step")
        progress = self._progress(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("GradScaler: step() was called already since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_its_own(optimizer, progress, args, kwargs)
        else:
            if progress.stage is OptState.READY:
                self.unscale_(optimizer)
            result = self._maybe_opt_step(optimizer, progress, args, kwargs)
        progress.stage = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer, progress, args, kwargs):
        assert progress.found_inf, (
            "GradScaler: no gradients were found for this optimizer: was backward() called, and did its "
            "parameters take part?"
        )
        if any(found.item() for found in progress.found_inf.values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_of_its_own(self, optimizer, progress, args, kwargs):
        """The step of an optimizer that unscales and skips itself: it reads grad_scale and found_inf."""
        if progress.stage is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale
        else:
            optimizer.grad_scale = None
        found = progress.found_inf.values()
        optimizer.found_inf = torch.stack([each.to(self._scale.device) for each in found]).sum()
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    # ---- the next factor -------------------------------------------------------------------------
    def update(self, new_scale=None):
        """At the end of an iteration: the next factor, by what was found, or ``new_scale``."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                each.to(scale.device)
                for p in self._per_optimizer_states.values()
                for each in p.found_inf.values()
            ]
            assert found, "GradScaler: update() needs a step() or an unscale_() before."
            torch._amp_update_scale_(
                scale, tracker, sum(found[1:], found[0]), self._growth_factor, self._backoff_factor,
                self._growth_interval,
            )  # fmt: skip
        self._per_optimizer_states.clear()

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        suits = isinstance(new_scale, torch.Tensor) and new_scale.dtype == torch.float32
        assert suits and new_scale.numel() == 1 and not new_scale.requires_grad, (
            "GradScaler.update: new_scale is a float, or a float32 tensor of one element without gradient."
        )
        self._scale.copy_(new_scale)

    # ---- questions -------------------------------------------------------------------------------
    def _get_scale_async(self):
        return self._scale

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def get_scale(self):
        """The factor, as a float; 1.0 when off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """The growth factor."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The backoff factor."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of finite steps in a row after which the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set the growth interval."""
        self._growth_interval = new_interval

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    # ---- saving ----------------------------------------------------------------------------------
    def state_dict(self):
        """All that :meth:`load_state_dict` needs to go on; empty when off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Go on from a :meth:`state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler: the state_dict is empty, as that of a scaler that was off.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            assert not self._per_optimizer_states, (
                "GradScaler: it can be pickled before the first step of an iteration, or after update()."
            )
            state["_init_scale"], state["_scale"] = self.get_scale(), None
            state["_init_growth_tracker"], state["_growth_tracker"] = self._get_growth_tracker(), None
        return state

    def _check_inf_per_device(self, optimizer):
        """Device -> whether a gradient of the optimizer is inf or nan; the gradients stay as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = torch.full((), 1.0, dtype=torch.float32, device=scale.device)
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=scale.device)
        progress = self._progress(optimizer)
        progress.found_inf = self._unscale_grads_(optimizer, one, found_inf, True)
        return progress.found_inf

    def _found_inf_per_device(self, optimizer):
        return self._progress(optimizer).found_inf


def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale, /):
    """Multiply each tensor of a list by ``inv_scale``; ``found_inf`` becomes 1 if one holds inf or nan."""
    for name, value in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if value.numel() != 1 or value.dtype != torch.float32:
            raise RuntimeError(
                f"_amp_foreach_non_finite_check_and_unscale_: {name} must be one float32 element, got "
                f"{value.dtype} of shape {tuple(value.shape)}."
            )
    with torch.no_grad():
        factor, finite = inv_scale.reshape(()), True
        for grad in self:
            if grad.numel():
                low, high = torch.aminmax(grad)  # nan is both
                finite = finite and math.isfinite(low.item()) and math.isfinite(high.item())
            grad.mul_(factor)
        if not finite:
            found_inf.fill_(1.0)


def _amp_update_scale_(
    self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval, /
):
    """The next factor of a GradScaler: less after an inf, more after ``growth_interval`` steps without."""
    for name, value, dtype in (
        ("current_scale", self, torch.float32),
        ("growth_tracker", growth_tracker, torch.int32),
        ("found_inf", found_inf, torch.float32),
    ):
        if value.numel() != 1 or value.dtype != dtype:
            raise RuntimeError(
                f"_amp_update_scale_: {name} must be one element of {dtype}, got {value.dtype} of shape "
                f"{tuple(value.shape)}."
            )
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
    elif growth_tracker.item() + 1 == growth_interval:
        grown = self * scale_growth_factor
        if math.isfinite(grown.item()):
            self.copy_(grown)
        growth_tracker.fill_(0)
    else:
        growth_tracker.add_(1)
    return self
