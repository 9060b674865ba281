"""The pipes that a datapipe reads, found in its attributes."""

import warnings
from collections.abc import Mapping

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

_PIPES = (IterDataPipe, MapDataPipe)


def _connected(value):
    """The pipes in a value, within containers too."""
    if isinstance(value, _PIPES):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return []
    return [pipe for item in value for pipe in _connected(item)]


def traverse_dps(datapipe):
    """The graph of a pipe: {id: (pipe, graph of what it reads)}.

    >>> from .datapipes.iter import IterableWrapper
    >>> source = IterableWrapper([1])
    >>> graph = traverse_dps(source.batch(1))
    >>> [list(below) == [id(source)] for _, below in graph.values()]
    [True]
    """
    return _graph(datapipe, frozenset())


def _graph(datapipe, above):
    if not isinstance(datapipe, _PIPES):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    if id(datapipe) in above:
        return {}
    below = {}
    for pipe in _connected(vars(datapipe)):
        below.update(_graph(pipe, above | {id(datapipe)}))
    return {id(datapipe): (datapipe, below)}


def traverse(datapipe, only_datapipe=None):
    """The older name of :func:`traverse_dps`."""
    warnings.warn("`traverse` is deprecated: use `traverse_dps`.", FutureWarning, stacklevel=2)
    return traverse_dps(datapipe)
