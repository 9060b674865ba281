"""Modules of PyTorch that can be imported and raise when used: placeholders.toml names them, with the reason.

Libraries import classes of FSDP or of exporters only to ask ``isinstance(model, FSDP)``, to which False is
the right answer here. A placeholder class has no instances, and making one raises.
"""

import functools
import importlib.abc
import importlib.machinery
import sys
import tomllib
from pathlib import Path

_OURS = __name__.rpartition(".")[0]
TABLE = Path(__file__).with_name("placeholders.toml")
_met = {}


def met():
    """What was taken from placeholders so far: full name -> whether it was used, and so raised an error."""
    return dict(_met)


def _entries():
    return tomllib.loads(TABLE.read_text())["placeholder"]


@functools.cache
def _single():
    """Full name -> its placeholder, for names of modules that are here."""
    made = {}
    for entry in _entries():
        for full in entry.get("names", "").split():
            _, *module, name = full.split(".")
            made[full] = _make(".".join(module), name, entry["reason"])
        # Nothing has this dtype or setting: it equals itself only.
        made |= {full: _Constant(full) for full in entry.get("constants", "").split()}
    return made


def find(name):
    """The placeholder of a name such as `torch.float8_e5m2` in a module that is here, or None."""
    found = _single().get(name)
    if found is not None:
        _met.setdefault(name, False)
    return found


@functools.cache
def modules():
    """Module name, without ``torch.`` -> (reason, the names it has)."""
    table = {}
    for entry in _entries():
        for name, members in entry.get("modules", {}).items():
            table[name] = (entry["reason"], members.split())
            parent = name.rpartition(".")[0]
            while parent:  # the packages above it can be imported, too
                table.setdefault(parent, (entry["reason"], []))
                parent = parent.rpartition(".")[0]
    return table


def _refuse(name, reason):
    _met[name] = True
    raise NotImplementedError(f"{name}: {reason}. ms_adapter has the name so that it can be imported.")


class _Constant:
    """A placeholder for a constant or a member of an enumeration: equal to itself only."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"<{self._name}>"


class _Placeholder(type):
    """The type of placeholder classes: they take part in isinstance and annotations, and cannot be made."""

    def __call__(cls, *args, **kwargs):
        _refuse(cls._public_name, cls._reason)

    def __getattr__(cls, name):
        if name.startswith("_") or not name.isupper():
            raise AttributeError(f"{cls._public_name}.{name}: {cls._reason}")
        constant = _Constant(f"{cls._public_name}.{name}")
        setattr(cls, name, constant)
        return constant

    def __getitem__(cls, item):  # in an annotation
        return cls

    def __or__(cls, other):
        return cls if other is None or isinstance(other, type) else NotImplemented

    __ror__ = __or__


def _is_class(name):
    return name.lstrip("_")[:1].isupper()


def _make(module, name, reason):
    full, where = (".".join(filter(None, parts)) for parts in (("torch", module, name), (_OURS, module)))
    if _is_class(name):
        body = {"_public_name": full, "_reason": reason, "__module__": where}
        return _Placeholder(name, (), body | {"__doc__": f"Cannot be made: {reason}."})

    def function(*args, **kwargs):
        _refuse(full, reason)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises NotImplementedError: {reason}."
    function.__module__ = where
    return function


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__[len(_OURS) + 1 :]
        reason, members = modules()[name]
        module.__doc__ = f"torch.{name}: {reason}."
        made = {}

        def __getattr__(member):
            if member in members:
                _met.setdefault(f"torch.{name}.{member}", False)
                if member not in made:
                    made[member] = _make(name, member, reason)
                return made[member]
            raise AttributeError(
                f"module 'torch.{name}' has no attribute '{member}' in ms_adapter: {reason}."
            )

        module.__getattr__ = __getattr__
        module.__all__ = list(members)


class _Finder(importlib.abc.MetaPathFinder):
    """Comes last: a module that exists is never hidden by a placeholder."""

    def find_spec(self, fullname, path, target=None):
        name = fullname[len(_OURS) + 1 :]
        if not fullname.startswith(_OURS + ".") or name not in modules():
            return None
        below = any(other.startswith(name + ".") for other in modules())
        return importlib.machinery.ModuleSpec(fullname, _Loader(), origin=str(TABLE), is_package=below)


def install():
    """Let the placeholders be imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
