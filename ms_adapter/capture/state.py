"""What Python holds around a function that a graph took for granted: found by a walk from what is named.

The walk starts at the function, its arguments, the modules that it called, and the globals that the code
which ran names. It follows closures, defaults, containers, modules, and those attributes that the code
names. Every place that it passes becomes a `Fact`: what is there, object by object.
"""

from __future__ import annotations

import collections
import enum
import functools
import gc
import operator
import sys
import types
import weakref
from collections.abc import Callable, Container, Iterable
from typing import Any

from .guards import PLAIN, ModuleGuard
from .ran import OPAQUE, Ran

MOST_ITEMS = 4096  # looked at in each call
MOST_DEPTH = 16
MOST_BYTES = 1 << 16  # of a NumPy array, which is compared byte by byte
THE_FUNCTION = "the function"  # the name of the root that is called
_NONE = object()
_OURS = frozenset({"ms_adapter", "torch", "builtins", *OPAQUE})
_LIBRARY_STATE = (collections.UserDict, collections.UserList, collections.ChainMap, types.SimpleNamespace)


class TooMuch(Exception):
    """There is more around a function than a call can look at; the text says where."""


class Fact:
    """A place and what is there; equal values of plain types may stand for each other."""

    __slots__ = ("path", "read", "seen")

    def __init__(self, path: str, read: Callable[[], tuple[Any, ...]]) -> None:
        self.path, self.read, self.seen = path, read, read()

    def holds(self) -> bool:
        """Whether all is as it was."""
        now, seen = self.read(), self.seen
        if len(now) != len(seen):
            return False
        return all(map(operator.is_, now, seen)) or all(map(_same, now, seen))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return _is_value(a) and bool(a == b)


def _is_value(x: Any) -> bool:
    """Whether an object never changes and another one that equals it does as well."""
    if type(x) in PLAIN:
        return True
    torch = _torch()
    return isinstance(x, (torch.dtype, torch.device, torch.Size, range, slice)) or _is_numpy(x, "generic")


def _is_numpy(x: Any, name: str) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, getattr(numpy, name))


class StateGuard:
    """The facts around a function; `roots` are pairs of a name and an object, `guarded` the ids of modules
    that have a guard."""

    def __init__(self, roots: Iterable[tuple[str, Any]], ran: Ran, guarded: Container[int] = ()) -> None:
        self._ran, self._items, self._guarded = ran, 0, guarded
        self._passed: dict[int, Any] = {}
        self._facts: list[Fact] = []
        self._modules: list[ModuleGuard] = []
        self._to_do = collections.deque((value, path, 0) for path, value in roots)
        for space, names in ran.globals.values():
            self._keys(space, sorted(names), "the variable '{}'", 0)
        self._walk()
        self._unreached()
        self._walk()

    def change(self) -> str | None:
        """The place of something that is not as it was."""
        for fact in self._facts:
            if not fact.holds():
                return fact.path
        return next(filter(None, (module.change() for module in self._modules)), None)

    def _walk(self) -> None:
        while self._to_do:
            value, path, depth = self._to_do.popleft()
            if type(value) in PLAIN or id(value) in self._passed:
                continue
            self._passed[id(value)] = value
            if depth > MOST_DEPTH:
                raise TooMuch(
                    f"{path} is nested more than {MOST_DEPTH} deep: what changes there would not be noticed"
                )
            self._visit(value, path, depth + 1)

    def _unreached(self) -> None:
        """Functions that ran and that no name leads to, such as tensors' hooks: found by their code."""
        reached = {id(f.__code__) for f in self._passed.values() if isinstance(f, types.FunctionType)}
        inner = {id(c) for code in self._ran.codes.values() for c in code.co_consts}
        lost = [c for i, c in self._ran.codes.items() if i not in reached and i not in inner]
        if lost:
            ids = {id(c) for c in lost}
            for f in gc.get_referrers(*lost):
                if isinstance(f, types.FunctionType) and id(f.__code__) in ids:
                    self._later(f, f.__qualname__, 0)

    def _later(self, value: Any, path: str, depth: int) -> None:
        if type(value) not in PLAIN:
            self._to_do.append((value, path, depth))

    def _fact(self, path: str, read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        fact = Fact(path, read)
        self._items += 1 + len(fact.seen)
        if self._items > MOST_ITEMS:
            raise TooMuch(
                f"more than {MOST_ITEMS} Python values would have to be looked at in each call, at {path}"
            )
        self._facts.append(fact)
        return fact.seen

    def _keys(self, space: Any, keys: list[str], path: str, depth: int, whole: bool = False) -> None:
        """Some keys of a dictionary, one fact for each group; `whole`: their number is a fact, too."""
        get = functools.partial(dict.get, space) if isinstance(space, dict) else space.get
        nones = (_NONE,) * len(keys)
        named = ", ".join(keys[:3]) + (", ..." if len(keys) > 3 else "")
        if whole:
            self._fact(path.format(named), lambda: (len(space),))
        if keys:
            for key, value in zip(keys, self._fact(path.format(named), lambda: tuple(map(get, keys, nones)))):
                self._later(value, path.format(key), depth)

    def _visit(self, value: Any, path: str, depth: int) -> None:
        torch = _torch()
        if isinstance(value, torch.Tensor):
            self._fact(path, lambda: (value.data_ptr(), value.requires_grad))
        elif isinstance(value, torch.nn.Module):
            self._module(value, path, depth)
        elif isinstance(value, types.FunctionType):
            self._function(value, path, depth)
        elif isinstance(value, type):
            self._class(value, path, depth)
        elif isinstance(value, types.ModuleType):
            if not _ours(value.__name__):
                keys = [key for key in vars(value) if key in self._ran.user_names]
                self._keys(vars(value), keys, f"{path}.{{}}", depth)
        elif isinstance(value, (dict, list, tuple, set, frozenset, collections.deque)):
            self._container(value, path, depth)
        elif _is_numpy(value, "ndarray") or isinstance(value, (bytearray, memoryview)):
            self._bytes(value, path)
        elif not isinstance(value, enum.Enum) and not _is_value(value):
            self._object(value, path, depth)

    def _container(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, dict):
            self._fact(path, lambda: (*value, *value.values()))
            for key, item in value.items():
                self._later(item, f"{path}[{key!r}]", depth)
        else:
            items = value if isinstance(value, (tuple, frozenset)) else self._fact(path, lambda: tuple(value))
            for i, item in enumerate(items):
                self._later(item, f"{path}[{i}]", depth)
        if type(value).__module__ not in ("builtins", "collections"):
            self._attributes(value, path, depth)

    def _bytes(self, value: Any, path: str) -> None:
        if (value.nbytes if hasattr(value, "nbytes") else len(value)) > MOST_BYTES:
            raise TooMuch(f"{path} is a large array, of which no change would be noticed: make it a tensor")
        if not _is_numpy(value, "ndarray"):
            self._fact(path, lambda: (bytes(value),))
        elif value.dtype != object:
            self._fact(path, lambda: (value.shape, value.dtype.str, value.tobytes()))

    def _function(self, fn: types.FunctionType, path: str, depth: int) -> None:
        """What a function that ran (or one of ours, which may hold one) closes over, and its defaults."""
        ours = _ours(fn.__module__ or "")
        if not ours and id(fn.__code__) not in self._ran.codes:
            return
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
            where = f"the variable {name!r}"
            for item in self._fact(where, functools.partial(_contents, cell)):
                self._later(item, where, depth)
        if not ours:
            for item in self._fact(
                f"a default of {fn.__qualname__}", lambda: (fn.__defaults__, fn.__kwdefaults__)
            ):
                self._later(item, f"a default of {fn.__qualname__}", depth)
        if vars(fn):
            self._keys(vars(fn), self._named(vars(fn)), f"{path}.{{}}", depth)

    def _object(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, types.MethodType):
            self._later(value.__self__, type(value.__self__).__name__, depth)
            self._later(value.__func__, path, depth)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._later(part, path, depth)
        elif isinstance(value, weakref.ref):
            self._later(value(), path, depth)
        elif isinstance(value, property):
            self._later(value.fget, path, depth)
        elif isinstance(value, (staticmethod, classmethod)):
            self._later(value.__func__, path, depth)
        elif "__wrapped__" in getattr(value, "__dict__", ()):
            self._later(value.__wrapped__, path, depth)
        elif path == THE_FUNCTION or _is_users(value):
            self._attributes(value, path, depth)

    def _attributes(self, value: Any, path: str, depth: int) -> None:
        """Attributes with a name that ran: of the object, of its slots, of its classes."""
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            keys = list(own) if path == THE_FUNCTION or self._ran.any_name else self._named(own)
            self._keys(own, keys, f"{path}.{{}}", depth, whole=True)
        for base in type(value).__mro__:
            slots = [n for n, m in vars(base).items() if isinstance(m, types.MemberDescriptorType)]
            if slots and not _ours(base.__module__):
                read = functools.partial(_slots, value, slots)
                for name, item in zip(slots, self._fact(f"{path}.{slots[0]}", read)):
                    self._later(item, f"{path}.{name}", depth)
            self._later(base, base.__name__, depth)

    def _class(self, value: Any, path: str, depth: int) -> None:
        if not _ours(value.__module__) and value.__module__ not in sys.stdlib_module_names:
            self._keys(vars(value), self._named(vars(value)), f"{path}.{{}}", depth)

    def _module(self, value: Any, path: str, depth: int) -> None:
        """A module: its parts, its hooks, and what its attributes hold beside plain values."""
        own = vars(value)
        guard = ModuleGuard(value)
        if id(value) not in self._guarded:
            self._modules.append(guard)
        if own["_modules"] or _is_users(value):
            self._container(own["_modules"], path, depth)
        for hook in (h for held in guard.hooks() for h in held.values()):
            self._later(hook, f"a hook of {path}", depth)
        every = self._ran.any_name or not _is_users(value)
        keys = [
            k
            for k in (own if every else self._named(own))
            if not _is_internal(k) and type(own[k]) not in PLAIN
        ]
        self._keys(own, keys, f"{path}.{{}}", depth)
        for base in type(value).__mro__:
            self._later(base, base.__name__, depth)

    def _named(self, space: Any) -> list[str]:
        return [key for key in space if key in self._ran.names]


def _is_internal(name: str) -> bool:
    return name.endswith("_hooks") or name in ("_modules", "_parameters", "_buffers")


def _is_users(value: Any) -> bool:
    """Whether an object's attributes are a user's: not of our classes, nor of Python's own."""
    module = type(value).__module__
    if module == "os" or isinstance(value, _LIBRARY_STATE) or type(value).__name__ == "Namespace":
        return True
    return not _ours(module) and module.partition(".")[0] not in sys.stdlib_module_names


def _ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS


def _contents(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not bound yet
        return ()


def _slots(value: Any, names: list[str]) -> tuple[Any, ...]:
    return tuple(getattr(value, name, _NONE) for name in names)


def _torch() -> Any:
    from ms_adapter import pytorch

    return pytorch
