"""MindSpore's training interface over our modules: WithLossCell, TrainOneStepCell, Model and its
callbacks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from ms_adapter import pytorch as torch
from ms_adapter.pytorch import nn

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


class RunContext:
    """What callbacks may ask about the run and tell it."""

    def __init__(self, arguments: SimpleNamespace) -> None:
        self._arguments, self._stop = arguments, False

    def original_args(self) -> SimpleNamespace:
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
            print(f"epoch: {a.cur_epoch_num} step: {step}, loss is {float(a.net_outputs)}", flush=True)


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


def _tell(callbacks: Iterable[Any], hook: str, context: Any) -> None:
    """Calls the hook by either of its names: MindSpore says `on_train_epoch_end` too."""
    for callback in callbacks:
        newer = f"on_train_{hook}"
        name = newer if _is_own(callback, newer) else hook
        if hasattr(callback, name):
            getattr(callback, name)(context)


def _is_own(callback: Any, name: str) -> bool:
    """Whether the user wrote the method: MindSpore's base class has empty ones."""
    home = next((c for c in type(callback).__mro__ if name in vars(c)), None)
    return home is not None and not home.__module__.startswith("mindspore.")


class _Owner(SimpleNamespace):
    """The callbacks' view of the run."""


def batches(dataset: Any) -> Iterator[tuple[Any, ...]]:
    """The batches of a DataLoader, of another iterable, or of a MindSpore dataset, as tuples of our
    tensors."""
    if hasattr(dataset, "create_tuple_iterator"):
        for row in dataset.create_tuple_iterator(output_numpy=True, num_epochs=1):
            yield tuple(torch.from_numpy(column.copy()) for column in row)
        return
    for batch in dataset:
        yield tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)


class Model:
    """Trains, evaluates and runs a module: `Model(net, loss_fn, optimizer).train(epochs, dataset)`.

    `dataset` gives `(data, label)` batches. `dataset_sink_mode` changes where batches wait on an
    accelerator and
    nothing about the numbers; here they are handed over one by one.
    """

    def __init__(
        self,
        network: nn.Module,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        **options: Any,
    ) -> None:
        self._network, self._loss_fn, self._optimizer, self._metrics = network, loss_fn, optimizer, metrics
        level = options.pop("amp_level", "O0")
        if level not in ("O0", None) or options.pop("boost_level", "O0") != "O0":
            raise NotImplementedError(
                f"Model: amp_level={level!r} is not supported for our modules; "
                "use torch.autocast in the module."
            )
        wrapped = network if loss_fn is None else WithLossCell(network, loss_fn)
        self._train_network = TrainOneStepCell(wrapped, optimizer) if optimizer is not None else None
        self._eval_network = wrapped if loss_fn is not None else None

    @property
    def train_network(self) -> Any:
        """The module that a step of training calls."""
        return self._train_network

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains for `epoch` epochs."""
        if self._train_network is None:
            raise ValueError(
                "Model.train: there is no optimizer; give one to Model(network, loss_fn, optimizer)."
            )
        told = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        device = next((p.device for p in self._network.parameters()), torch.device("cpu"))
        size = train_dataset.get_dataset_size() if hasattr(train_dataset, "get_dataset_size") else None
        size = size or (len(train_dataset) if hasattr(train_dataset, "__len__") else 1)
        state = _Owner(
            epoch_num=epoch,
            batch_num=size,
            cur_epoch_num=0,
            cur_step_num=0,
            net_outputs=None,
            network=self._network,
            train_network=self._train_network,
            optimizer=self._optimizer,
            loss_fn=self._loss_fn,
            mode="train",
            train_dataset=train_dataset,
            list_callback=told,
            parallel_mode="stand_alone",
            device_number=1,
            dataset_sink_mode=dataset_sink_mode,
        )
        context = RunContext(state)
        self._network.train()
        _tell(told, "begin", context)
        for number in range(initial_epoch, epoch):
            state.cur_epoch_num = number + 1
            _tell(told, "epoch_begin", context)
            for batch in batches(train_dataset):
                state.cur_step_num += 1
                state.train_dataset_element = batch
                _tell(told, "step_begin", context)
                state.net_outputs = self._train_network(*(x.to(device) for x in batch))
                _tell(told, "step_end", context)
                if context.get_stop_requested():
                    break
            _tell(told, "epoch_end", context)
            if context.get_stop_requested():
                break
        _tell(told, "end", context)

    fit = train

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, float]:
        """{"loss": mean loss, "accuracy": fraction right where `metrics` asks for it}"""
        if self._loss_fn is None:
            raise ValueError("Model.eval: there is no loss_fn; give one to Model(network, loss_fn).")
        device = next((p.device for p in self._network.parameters()), torch.device("cpu"))
        losses, right, n = [], 0, 0
        self._network.eval()
        with torch.no_grad():
            for data, label in batches(valid_dataset):
                out, label = self._network(data.to(device)), label.to(device)
                losses.append(float(self._loss_fn(out, label)))
                if out.dim() == 2 and not label.is_floating_point():
                    right += int((out.argmax(1) == label).sum())
                    n += len(label)
        found = {"loss": sum(losses) / max(len(losses), 1)}
        if n and any(str(m).lower() in ("accuracy", "acc") for m in self._metrics or ()):
            found["accuracy"] = right / n
        return found

    def predict(self, *predict_data: Any) -> Any:
        """What the module gives, in evaluation."""
        self._network.eval()
        with torch.no_grad():
            return self._network(*predict_data)
