"""Watches a training: every operator that the script calls, modules, gradients, optimizers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .draws import draw_in, draws
from .modules import ModuleWatch
from .perturb import Noise
from .render import arguments, tensors_in
from .signatures import Signatures
from .sites import Sites
from .training import TrainingWatch
from .units import Units
from .values import Store

_KEEP_FIGURES = frozenset(("batch_norm", "instance_norm"))
_PROPERTIES = frozenset(("T", "mT", "H", "mH", "data", "real", "imag"))
# They ask about a tensor, or are how Python itself looks at one.
_QUESTIONS = frozenset((
    "size", "dim", "numel", "stride", "storage_offset", "is_contiguous", "is_floating_point",
    "is_complex", "data_ptr", "nelement", "ndimension", "element_size", "get_device", "item", "tolist",
    "numpy", "__len__", "__bool__", "__int__", "__float__", "__index__", "__repr__", "__str__",
    "__format__", "__hash__", "register_hook", "retain_grad", "is_pinned", "untyped_storage", "storage",
    "type", "requires_grad_", "__array__", "__dlpack__", "is_conj", "is_neg", "is_inference", "is_set_to",
    "is_same_size", "_is_view", "register_post_accumulate_grad_hook", "has_names", "is_signed",
    "is_nonzero", "backward", "__torch_function__", "__contains__", "__iter__", "__reduce_ex__",
    "__deepcopy__", "empty", "empty_like", "new_empty", "empty_strided",
))  # fmt: skip


# Python's operators are called otherwise from framework to framework.
_ONE_NAME = {
    "__eq__": "eq", "__ne__": "ne", "__rsub__": "sub", "__floordiv__": "floor_divide",
    "__rfloordiv__": "floor_divide", "__rpow__": "pow", "__rmod__": "remainder", "__invert__": "bitwise_not",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__rand__": "bitwise_and",
    "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}  # fmt: skip


class Recorder:
    """Inside `with recorder:`, events are gathered; `store` gets them at each optimizer's step and the end.

    Recording reads values and draws no random numbers, so the run computes what it computes without it.
    """

    def __init__(
        self,
        torch: Any,
        store: Store,
        noise: Noise | None = None,
        after_chunk: Callable[[], None] = lambda: None,
    ) -> None:
        self.torch, self.store, self.noise = torch, store, noise
        self.sites = Sites(torch.__file__)
        self._signatures = Signatures(torch)
        self.events: list[dict[str, Any]] = []
        self.units: Units | None = None  # in graph mode
        self.drawn_dtype: Any = None  # of random numbers, where the default dtype is not the reference's
        self.muted = False  # backward and optimizers are events of their own
        self.first_event = 0  # the number of the chunk's first event
        self._process = os.getpid()
        self._after_chunk = after_chunk
        self.modules = ModuleWatch(self)
        self._training = TrainingWatch(self)
        self._stack = ExitStack()

    def __enter__(self) -> Recorder:
        self._stack.enter_context(self.modules)
        self._stack.enter_context(self._training)
        self._stack.enter_context(_mode_class(self.torch)(self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    @property
    def watching(self) -> bool:
        """Whether what runs now is the user's and of this process (not of a data loader's worker)."""
        inside = self.units is not None and self.units.inside
        return not self.muted and not inside and os.getpid() == self._process

    def is_tensor(self, value: Any) -> bool:
        """Whether it is a tensor of the framework watched."""
        return isinstance(value, self.torch.Tensor)

    def add(self, event: dict[str, Any]) -> int:
        """Append an event; its number in the whole run."""
        self.events.append(event)
        return self.first_event + len(self.events) - 1

    def finish_chunk(self, last: bool = False, error: str | None = None, error_site: Any = None) -> None:
        """Hand over what has been gathered."""
        chunk = {"events": self.events, "first": self.first_event, "last": last, "error": error}
        chunk["programs"] = self.units.programs if self.units is not None else -1
        self.store.finish_chunk({**chunk, "error_site": error_site})
        self.first_event += len(self.events)
        self.events = []
        if not last:
            self._after_chunk()

    def call(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Run an operator that the script called, and write down what went in and came out."""
        name = _ONE_NAME.get(getattr(func, "__name__", ""), getattr(func, "__name__", ""))
        if name in ("__get__", "__set__"):
            name = _property_name(func, name)
        if not name or name in _QUESTIONS or not self.watching:
            if self.units is not None and self.units.inside and not self.muted:
                return self.units.operator(name, func, args, kwargs)
            return func(*args, **kwargs)
        inputs = list(tensors_in((args, kwargs), self.is_tensor))
        before = [self.store.number_of(tensor) for tensor in inputs]
        versions = [_version(tensor) for tensor in inputs]
        stream = self.torch.get_rng_state().numpy().tobytes() if draws(name) else None
        if self.drawn_dtype is None:
            result = func(*args, **kwargs)
        else:
            result = draw_in(self.torch, self.drawn_dtype, name, func, args, kwargs)
        self._look(name, func, args, kwargs, inputs, before, versions, result, stream)
        return result

    def call_custom(self, original: Any, args: tuple, kwargs: dict) -> Any:
        """Run an autograd.Function that the script has written: an operator too, after those inside it."""
        function, *rest = args
        if not self.watching:
            return original(*args, **kwargs)
        result, event = self._whole(f"{function.__name__}.apply", original, args, tuple(rest), kwargs)
        if event is not None:
            event["function"] = f"{function.__qualname__}.apply"
            event["backward_site"] = self.sites.of_function(getattr(function, "backward", None))
        return result

    def call_unit(self, function: Any, run: Any, args: tuple, kwargs: dict) -> Any:
        """Run a compiled function; what it made of all parameters is a result too."""
        result, event = self._whole(function.__name__, run, args, args, kwargs)
        if event is not None:
            self.store.all_changed()
            event["function"] = function.__qualname__
            event["after"] = [(name, self.store.number_of(p)) for name, p in self.modules.parameters.items()]
        if not self.modules.running:
            self.finish_chunk()
        return result

    def _whole(self, name: str, run: Any, args: tuple, shown: tuple, kwargs: dict) -> tuple[Any, Any]:
        """Run what the script has written as one operator: its result, and its event if it has one."""
        inputs = list(tensors_in((shown, kwargs), self.is_tensor))
        self.muted = True  # reading is no event; here the mode that brings events is on
        before = [self.store.number_of(tensor) for tensor in inputs]
        versions = [_version(tensor) for tensor in inputs]
        self.muted = False
        result = run(*args, **kwargs)
        count = len(self.events)
        self.muted = True
        self._look(name, run, shown, kwargs, inputs, before, versions, result, None)
        self.muted = False
        return result, self.events[-1] if len(self.events) > count else None

    def _look(
        self,
        name: str,
        func: Any,
        args: tuple,
        kwargs: dict,
        inputs: list[Any],
        before: list[int],
        versions: list[int],
        result: Any,
        stream: bytes | None,
    ) -> None:
        """What an operator has made."""
        outputs = list(tensors_in(result, self.is_tensor))
        changed = [
            i
            for i, tensor in enumerate(inputs)
            if _version(tensor) != versions[i]
            or name == "set_data"
            or self._is_running_figure(name, i, tensor)
        ]
        if not outputs and not changed:
            return
        if self.noise is not None:
            self.noise.apply(name, inputs if not name.endswith("_") else (), outputs)
        for i in changed:
            self.store.changed(inputs[i])
        self._note(name, func, args, kwargs, inputs, before, changed, outputs)
        if stream is not None:
            self.events[-1]["stream"] = stream
        if self.torch.is_autocast_enabled("cpu"):
            self.events[-1]["autocast"] = str(self.torch.get_autocast_dtype("cpu"))

    def _is_running_figure(self, name: str, i: int, tensor: Any) -> bool:
        """Running mean and variance change without PyTorch's counting it as a change."""
        return name in _KEEP_FIGURES and i > 0 and not tensor.requires_grad

    def _note(
        self,
        name: str,
        func: Any,
        args: tuple,
        kwargs: dict,
        inputs: list[Any],
        before: list[int],
        changed: list[int],
        outputs: list[Any],
    ) -> None:
        number_of = self.store.number_of
        event = {
            "kind": "op",
            "name": name,
            "function": self._full_name(func),
            **self.modules.place(),
            "site": self.sites.here(4),
            "ins": before,
            "names": [self.modules.names.get(id(tensor)) for tensor in inputs],
            "outs": [number_of(tensor) for tensor in outputs],
            "changed": [(i, number_of(inputs[i])) for i in changed],
            "arguments": arguments(args, kwargs, self.is_tensor),
            "parameters": self._signatures.of(func),
        }
        at = self.add(event)
        self.store.written_by([*outputs, *(inputs[i] for i in changed)], at)
        if len(outputs) == 1:  # of several, one may depend on another: how depends on the operator's split
            self._training.watch_gradient(outputs[0], at, 0)

    def _full_name(self, func: Any) -> str:
        try:
            return self.torch.overrides.resolve_name(func) or getattr(func, "__qualname__", str(func))
        except Exception:  # a function that the framework does not list
            return getattr(func, "__qualname__", str(func))


def _version(tensor: Any) -> int:
    try:
        return tensor._version
    except RuntimeError:
        return 0


def _property_name(func: Any, kind: str) -> str:
    """`T` for `Tensor.T.__get__`, `set_data` for an assignment to `.data`; "" for what computes nothing."""
    name = getattr(getattr(func, "__self__", None), "__name__", "")
    if kind == "__set__":
        return "set_data" if name == "data" else ""
    return name if name in _PROPERTIES else ""


def _mode_class(torch: Any) -> type:
    from importlib import import_module

    base = import_module(torch.__name__ + ".overrides").TorchFunctionMode

    class RecordingMode(base):  # type: ignore[valid-type, misc]
        """Hands every call of the script to the recorder."""

        def __init__(self, recorder: Recorder) -> None:
            super().__init__()
            self._recorder = recorder

        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            return self._recorder.call(func, args, kwargs or {})

    return RecordingMode
