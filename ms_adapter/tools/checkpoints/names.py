"""The rules that turn PyTorch's names and shapes of parameters into MindSpore's, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import prod

from ms_adapter.tools.formats.entry import Entry
from ms_adapter.tools.frame import ToolError

Shape = tuple[int, ...]
Change = tuple[str, Shape, str]  # last part of the name, shape, rule

_AS_IS = "as it is"
_TO_MINDSPORE = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean",
                 "running_var": "moving_variance"}  # fmt: skip
_TO_TORCH = {theirs: ours for ours, theirs in _TO_MINDSPORE.items()}
_DENSE = {"linear1": "dense1", "linear2": "dense2"}
_LINEAR = {theirs: ours for ours, theirs in _DENSE.items()}
_NOT_EMBEDDINGS = {"proj", "projection", "out", "linear", "fc", "head", "norm", "ln"}
_COUNTER = "num_batches_tracked"


@dataclass
class Options:
    """What the user knows and the file does not tell; patterns are those of shells, for modules' names."""

    embedding: list[str] = field(default_factory=list)
    conv1d: list[str] = field(default_factory=list)
    rename: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    mint: bool = False
    like: list[Entry] | None = None


@dataclass
class Move:
    """One tensor's way: `new` is None where it is left out, `source` is None where it is made here."""

    source: Entry | None
    new: str | None
    shape: Shape
    rule: str

    @property
    def old(self) -> str | None:
        """Its name in the file that is read."""
        return self.source.name if self.source else None

    def made(self) -> Entry:
        """The tensor as it is to be written; one that is made here is the int64 0."""
        source = self.source or Entry("", "int64", memory=bytearray(8))
        return replace(source, name=self.new or "", shape=self.shape)

    def to_dict(self) -> dict[str, object]:
        """The row of `--json`."""
        was = list(self.source.shape) if self.source else None
        return {"from": self.old, "to": self.new, "shape_from": was, "shape_to": list(self.shape),
                "dtype": self.source.dtype if self.source else "int64", "rule": self.rule}  # fmt: skip


class _File:
    """A file's entries with what a rule asks about them."""

    def __init__(self, entries: Iterable[Entry], options: Options) -> None:
        self.shapes = {entry.name: entry.shape for entry in entries}
        self.options = options
        kernels = [s for name, s in self.shapes.items() if _split(name)[1] == "weight" and len(s) == 4]
        self.is_1d = all(s[2] == 1 for s in kernels) and any(s[3] > 1 for s in kernels)

    def has(self, module: str, leaf: str) -> bool:
        """Whether the module has a tensor of that name."""
        return _join(module, leaf) in self.shapes

    def to_mindspore(self, module: str, leaf: str, shape: Shape) -> Change | None:
        """A tensor of PyTorch in MindSpore's terms; None where MindSpore has no place for it."""
        if self.has(module, "running_mean") and leaf in (*_TO_MINDSPORE, _COUNTER):
            return (_TO_MINDSPORE[leaf], shape, "BatchNorm") if leaf != _COUNTER else None
        if self._is_norm(module) and leaf in ("weight", "bias"):
            return _TO_MINDSPORE[leaf], shape, "LayerNorm or GroupNorm"
        if leaf != "weight":
            return leaf, shape, _AS_IS
        if len(shape) == 1 and "prelu" in _last(module):
            return "w", shape, "PReLU"
        if len(shape) == 3 and "bilinear" not in _last(module):
            return leaf, (*shape[:2], 1, shape[2]), "Conv1d: an axis more"
        if len(shape) == 2 and _matches(module, self.options.embedding):
            return "embedding_table", shape, "Embedding (--embedding)"
        if len(shape) == 2 and not self.has(module, "bias") and _sounds_like_embedding(module):
            return "embedding_table", shape, "Embedding, by its name"
        return leaf, shape, _AS_IS

    def _is_norm(self, module: str) -> bool:
        weight = self.shapes.get(_join(module, "weight"))
        bias = self.shapes.get(_join(module, "bias"))
        if weight is None or "prelu" in _last(module):
            return False
        return weight == bias and len(weight) > 0 or len(weight) == 1 and bias is None

    def to_torch(self, module: str, leaf: str, shape: Shape) -> Change | None:
        """A tensor of MindSpore in PyTorch's terms."""
        if leaf in _TO_TORCH and not self.has(module, _TO_TORCH[leaf]):
            rule = "BatchNorm" if self.has(module, "moving_mean") else "LayerNorm or GroupNorm"
            return _TO_TORCH[leaf], shape, rule
        if leaf == "embedding_table":
            return "weight", shape, "Embedding"
        if leaf in ("w", "a") and len(shape) == 1 and "prelu" in _last(module):
            return "weight", shape, "PReLU"
        if leaf == "weight" and len(shape) == 4 and shape[2] == 1:
            squeezed = (*shape[:2], shape[3])
            if _matches(module, self.options.conv1d):
                return leaf, squeezed, "Conv1d (--conv1d)"
            if self.is_1d and not self.options.conv1d:
                return leaf, squeezed, "Conv1d: all kernels of the file have height 1"
            if shape[3] > 1:
                return leaf, shape, "as it is; if it is a Conv1d: --conv1d"
        return leaf, shape, _AS_IS


def plan(entries: list[Entry], direction: str, options: Options) -> list[Move]:
    """Where each tensor goes; `direction` is "mindspore", "torch" or "same".

    Raises:
        ToolError: two tensors would get one name.
    """
    file = _File(entries, options)
    rule = {"mindspore": file.to_mindspore, "torch": file.to_torch}.get(direction, _keep)
    if options.mint:
        rule = _keep
    known = {entry.name: entry.shape for entry in options.like} if options.like is not None else {}
    moves = []
    for entry in entries:
        move = _move(entry, rule)
        if rule is not _keep:
            move = _in_a_transformer(move, file.shapes, _DENSE if direction == "mindspore" else _LINEAR)
        if known:
            move = _as_in(known, move)
        moves.append(move)
        if direction == "torch" and not options.mint and _split(entry.name)[1] == "moving_mean":
            counter = _join(_split(entry.name)[0], _COUNTER)
            moves.append(Move(None, counter, (), "BatchNorm: added, 0"))
    for move in moves:
        _rename(move, options)
    _refuse_doubles(moves)
    return moves


def missing(moves: list[Move], like: list[Entry]) -> list[str]:
    """What the two files do not share, in words: names and shapes."""
    wanted = {entry.name: entry.shape for entry in like}
    made = {move.new: move.shape for move in moves if move.new is not None}
    found = [f"{name}: the reference has it, this file does not" for name in wanted if name not in made]
    found += [f"{name}: the reference does not have it" for name in made if name not in wanted]
    found += [f"{name}: its shape is {shape}, the reference's {wanted[name]}"
              for name, shape in made.items() if wanted.get(name, shape) != shape]  # fmt: skip
    return found


def _keep(module: str, leaf: str, shape: Shape) -> Change | None:
    return leaf, shape, _AS_IS


def _move(entry: Entry, rule: Callable[[str, str, Shape], Change | None]) -> Move:
    module, leaf = _split(entry.name)
    change = rule(module, leaf, entry.shape)
    if change is None:
        return Move(entry, None, entry.shape, "BatchNorm: left out, MindSpore does not count batches")
    return Move(entry, _join(module, change[0]), change[1], change[2])


def _in_a_transformer(move: Move, shapes: dict[str, Shape], renamed: dict[str, str]) -> Move:
    """MindSpore has other names for the two linear layers of a TransformerEncoderLayer or DecoderLayer, which
    is known by its `self_attn` and `norm1`."""
    module, leaf = _split(move.new or "")
    layer, part = _split(module)
    norms = (_join(layer, "norm1.weight"), _join(layer, "norm1.gamma"))
    is_one = _join(layer, "self_attn.in_proj_weight") in shapes and any(norm in shapes for norm in norms)
    if part in renamed and is_one:
        return replace(move, new=_join(layer, f"{renamed[part]}.{leaf}"), rule="TransformerLayer")
    return move


def _as_in(known: dict[str, Shape], move: Move) -> Move:
    """The move to the name and shape that the reference has for this tensor, if it has one."""
    if move.source is None:
        return move
    module, leaf = _split(move.source.name)
    others = [*_TO_MINDSPORE.items(), *_TO_TORCH.items(), ("weight", "embedding_table"),
              ("embedding_table", "weight"), ("weight", "w"), ("w", "weight")]  # fmt: skip
    names = [move.new, move.source.name, *(_join(module, theirs) for ours, theirs in others if ours == leaf)]
    for name in names:
        shape = known.get(name) if name is not None else None
        if shape is not None and _without_ones(shape) == _without_ones(move.source.shape):
            if (name, shape) == (move.new, move.shape):
                return move
            return Move(move.source, name, shape, "as in the reference (--like)")
    return move


def _without_ones(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1) if prod(shape) else shape


def _rename(move: Move, options: Options) -> None:
    for pattern, text in options.rename:
        if move.new is not None:
            new = pattern.sub(text, move.new)
            if new != move.new:
                move.new, move.rule = new, f"{move.rule}; --rename"


def _refuse_doubles(moves: list[Move]) -> None:
    taken: dict[str, Move] = {}
    for move in moves:
        if move.new is None:
            continue
        first = taken.setdefault(move.new, move)
        if first is not move:
            raise ToolError(
                f"{first.old or 'a counter'} and {move.old or 'a counter'} would both be called {move.new}; "
                "give one of them another name with --rename 'PATTERN=>TEXT'."
            )
        if not move.new:
            raise ToolError(f"--rename leaves no name for {move.old}.")


def _split(name: str) -> tuple[str, str]:
    module, _, leaf = name.rpartition(".")
    return module, leaf


def _join(module: str, leaf: str) -> str:
    return f"{module}.{leaf}" if module else leaf


def _last(module: str) -> str:
    """The module's own name, in lower case; the one around it where that is a number."""
    parts = [part for part in module.lower().split(".") if not part.isdigit()]
    return parts[-1] if parts else ""


def _matches(module: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in patterns)


def _sounds_like_embedding(module: str) -> bool:
    words = _last(module).split("_")
    if _NOT_EMBEDDINGS.intersection(words):
        return False
    return any(word.startswith("emb") or word in ("wte", "wpe") for word in words)
