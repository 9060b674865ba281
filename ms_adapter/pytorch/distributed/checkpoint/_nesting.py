"""Nested states as flat ones: each value under its path, joined by points."""

from collections.abc import Mapping

import ms_adapter.pytorch as torch


def _holds_tensors(value):
    """Whether a list is taken apart: where it has a mapping or a tensor, at any depth."""
    if isinstance(value, list):
        return any(_holds_tensors(part) for part in value)
    return isinstance(value, (Mapping, torch.Tensor))


def flatten(state):
    """({name: value}, {name: path}) of a nested state; ValueError where two values have one name.

    Tuples stay whole and empty mappings are left out, as PyTorch does it.
    """
    flat, paths = {}, {}

    def visit(path, value):
        if isinstance(value, Mapping):
            for key, part in value.items():
                visit((*path, str(key)), part)
        elif isinstance(value, list) and _holds_tensors(value):
            for index, part in enumerate(value):
                visit((*path, index), part)
        else:
            name = ".".join(map(str, path))
            if name in flat:
                raise ValueError(f"save: two values of the state have the name {name!r}: rename one")
            flat[name], paths[name] = value, path

    for key, value in state.items():
        visit((str(key),), value)
    return flat, paths


def put(state, path, value):
    """Put a value into a nested state, with the mappings and lists that lead to it where they lack."""
    here = state
    for step, following in zip(path[:-1], path[1:], strict=True):
        here = _entered(here, step, [] if isinstance(following, int) else {})
    _entered(here, path[-1], None)
    here[_key(here, path[-1])] = value


def _key(holder, step):
    """The key itself where it is no text: the path has its text."""
    if isinstance(holder, Mapping) and step not in holder:
        return next((key for key in holder if str(key) == step), step)
    return step


def _entered(holder, step, fresh):
    """What a step leads to, `fresh` where it leads nowhere yet."""
    if isinstance(holder, list):
        holder.extend([None] * (step + 1 - len(holder)))
        if holder[step] is None:
            holder[step] = fresh
        return holder[step]
    return holder.setdefault(_key(holder, step), fresh)
