"""PyTorch's public names, and for each the names of MindSpore that may do the same, most likely first."""

from __future__ import annotations

import functools
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from .. import support
from ..face import dotted

PAIRS = Path(__file__).resolve().parents[2] / "ms_adapter" / "tools" / "mapping" / "pairs.toml"
SPACES = (
    *("", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.Module", "nn.parameter"),
    *("optim", "optim.Optimizer", "optim.lr_scheduler", "linalg", "fft", "special", "signal.windows"),
    *("sparse", "masked", "distributions", "amp", "autograd", "utils.data", "distributed", "cuda"),
    *("func", "random", "jit", "onnx", "profiler", "nn.utils.rnn", "autograd.functional", "utils.checkpoint"),
)
OF_VALUES = ("", "Tensor", "nn.Module", "optim.Optimizer")
TYPES = (
    "Generator",
    "Size",
    "Stream",
    "Event",
    "device",
    "dtype",
    "finfo",
    "iinfo",
    "layout",
    "memory_format",
)
# Where a namespace's names may be found below mindspore, in this order.
HOMES = {
    "": ("mint.{}", "ops.{}", "{}"),
    "Tensor": ("Tensor.{}",),
    "nn": ("mint.nn.{}", "nn.{}"),
    "nn.functional": ("mint.nn.functional.{}", "ops.{}", "mint.{}"),
    "nn.Module": ("nn.Cell.{}",),
    "nn.parameter": ("{}",),
    "optim": ("mint.optim.{}", "experimental.optim.{}", "nn.{}"),
    "optim.Optimizer": ("experimental.optim.Optimizer.{}", "nn.Optimizer.{}"),
    "optim.lr_scheduler": ("experimental.optim.lr_scheduler.{}",),
    "linalg": ("mint.linalg.{}", "mint.{}", "ops.{}"),
    "fft": ("ops.{}",),
    "special": ("mint.special.{}", "mint.{}", "ops.{}"),
    "signal.windows": ("ops.{}_window",),
    "distributions": ("nn.probability.distribution.{}",),
    "distributed": ("mint.distributed.{}",),
    "cuda": ("runtime.{}",),
}


@functools.cache
def pairs() -> dict[str, dict[str, dict[str, Any]]]:
    """The hand-kept part: PyTorch's name -> MindSpore's -> what is to be known of the two."""
    content = tomllib.loads(PAIRS.read_text())
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for name, words in content["names"].items():
        made[name] = {f"mindspore.{word}": {} for word in ([words] if isinstance(words, str) else words)}
    for pair in content["pair"]:
        for name in [pair["torch"]] if isinstance(pair["torch"], str) else pair["torch"]:
            target = pair["mindspore"].format(split(name)[1])
            made.setdefault(name, {})[f"mindspore.{target}"] = pair
    return made


def details(path: str, target: str) -> dict[str, Any]:
    """What the hand-kept part says of a pair."""
    return pairs().get(path, {}).get(target, {})


def all_names() -> Iterator[str]:
    """Every public name, as `torch.nn.functional.relu`."""
    seen = set()
    for space in SPACES:
        for name in support.public_names(space):
            path = ".".join(filter(None, ("torch", space, name)))
            if path not in seen and _counts(space, name):
                seen.add(path)
                yield path
    yield from (name for name in pairs() if name not in seen and dotted(torch, name) is not None)


def _counts(space: str, name: str) -> bool:
    """Whether a name is the namespace's own, and not shown only because its source imports it."""
    found = getattr(dotted(torch, space), name, None)
    if space == "nn.Module" and name.startswith("__") or isinstance(found, types.ModuleType):
        return False
    if space and getattr(dotted(torch, space.rpartition(".")[0]), name, None) is found:
        return False
    if space not in OF_VALUES and not callable(found):
        return False
    made_in_c = "pybind11_type" in (type(found).__name__, type(type(found)).__name__)
    if not space and made_in_c and name not in TYPES:
        return False  # the JIT's inside
    home = getattr(found, "__module__", None) or "torch"
    return space == "Tensor" or isinstance(home, str) and home.partition(".")[0] == "torch"


def split(path: str) -> tuple[str, str]:
    """('nn.functional', 'relu') for 'torch.nn.functional.relu'."""
    space, _, name = path.removeprefix("torch").lstrip(".").rpartition(".")
    return space, name


def candidates(path: str) -> list[str]:
    """Dotted names below mindspore that may do the same."""
    space, name = split(path)
    words = [home.format(name) for home in HOMES.get(space, ())] + _declared(path)
    found = dict.fromkeys([*pairs().get(path, {}), *(f"mindspore.{word}" for word in words)])
    return [name for name in found if name.removeprefix("mindspore.") not in _apart().get(path, ())]


@functools.cache
def _apart() -> dict[str, list[str]]:
    return tomllib.loads(PAIRS.read_text())["apart"]


def _declared(path: str) -> list[str]:
    """The callables of the registry's row, those that need an adapter too: they nearly do it."""
    space, name = split(path)
    row = support._rows().get(f"{space}.{name}".lstrip("."))
    if row is None or space == "Tensor" or name.endswith("_"):
        return []
    words = (word.rpartition(":")[2] for word in row.fields.get("ms", []) if word[0] not in "!?")
    return [word for word in words if "." in word]
