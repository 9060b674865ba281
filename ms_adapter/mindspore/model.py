"""MindSpore's Model over our modules: training, evaluation and prediction in whole epochs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ms_adapter import pytorch as torch
from ms_adapter.pytorch import nn

from .amp import auto_mixed_precision, build_train_network
from .saving import for_our_module
from .training import RunContext, WithLossCell


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


class _Run(dict):
    """The callbacks' view of the run: by attribute or, as MindSpore's own do, by key."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__


def batches(dataset: Any) -> Iterator[tuple[Any, ...]]:
    """The batches of a DataLoader, of another iterable, or of a MindSpore dataset, as tuples of our
    tensors; int32 of MindSpore's, which it has for labels, as int64, which PyTorch's losses want."""
    if hasattr(dataset, "create_tuple_iterator"):
        for row in dataset.create_tuple_iterator(output_numpy=True, num_epochs=1):
            yield tuple(_widened(torch.from_numpy(column.copy())) for column in row)
        return
    for batch in dataset:
        yield tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)


def _widened(column: torch.Tensor) -> torch.Tensor:
    return column.long() if column.dtype == torch.int32 else column


def _size(dataset: Any) -> int:
    """How many batches there are, 1 where the dataset does not say."""
    if hasattr(dataset, "get_dataset_size"):
        return dataset.get_dataset_size() or 1
    return len(dataset) if hasattr(dataset, "__len__") else 1


def _listed(callbacks: Any) -> list[Any]:
    given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    return [for_our_module(callback) for callback in given]


class Model:
    """Trains, evaluates and runs a module: `Model(net, loss_fn, optimizer).train(epochs, dataset)`.

    `dataset` gives `(data, label)` batches. `amp_level` and `loss_scale_manager` are mixed precision as
    :func:`ms_adapter.mindspore.amp.build_train_network` has it. `dataset_sink_mode` changes where batches
    wait on an accelerator and nothing about the numbers; here they are handed over one by one.
    """

    def __init__(
        self,
        network: nn.Module,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Any = None,
        eval_indexes: Any = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **options: Any,
    ) -> None:
        self._network, self._loss_fn, self._optimizer, self._metrics = network, loss_fn, optimizer, metrics
        if eval_network is not None or eval_indexes is not None:
            raise NotImplementedError(
                "Model: eval_network and eval_indexes are not supported for our modules; give loss_fn."
            )
        if optimizer is not None:
            step = build_train_network(network, optimizer, loss_fn, amp_level, boost_level, **options)
        else:
            step = None
            auto_mixed_precision(network, amp_level)
        self._train_network = step

    @property
    def train_network(self) -> Any:
        """The module that a step of training calls."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The module with its loss; None without one."""
        return WithLossCell(self._network, self._loss_fn) if self._loss_fn is not None else None

    @property
    def predict_network(self) -> Any:
        """The module itself."""
        return self._network

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
        self._train(epoch, train_dataset, _listed(callbacks), dataset_sink_mode, initial_epoch, None)

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: int = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains for `epoch` epochs and evaluates after every `valid_frequency` of them."""

        def validate(state: _Run) -> None:
            if valid_dataset is not None and state.cur_epoch_num % valid_frequency == 0:
                state.eval_results = self.eval(valid_dataset)
                print(f"Eval result: epoch {state.cur_epoch_num}, metrics: {state.eval_results}", flush=True)
                self._network.train()

        self._train(epoch, train_dataset, _listed(callbacks), dataset_sink_mode, initial_epoch, validate)

    def _train(
        self, epoch: int, dataset: Any, told: list[Any], sink: bool, initial_epoch: int, after: Any
    ) -> None:
        if self._train_network is None:
            raise ValueError(
                "Model.train: there is no optimizer; give one to Model(network, loss_fn, optimizer)."
            )
        state = _Run(
            epoch_num=epoch,
            batch_num=_size(dataset),
            cur_epoch_num=0,
            cur_step_num=0,
            net_outputs=None,
            network=self._network,
            train_network=self._train_network,
            optimizer=self._optimizer,
            loss_fn=self._loss_fn,
            mode="train",
            train_dataset=dataset,
            list_callback=told,
            parallel_mode="stand_alone",
            device_number=1,
            dataset_sink_mode=sink,
            eval_results={},
        )
        context = RunContext(state)
        self._network.train()
        _tell(told, "begin", context)
        for number in range(initial_epoch, epoch):
            state.cur_epoch_num = number + 1
            _tell(told, "epoch_begin", context)
            self._epoch(dataset, told, state, context)
            if after is not None:
                after(state)
            _tell(told, "epoch_end", context)
            if context.get_stop_requested():
                break
        _tell(told, "end", context)

    def _epoch(self, dataset: Any, told: list[Any], state: _Run, context: RunContext) -> None:
        device = self._device()
        for batch in batches(dataset):
            state.cur_step_num += 1
            state.train_dataset_element = batch
            _tell(told, "step_begin", context)
            state.net_outputs = self._train_network(*(x.to(device) for x in batch))
            _tell(told, "step_end", context)
            if context.get_stop_requested():
                return

    def _device(self) -> Any:
        return next((p.device for p in self._network.parameters()), torch.device("cpu"))

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, float]:
        """{"loss": mean loss, "accuracy": fraction right where `metrics` asks for it}"""
        if self._loss_fn is None:
            raise ValueError("Model.eval: there is no loss_fn; give one to Model(network, loss_fn).")
        device = self._device()
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
