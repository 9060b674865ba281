"""Averages of weights over a training: AveragedModel, its rate scheduler, and the update of batch norms."""

import itertools
import math
from copy import deepcopy

import ms_adapter.pytorch as torch

from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ._lr_base import LRScheduler, _per_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay=0.999):
    """A function that moves a list of averages a share ``1 - decay`` of the way to the current values."""
    _check_decay(decay)
    one = get_ema_avg_fn(decay)

    @torch.no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(one(average, current, None))

    return ema_update


def get_swa_multi_avg_fn():
    """A function that takes the current values into a list of equally weighted averages."""

    @torch.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        one = get_swa_avg_fn()
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 / (float(num_averaged) + 1))
            else:
                average.copy_(one(average, current, num_averaged))

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """A function of average, current value and count: the average a share ``1 - decay`` of the way on."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """A function of average, current value and count: the equally weighted average."""

    @torch.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of ``model`` whose parameters average those that ``update_parameters`` shows it.

    Equally weighted, or as ``avg_fn(average, current, count)`` or ``multi_avg_fn`` (of lists) says; buffers
    are copied, or averaged too with ``use_buffers``.

    >>> import ms_adapter.pytorch as torch
    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _tensors_of(self, model):
        buffers = model.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in itertools.chain(model.parameters(), buffers)]

    def update_parameters(self, model):
        """Take the parameters of ``model`` into the average."""
        averages = self._tensors_of(self.module)
        current = [value.to(own.device) for own, value in zip(averages, self._tensors_of(model), strict=True)]
        if self.n_averaged == 0:
            for own, value in zip(averages, current, strict=True):
                own.copy_(value)
        elif self.avg_fn is not None:
            for own, value in zip(averages, current, strict=True):
                own.copy_(self.avg_fn(own, value, self.n_averaged.to(own.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, current, self.n_averaged)
        if not self.use_buffers:
            for own, value in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(value.detach())
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Compute the running statistics of batch norms anew, as plain averages over the batches of ``loader``.

    A batch may be a tensor, or a list or tuple that starts with one.
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes from where it is to ``swa_lr`` in ``anneal_epochs`` steps and stays there."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for group, rate in zip(optimizer.param_groups, _per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        """How much of the way is done after ``step`` steps."""
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
