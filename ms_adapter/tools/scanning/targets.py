"""How well a name of the API works on each target, and what MindSpore calls it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path

from .. import mapping, on_mindspore
from . import api
from .strategies import Strategy, strategy

CPU, MINDSPORE, ASCEND = "cpu", "mindspore", "ascend"
WORKS, PARTLY, MISSING, UNMEASURED, OUTSIDE = "works", "partly", "missing", "unmeasured", "outside"
PHASES = {"f": "forward", "s": "strided inputs", "g": "gradient", "m": "method", "i": "in-place", "o": "out="}


@dataclass(frozen=True)
class Status:
    """A name on one target: one of the words above, with the reason or the measurement."""

    word: str
    note: str = ""


@dataclass(frozen=True)
class Standing:
    """A name on all targets, and where it stands on the way to MindSpore."""

    name: str
    cpu: Status
    mindspore: Status
    ascend: Status
    record: mapping.Record | None = None  # the mapping to MindSpore's own names
    callables: str = ""  # what the device `mindspore` calls for it
    flags: tuple[str, ...] = field(default=())
    strategy: Strategy | None = None  # of a name that is missing

    @property
    def counterpart(self) -> str:
        """MindSpore's name for it."""
        return self.record.counterpart if self.record else ""

    @property
    def verdict(self) -> str:
        """How the two compare: identical, differs in ..., unmeasured, missing; nothing outside the map."""
        return self.record.summary if self.record else ""

    @property
    def differences(self) -> tuple[str, ...]:
        return tuple(f"{d.kind}: {d.text}" for d in self.record.differences) if self.record else ()

    @property
    def mapped(self) -> str:
        """MindSpore's name and the verdict in a line."""
        return f"{self.counterpart} ({self.verdict})" if self.counterpart else self.verdict

    def remark(self) -> str:
        """What a person has to know of it beside the words."""
        told = self.cpu.note if self.cpu.word in (MISSING, PARTLY, OUTSIDE) else ""
        return "; ".join(filter(None, (told, *self.flags)))


@functools.cache
def measured() -> dict[str, dict[str, str]]:
    """The last conformance run: operator -> dtype -> letters, a capital where something failed."""
    return json.loads((Path(__file__).parent.parent / "support.json").read_text())["items"]


def operator(name: str) -> str:
    """The key of a name in the measurements: `torch.Tensor.add_` and `torch.add` are `add`."""
    short = name.removeprefix("torch.").removeprefix("Tensor.")
    without = short[:-1] if short.endswith("_") and not short.endswith("__") else short
    tried = (short, without, f"nn.functional.{without}")
    return next((key for key in tried if key in measured()), "")


@functools.cache
def on_cpu(name: str) -> Status:
    """The built-in engine: measured operator by operator, and else by whether the name is there."""
    from ms_adapter.pytorch import _missing

    if not name.startswith("torch.") and name != "torch":
        return Status(OUTSIDE, "torchvision itself runs on ms_adapter: pip install --no-deps torchvision")
    for present in (False, True):
        if key := _missing.entry(name, present):
            return Status(MISSING, _missing.reasons(present)[key])
    if name in placeholders():
        return Status(MISSING, f"it can be imported, and raises when used: {placeholders()[name]}")
    if api.face(name) is None and not known_member(name):
        return Status(MISSING, "ms_adapter has no such name")
    return by_measurement(operator(name))


@functools.cache
def placeholders() -> dict[str, str]:
    """Names that only stand for what is missing, each with the reason."""
    from ms_adapter.pytorch import _placeholders

    modules = _placeholders.modules().items()
    return {f"torch.{module}.{name}": reason for module, (reason, names) in modules for name in names}


def known_member(name: str) -> bool:
    """Whether it is an attribute that objects of a class get when they are made."""
    cls, _, last = name.rpartition(".")
    return api.is_class(cls) and (api.face(cls) is not None) and api.member(cls, last) is not None


def by_measurement(item: str) -> Status:
    if not item:
        return Status(WORKS, "present; not in PyTorch's operator tables")
    failed: dict[str, list[str]] = {}
    for dtype, letters in measured()[item].items():
        for letter in letters:
            if letter in "-!":
                failed.setdefault("crash" if letter == "!" else "missing", []).append(dtype)
            elif letter.isupper() and letter.lower() in PHASES:
                failed.setdefault(PHASES[letter.lower()], []).append(dtype)
    if not failed:
        return Status(WORKS, f"measured: {', '.join(measured()[item])}")
    return Status(PARTLY, "differs in " + "; ".join(f"{p} ({', '.join(d)})" for p, d in failed.items()))


@functools.cache
def standing(name: str) -> Standing:
    """Everything that is known of a name."""
    cpu = on_cpu(name)
    found, record = callables(name), mapping.lookup(name)
    if cpu.word == MISSING:
        return Standing(name, cpu, cpu, cpu, record, found, flags(name), strategy(name))
    none = "the registry names no MindSpore callable of its own"
    note = f"declared: {found}" if found else none if operator(name) else "no operator: what it calls counts"
    return Standing(name, cpu, there(name, note), Status(UNMEASURED, note), record, found, flags(name))


def there(name: str, note: str) -> Status:
    """A name on the device `mindspore`, MindSpore's CPU target: as the stored run has it."""
    ran = on_mindspore.ran(name)
    if ran is None:
        return Status(UNMEASURED, note)
    return Status(PARTLY if ran.word == on_mindspore.DIFFERS else WORKS, ran.note())


def callables(name: str) -> str:
    """MindSpore's callables that the device `mindspore` tries for a name, best first."""
    return ", ".join(f"mindspore.{c}" for c in on_mindspore.candidates(name))


FLAGS = {
    "shape depends on data": """
        torch.nonzero torch.Tensor.nonzero torch.argwhere torch.unique torch.Tensor.unique
        torch.unique_consecutive torch.masked_select torch.Tensor.masked_select torch.Tensor.item
        torch.Tensor.tolist""",
    "sparse": """
        torch.sparse torch.sparse_coo_tensor torch.sparse_csr_tensor torch.Tensor.to_sparse
        torch.Tensor.coalesce""",
    "data processing (stays third-party)": """
        torchvision.transforms torchvision.datasets torchvision.io torchaudio""",
    "CUDA": "torch.cuda torch.Tensor.cuda torch.nn.Module.cuda torch.backends.cudnn",
    "custom CUDA extension": "torch.utils.cpp_extension",
    "distributed": "torch.distributed torch.nn.parallel torch.nn.DataParallel torch.multiprocessing.spawn",
}


def flags(name: str) -> tuple[str, ...]:
    """What a name says of the program beside whether it works."""
    return tuple(
        flag
        for flag, starts in FLAGS.items()
        if any(name == s or name.startswith(s + ".") for s in starts.split())
    )
