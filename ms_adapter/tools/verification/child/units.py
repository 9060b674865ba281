"""Graph mode: modules that the script calls and functions that it compiles are units, looked at from outside.

Ours runs a unit as a compiled graph, the reference as Python; neither is watched inside, where a graph has no
Python to be watched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .render import tensors_in

if TYPE_CHECKING:
    from .recorder import Recorder


class Units:
    """Runs units; with a backend, through torch.compile."""

    def __init__(self, recorder: Recorder, backend: str) -> None:
        self._recorder, self._backend = recorder, backend
        self._compile = recorder.torch.compile
        self._modules: dict[int, tuple[Any, Any]] = {}  # by id, with themselves: they stay until the end
        self._made: list[Any] = []
        self.inside = False
        if backend:
            try:
                self._compile(lambda x: x, backend=backend)
            except (ImportError, NotImplementedError) as error:
                raise SystemExit(f"there is no graph mode by {backend!r} here: {error}") from error

    @property
    def programs(self) -> int:
        """Graphs that were compiled so far; -1 where the backend does not count them."""
        return sum(made.compiles for made in self._made) if all(map(_counts, self._made)) else -1

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self._backend:
            return function
        made = self._compile(function, backend=self._backend)
        self._made.append(made)
        return made

    def module(self, module: Any, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """The call of a module from outside of all others."""
        if id(module) not in self._modules:
            self._modules[id(module)] = module, self._compiled(functools.partial(call, module))
        return self._run(self._modules[id(module)][1], args, kwargs)

    def _run(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        self.inside = True
        try:
            return function(*args, **kwargs)
        finally:
            self.inside = False

    def compile(self, model: Any = None, **options: Any) -> Any:
        """In place of torch.compile. Modules stay: they are units when they are called."""
        if model is None:
            return self.compile
        if isinstance(model, self._recorder.torch.nn.Module):
            return model
        compiled = self._compiled(model)

        @functools.wraps(model)
        def unit(*args: Any, **kwargs: Any) -> Any:
            if not self._recorder.watching:
                return model(*args, **kwargs)
            return self._recorder.call_unit(
                model, lambda *args, **kwargs: self._run(compiled, args, kwargs), args, kwargs
            )

        return unit

    def operator(self, name: str, func: Any, args: tuple, kwargs: dict) -> Any:
        """An operator inside: not written down, but rounded as the run is."""
        result = func(*args, **kwargs)
        noise = self._recorder.noise
        if noise is not None:
            is_tensor = self._recorder.is_tensor
            inputs = () if name.endswith("_") else list(tensors_in((args, kwargs), is_tensor))
            noise.apply(name, inputs, list(tensors_in(result, is_tensor)))
        return result


def _counts(made: Any) -> bool:
    return hasattr(made, "compiles")
