"""What learning-rate schedulers share: the base class, options given once or for each group."""

import warnings
import weakref
from functools import wraps

import ms_adapter.pytorch as torch

from .optimizer import Optimizer, _to_scalar


def _copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def _values(optimizer, key):
    return [_copy(group[key]) for group in optimizer.param_groups]


def _current(optimizer):
    """The rates that are set."""
    return _values(optimizer, "lr")


def _set_value(group, key, value):
    if isinstance(group[key], torch.Tensor):
        group[key].fill_(_to_scalar(value))
    else:
        group[key] = value


def _per_group(name, optimizer, value):
    """An option given once, or once for each group."""
    if not isinstance(value, (list, tuple)):
        return [_copy(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [_copy(item) for item in value]


class LRScheduler:
    """Base of schedulers: ``get_lr`` gives the rates for ``last_epoch``; ``step`` advances it."""

    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                    "with last_epoch >= 0: load the optimizer's state first."
                )
        self.base_lrs = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False
        self._get_lr_called_within_step = False  # nothing here needs it: PyTorch's states have it

    def state_dict(self):
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take back what :meth:`state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last."""
        return self._last_lr

    def get_lr(self):
        """The rates for ``last_epoch``, from those of the step before."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr().")

    def step(self, epoch=None):
        """Advance by one step (or to ``epoch``) and set the rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
                "possible: use `scheduler.step()` to step the scheduler.",
                UserWarning,
                stacklevel=2,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        """Go on by one step, or to ``epoch``, without counting it as a call of ``step``."""
        if epoch is None:
            self.last_epoch += 1
            self._set_rates(self.get_lr())
        else:
            self.last_epoch = epoch
            self._set_rates(getattr(self, "_get_closed_form_lr", self.get_lr)())

    def _set_rates(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _set_value(group, "lr", rate)
        self._last_lr = _current(self.optimizer)

    def _check_order(self):
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the "
                "opposite order: otherwise the first value of the learning rate schedule is skipped.",
                UserWarning,
                stacklevel=3,
            )

    def _current(self):
        return _current(self.optimizer)

    def _scaled(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def _watch_steps(optimizer):
    """Make the optimizer remember that it stepped, to warn of calls in the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    owner, step = weakref.ref(optimizer), optimizer.step.__func__

    @wraps(step)
    def wrapper(*args, **kwargs):
        optimizer = owner()
        optimizer._opt_called = True
        return step.__get__(optimizer, type(optimizer))(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True
    optimizer.step = wrapper
