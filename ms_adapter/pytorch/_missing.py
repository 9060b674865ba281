"""What a name that PyTorch has and we lack answers: an AttributeError with the reason and what to do next."""

import fnmatch
import functools
import importlib
import sys
import tomllib
from pathlib import Path

from . import _placeholders

_OURS = __name__.rpartition(".")[0]
TABLE = Path(__file__).with_name("absent.toml")


@functools.cache
def table(present=False):
    """Dotted name or pattern -> its entry of absent.toml: of what is missing, or is there only to raise."""
    entries = tomllib.loads(TABLE.read_text())["absent"]
    chosen = [entry for entry in entries if entry.get("present", False) == present]
    return {name: entry for entry in chosen for name in " ".join(entry["names"]).split()}


@functools.cache
def reasons(present=False):
    """Dotted name or pattern -> reason."""
    return {name: entry["reason"] for name, entry in table(present).items()}


def entry(name, present=False):
    """The key of :func:`reasons` that covers a dotted name, itself before any pattern, or None."""
    known = reasons(present)
    if name in known:
        return name
    same = [p for p in known if p.count(".") == name.count(".")]  # * stands for no point
    return next((p for p in same if fnmatch.fnmatchcase(name, p)), None)


def attach(module_name):
    """Give a module of the face the ``__getattr__`` that explains a missing name."""
    vars(sys.modules[module_name]).setdefault("__getattr__", functools.partial(explain, module_name))


def explain(module_name, name):
    """The placeholder for a name that a module of the face lacks, else an AttributeError with the reason."""
    public = "torch" + module_name[len(_OURS) :]
    start = f"module '{public}' has no attribute '{name}'"
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(start)
    if f"{public}.{name}"[len("torch.") :] in _placeholders.modules():
        return importlib.import_module(f"{module_name}.{name}")
    if (placeholder := _placeholders.find(f"{public}.{name}")) is not None:
        return placeholder
    if key := entry(f"{public}.{name}"):
        raise AttributeError(f"{start} in ms_adapter: {reasons()[key]}.")
    raise AttributeError(
        f"{start} in ms_adapter. If PyTorch 2.13 has {public}.{name}, it is not supported yet: "
        "docs/support.md lists what is, docs/adding-an-operator.md shows how an operator is added."
    )


def attach_everywhere():
    """Do so for every module of the face that is loaded and public."""
    for name in list(sys.modules):
        if (name == _OURS or name.startswith(_OURS + ".")) and "._" not in name[len(_OURS) :]:
            attach(name)
