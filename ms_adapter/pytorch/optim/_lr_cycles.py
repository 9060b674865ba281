"""Schedulers whose rates rise and fall: OneCycleLR, CyclicLR and CosineAnnealingWarmRestarts."""

import math
import types

from ._lr_base import LRScheduler, _per_group, _set_value
from .optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """What the schedulers share that move momentum (or the first beta) against the rate."""

    def _prepare_momentum(self, max_momentum, base_momentum):
        """The highest and the lowest momentum of each group."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        highs = _per_group("max_momentum", optimizer, max_momentum)
        return highs, _per_group("base_momentum", optimizer, base_momentum)

    def _start_momentum(self, highs, lows):
        for group, high, low in zip(self.optimizer.param_groups, highs, lows, strict=True):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class OneCycleLR(_WithMomentum):
    """The rate rises to ``max_lr`` and falls far below where it began, in ``total_steps`` steps.

    With ``cycle_momentum`` the momentum (or the first beta) goes the other way.
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=10000.0,
        three_phase=False,
        last_epoch=-1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start, three_phase)
        highest = _per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            highs, lows = self._prepare_momentum(max_momentum, base_momentum)
            if last_epoch == -1:
                self._start_momentum(highs, lows)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start, three_phase):
        """For each phase its last step, and the group entries that rate and momentum start and end with."""
        top, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        rise = _phase(top, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if not three_phase:
            return [rise, _phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        again = float(2 * pct_start * self.total_steps) - 2
        return [
            rise,
            _phase(again, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]

    def _anneal(self, start, end, share):
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        first = 0.0
        for phase in self._schedule_phases:
            last = phase["end_step"]
            if step <= last or phase is self._schedule_phases[-1]:
                break
            first = last
        share = (step - first) / (last - first)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = (group[phase["start_momentum"]], group[phase["end_momentum"]])
                self._set_momentum(group, self._anneal(*ends, share))
        return rates


def _phase(end_step, start_lr, end_lr, start_momentum, end_momentum):
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


def _total_steps(total_steps, epochs, steps_per_epoch):
    def positive(name, value):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total_steps is not None:
        return positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return positive("epochs", epochs) * positive("steps_per_epoch", steps_per_epoch)


class CyclicLR(_WithMomentum):
    """The rate rises from ``base_lr`` to ``max_lr`` and falls back, again and again.

    ``mode`` or ``scale_fn`` says how the height changes: "triangular" (not), "triangular2" (half of it each
    cycle), "exp_range" (times ``gamma`` each step). The momentum goes the other way.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError("mode is invalid and scale_fn is None")
        self.optimizer = optimizer
        lows = _per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                _set_value(group, "lr", low)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        exponential = scale_fn is None and mode == "exp_range"
        self.scale_mode = "iterations" if exponential else scale_mode if scale_fn else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            highs, lows_ = self._prepare_momentum(max_momentum, base_momentum)
            self.base_momentums, self.max_momentums = lows_, highs
            if last_epoch == -1:
                self._start_momentum(highs, lows_)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x):
        """The height at cycle (or step) ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        up = place <= self.step_ratio
        height = place / self.step_ratio if up else (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self):
        """Everything but the optimizer and a plain ``scale_fn``; a callable object gives its attributes."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict):
        """Take back what :meth:`state_dict` gave."""
        saved = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls to ``eta_min`` along half a cosine in ``T_0`` steps, then starts again.

    Each fall is ``T_mult`` times as long as the one before. ``step`` also takes fractions of epochs.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Advance by one epoch, or to ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._go_to(epoch)
        self._set_rates(self.get_lr())

    def _go_to(self, epoch):
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
