"""Settings for all pipes of a graph: shares, shuffling, seeds."""

import inspect
import warnings

from ._utils import draw_seed
from .datapipes.iter.ordering import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph):
    """The pipes of a graph, each once, from the last to the first."""
    found = {}

    def collect(graph):
        for key, (pipe, below) in graph.items():
            if key not in found:
                found[key] = pipe
                collect(below)

    collect(graph)
    return list(found.values())


def _has_methods(pipe, *names):
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Tell the pipes that share out which share this process has.

    Raises RuntimeError where two of them follow each other: samples would be lost.
    """

    def apply(graph, above):
        for pipe, below in graph.values():
            shares = _has_methods(pipe, "apply_sharding")
            if shares and above is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {above} while trying to apply to {pipe}"
                )
            if shares:
                takes_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                group = {"sharding_group": sharding_group} if takes_group else {}
                pipe.apply_sharding(num_of_instances, instance_id, **group)
            apply(below, pipe if shares else above)

    apply(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe, shuffle=None):
    """Turn all shuffling in a graph on or off; None leaves it. Without any, ``True`` adds it at the end."""
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has_methods(pipe, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Give each random pipe of a graph a seed drawn from a generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """The older name of :func:`apply_random_seed`."""
    warnings.warn("`apply_shuffle_seed` is deprecated: use `apply_random_seed`.", FutureWarning, stacklevel=2)
    return apply_random_seed(datapipe, rng)
