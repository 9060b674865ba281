"""MindSpore's training interface over our modules: WithLossCell, the cells of one step, and Model's
callbacks."""

from __future__ import annotations

import time
from typing import Any

from ms_adapter import pytorch as torch
from ms_adapter.pytorch import nn

from .amp import all_finite, manager_of, scaled
from .functional import value_and_grad


class WithLossCell(nn.Module):
    """`loss_fn(backbone(data), label)` as one module.

    >>> net = WithLossCell(nn.Linear(2, 1), nn.MSELoss())
    >>> net(torch.ones(3, 2), torch.ones(3, 1)).shape
    torch.Size([])
    """

    def __init__(self, backbone: nn.Module, loss_fn: Any) -> None:
        super().__init__()
        self._backbone, self._loss_fn = backbone, loss_fn

    def forward(self, data: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> nn.Module:
        """The module without its loss."""
        return self._backbone


class TrainOneStepCell(nn.Module):
    """One step of training: the loss of `network(*inputs)`, its gradients times `sens`, the optimizer's
    step."""

    def __init__(self, network: nn.Module, optimizer: Any, sens: float = 1.0) -> None:
        super().__init__()
        self.network, self.optimizer, self.sens = network, optimizer, sens
        self.weights = optimizer.parameters
        self._step = value_and_grad(network, None, self.weights)
        network.train()

    def forward(self, *inputs: Any) -> torch.Tensor:
        loss, grads = self._step(*inputs)
        self.optimizer(grads if self.sens == 1.0 else [g * self.sens for g in grads])
        return loss


class TrainOneStepWithLossScaleCell(nn.Module):
    """One step of training with a loss scale: the gradients of the scaled loss, unscaled again; a step whose
    gradients overflow is left out.

    `scale_sense` is the scale, or what manages it: MindSpore's or our `FixedLossScaleManager` or
    `DynamicLossScaleManager`, or the `get_update_cell()` of one. A call gives the loss, whether it
    overflowed, and the scale.
    """

    def __init__(self, network: nn.Module, optimizer: Any, scale_sense: Any) -> None:
        super().__init__()
        self.network, self.optimizer = network, optimizer
        self.manager = manager_of(scale_sense)
        self.weights = optimizer.parameters
        self._step = value_and_grad(lambda scale, *inputs: network(*inputs) * scale, None, self.weights)
        network.train()

    def forward(self, *inputs: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        scale = float(self.manager.get_loss_scale())
        loss, grads = self._step(scale, *inputs)
        grads = scaled(grads, 1.0 / scale)
        overflow = not bool(all_finite(grads))
        if not (overflow and self.manager.get_drop_overflow_update()):
            self.optimizer(grads)
        self.manager.update_loss_scale(overflow)
        return loss / scale, torch.tensor(overflow), torch.tensor(scale)


class RunContext:
    """What callbacks may ask about the run and tell it."""

    def __init__(self, arguments: Any) -> None:
        self._arguments, self._stop = arguments, False

    def original_args(self) -> Any:
        """cur_epoch_num, cur_step_num, batch_num, epoch_num, net_outputs, train_network and so on."""
        return self._arguments

    def request_stop(self) -> None:
        """Ends the run after this step."""
        self._stop = True

    def get_stop_requested(self) -> bool:
        """Whether a callback wants the run to end."""
        return self._stop


class Callback:
    """What a Model calls at the begin and the end of runs, epochs and steps; subclasses fill in some of
    it."""

    def begin(self, run_context: RunContext) -> None:
        """Before training."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def end(self, run_context: RunContext) -> None:
        """After training."""


class LossMonitor(Callback):
    """Prints the loss every `per_print_times` steps."""

    def __init__(self, per_print_times: int = 1) -> None:
        self.per_print_times = per_print_times

    def step_end(self, run_context: RunContext) -> None:
        a = run_context.original_args()
        if self.per_print_times and a.cur_step_num % self.per_print_times == 0:
            step = (a.cur_step_num - 1) % a.batch_num + 1
            loss = a.net_outputs[0] if isinstance(a.net_outputs, tuple) else a.net_outputs
            print(f"epoch: {a.cur_epoch_num} step: {step}, loss is {float(loss)}", flush=True)


class TimeMonitor(Callback):
    """Prints the time of each epoch."""

    def __init__(self, data_size: int | None = None) -> None:
        self.data_size, self._start = data_size, 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        self._start = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        spent_ms = (time.perf_counter() - self._start) * 1000
        steps = self.data_size or run_context.original_args().batch_num
        print(f"Train epoch time: {spent_ms:.3f} ms, per step time: {spent_ms / steps:.3f} ms", flush=True)
