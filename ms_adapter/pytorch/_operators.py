"""Puts the registry's operators where PyTorch has them; the registry is the only list of their names."""

import importlib
import sys
import types

from ms_adapter import _C

_ROOT = __name__.rpartition(".")[0]


class Rows:
    """The operators of one namespace as attributes, looked up once each.

    A name is searched in the namespace first, then among the top-level functions; what the registry lacks is
    a NotImplementedError naming it.
    """

    def __init__(self, namespace):
        self.__dict__["_namespace"] = namespace

    def __getattr__(self, name):
        if name.startswith("__"):  # Python's own questions
            raise AttributeError(name)
        found = _C.functions.get(f"{self._namespace}.{name}") or _C.functions.get(name)
        if found is None:
            raise NotImplementedError(
                f"torch.{self._namespace}.{name}: ms_adapter has no operator '{name}' yet. "
                "docs/adding-an-operator.md shows how one is added; docs/operators.md lists those there are."
            )
        self.__dict__[name] = found
        return found


def install():
    """Set each operator in its module; a function the face wrote in Python there stays."""
    for dotted, function in _C.functions.items():
        namespace, _, name = dotted.rpartition(".")
        module = _module(namespace)
        if name not in vars(module):
            setattr(module, name, function)


def _module(namespace):
    """The face's module for a dotted namespace, made here where it has no file of its own."""
    full = f"{_ROOT}.{namespace}" if namespace else _ROOT
    if full in sys.modules:
        return sys.modules[full]
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as err:
        if err.name != full:
            raise
    module = types.ModuleType(full, f"The operators of torch.{namespace}.")
    module.__package__ = full
    sys.modules[full] = module
    parent, _, name = full.rpartition(".")
    setattr(sys.modules[parent], name, module)
    return module
