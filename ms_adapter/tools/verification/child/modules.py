"""Which module is running, how it is set, where it was made: by watching nn.Module itself."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .names import ModuleNames
from .render import tensors_in

if TYPE_CHECKING:
    from .recorder import Recorder

_PLAIN = (bool, int, float, str, type(None))


class ModuleWatch:
    """Keeps the stack of running modules, and the names of modules, parameters and buffers."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._module = recorder.torch.nn.Module
        self._stack: list[tuple[str, str]] = []  # path, class
        self._known = ModuleNames()
        self._made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._mode_set: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._setting_mode = False
        self.names = self._known.names
        self.parameters = self._known.tensors
        self._before: dict[str, Any] = {}

    def __enter__(self) -> ModuleWatch:
        module = self._module
        for name in ("__init__", "__call__", "train"):
            self._before[name] = (name in module.__dict__, getattr(module, name))
        init, call, train = (self._before[name][1] for name in ("__init__", "__call__", "train"))
        watch = self

        def watched_init(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            watch._made[self] = watch._recorder.sites.making(self)

        def watched_call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not watch._recorder.watching:
                return call(self, *args, **kwargs)
            return watch._run(self, call, args, kwargs)

        def watched_train(self: Any, mode: bool = True) -> Any:
            return watch._train(self, train, mode)

        for name, function in (
            ("__init__", watched_init),
            ("__call__", watched_call),
            ("train", watched_train),
        ):
            setattr(module, name, function)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for name, (own, function) in self._before.items():
            if own:
                setattr(self._module, name, function)
            else:
                delattr(self._module, name)

    @property
    def running(self) -> bool:
        """Whether a module runs."""
        return bool(self._stack)

    def place(self) -> dict[str, str]:
        """The path and class of the running module."""
        path, cls = self._stack[-1] if self._stack else ("", "")
        return {"path": path, "class": cls}

    def _train(self, module: Any, train: Any, mode: bool) -> Any:
        if self._setting_mode:
            return train(module, mode)
        self._setting_mode = True
        try:
            site = self._recorder.sites.here(2)
            for part in module.modules():
                self._mode_set[part] = site
            return train(module, mode)
        finally:
            self._setting_mode = False

    def _run(self, module: Any, call: Any, args: tuple, kwargs: dict) -> Any:
        recorder = self._recorder
        if not self._stack or self._known.path_of(module) is None:
            self._known.name_all(module)
        entry = (self._known.path_of(module) or type(module).__name__, type(module).__name__)
        about = {
            "path": entry[0],
            "class": entry[1],
            "site": recorder.sites.here(2),
            "made": self._made.get(module),
            "mode_set": self._mode_set.get(module),
            "settings": _settings(module),
        }
        recorder.add({"kind": "enter", "name": "enter", **about, "ins": self._numbers((args, kwargs))})
        self._stack.append(entry)
        try:
            if recorder.units is not None and len(self._stack) == 1:
                result = recorder.units.module(module, call, args, kwargs)
            else:
                result = call(module, *args, **kwargs)
        finally:
            self._stack.pop()
        recorder.add({"kind": "exit", "name": "exit", **about, "outs": self._numbers(result)})
        return result

    def _numbers(self, values: Any) -> list[int]:
        recorder = self._recorder
        recorder.muted = True
        try:
            return [recorder.store.number_of(t) for t in tensors_in(values, recorder.is_tensor)]
        finally:
            recorder.muted = False


def _settings(module: Any) -> dict[str, Any]:
    """A module's own plain attributes: eps, momentum, p, training, ..."""
    found = {}
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        plain = isinstance(value, _PLAIN) or (
            isinstance(value, (tuple, list))
            and len(value) < 9
            and all(isinstance(item, _PLAIN) for item in value)
        )
        if plain:
            found[name] = repr(value)
    found["training"] = repr(bool(module.training))
    return found
