"""Modules that hold modules: in a sequence that is called, in a list, in a dictionary."""

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain

from .module import Module, _indent
from .parameter_container import ParameterDict, ParameterList

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Modules given by keyword; deprecated, as in PyTorch."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass "
            "that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """Modules under the names "0", "1", ...: what Sequential and ModuleList share."""

    def _position(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return idx % len(self)

    def _renumber(self):
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))

    def __setitem__(self, idx, module):
        setattr(self, list(self._modules)[self._position(idx)], module)

    def __delitem__(self, idx):
        keys = list(self._modules)
        for key in keys[idx] if isinstance(idx, slice) else [keys[self._position(idx)]]:
            delattr(self, key)
        self._renumber()

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add modules at the end; returns the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def _insert(self, index, module):
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key):
        """Remove and return the module (or modules, for a slice) at ``key``."""
        taken = self[key]
        del self[key]
        return taken


class Sequential(_Numbered):
    """Calls its modules one after another, each with the result of the one before.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args):
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name), module)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[self._position(idx)]

    def __add__(self, other):
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_sequential(other)
        return self.extend(other)

    @staticmethod
    def _check_sequential(other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other):
        return self * other

    def __imul__(self, other):
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index, module):
        """Put a module before position ``index``; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + len(self) if index < 0 else index, module)
        return self


class ModuleList(_Numbered):
    """A list of modules, registered so that their parameters are found.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.Tanh()])
    ModuleList(
      (0-1): 2 x ReLU()
      (2): Tanh()
    )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(self._position(idx))]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def insert(self, index, module):
        """Put a module before position ``index``."""
        self._insert(index, module)

    def __repr__(self):
        runs = []  # [first, last, text] of neighbours that look alike
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return "\n  ".join([f"{self._get_name()}(", *map(_indent, lines)]) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, registered so that their parameters are found."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove and return the module under ``key``."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Pairs of name and module."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add or replace modules from a mapping or from pairs of name and module."""
        for key, module in pairs_of(modules, type(self).__name__):
            self[key] = module


def pairs_of(source, owner):
    """The pairs of a mapping, or of an iterable of pairs, checked."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got "
            f"{type(source).__name__}"
        )
    if isinstance(source, (Mapping, ModuleDict)):
        return list(source.items())
    pairs = list(source)
    for place, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{owner} update sequence element #{place} should be Iterable; is {type(pair).__name__}"
            )
        if len(pair) != 2:
            raise ValueError(
                f"{owner} update sequence element #{place} has length {len(pair)}; 2 is required"
            )
    return pairs
