"""Names in graphs: of nodes, made unique, and of the functions that nodes call."""

import builtins
import functools
import keyword
import re
import types

import ms_adapter.pytorch as torch
from ms_adapter import _C

_OURS = "ms_adapter.pytorch"
_SPACES_IN_NAMES = ("fft", "linalg", "special")  # PyTorch's own functions are called fft_fft, linalg_norm
_SELF_NAMED = (torch.dtype, torch.layout, torch.memory_format)
_BUILTIN_NAMES = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"inf", "nan", "NoneType", "torch"}


def public_module(name):
    """A module of the face by PyTorch's name for it."""
    return "torch" + name[len(_OURS) :] if name == _OURS or name.startswith(_OURS + ".") else name


def resolve(dotted):
    """What a dotted name that begins with ``torch`` means, or None."""
    first, *rest = dotted.split(".")
    if first != "torch":
        return None
    try:
        return functools.reduce(getattr, rest, torch)
    except AttributeError:
        return None


def qualified_name(function):
    """The dotted name of a function that a node calls.

    >>> import ms_adapter.pytorch as torch
    >>> qualified_name(torch.relu), qualified_name(getattr), qualified_name(torch.fft.fft)
    ('torch.relu', 'builtins.getattr', 'torch.fft.fft')
    """
    if isinstance(function, _SELF_NAMED):
        return str(function)
    if isinstance(function, (torch.ops.OpOverload, torch.ops.OpOverloadPacket)):
        return f"torch.ops.{function}"
    name = getattr(function, "__name__", None)
    if name is None:
        raise RuntimeError(f"fx: cannot name {function!r}, which a node calls: it has no __name__.")
    if getattr(builtins, name, None) is function:
        return f"builtins.{name}"
    if isinstance(function, types.BuiltinMethodType) and function in _registry_names():
        return _registry_names()[function]
    if resolve(f"torch.{name}") is function:
        return f"torch.{name}"
    module = public_module(getattr(function, "__module__", None) or "").replace("_operator", "operator")
    outer = getattr(function, "__qualname__", name)
    if "<locals>" in outer or "<lambda>" in outer or not resolve(f"{module}.{outer}"):
        outer = name
    return f"{module}.{outer}" if module else outer


@functools.cache
def _registry_names():
    """Each operator's function and the shortest dotted name under which PyTorch's module has it."""
    names = {}
    for dotted, function in sorted(_C.functions.items(), key=lambda item: len(item[0])):
        full = f"torch.{dotted}"
        if function not in names and resolve(full) is function:
            names[function] = full
    return names


def hint(target):
    """What a node that calls ``target`` is named after."""
    if isinstance(target, str):
        dotted = target
    else:
        dotted = getattr(target, "__name__", type(target).__name__)
        if isinstance(target, types.BuiltinMethodType):
            space = qualified_name(target).removeprefix("torch.").partition(".")[0]
            dotted = f"{space}_{dotted}" if space in _SPACES_IN_NAMES else dotted
        elif isinstance(target, torch.ops.OpOverload):
            dotted = target.__name__.replace(".", "_")
    if dotted.startswith("__") and dotted.endswith("__"):  # magic methods
        dotted = dotted[2:-2]
    return _snake_case(dotted)


def _snake_case(text):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text).lower() if not text.islower() else text


class Namespace:
    """Gives names that are identifiers, mean nothing to Python, and are each given once.

    >>> names = Namespace()
    >>> names.create_name("relu", None), names.create_name("relu", None), names.create_name("a.b", None)
    ('relu', 'relu_1', 'a_b')
    """

    def __init__(self):
        self._used, self._counts, self._owners = set(), {}, {}

    def create_name(self, candidate, obj):
        """A name near ``candidate``; ``obj``, if given, is then known to own it."""
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, None)
        if number is None or candidate in self._used:
            number = self._counts.get(base, 0)
            candidate = base if number == 0 else f"{base}_{number}"
        while candidate in self._used or self._is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = max(number, self._counts.get(base, 0)) + (0 if number else 1)
        if obj is not None:
            self._owners[obj] = candidate
        return candidate

    def associate(self, name, obj):
        """Let ``obj`` own a name that was made before."""
        self._used.add(name)
        self._owners[obj] = name

    @staticmethod
    def _is_taken(name, obj):
        """Whether Python, or what generated code needs, means something else by the name."""
        if name in keyword.kwlist:
            return True
        return (
            name in _BUILTIN_NAMES and getattr(builtins, name, torch if name == "torch" else None) is not obj
        )
