"""Finds parts of a graph that look like a pattern and puts other nodes in their place."""

import dataclasses
import typing

import ms_adapter.pytorch as torch

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import _assign_attr
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(typing.NamedTuple):
    """Where a pattern was found: the pattern's last node, and the graph's node for each of the pattern's."""

    anchor: Node
    nodes_map: dict


@dataclasses.dataclass
class ReplacedPatterns:
    """As ``Match``, with the nodes that were put there."""

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm, pattern, replacement):
    """Puts ``replacement`` wherever ``gm`` does what ``pattern`` does; both are functions or modules of
    tensors.

    Matches do not overlap. Returns the list of Match; ``gm`` is recompiled.

    >>> import ms_adapter.pytorch as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> matches = torch.fx.replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    >>> len(matches), print(traced.code.strip())
    def forward(self, x):
        add = x + 1;  x = None
        sigmoid = torch.sigmoid(add);  add = None
        return sigmoid
    (1, None)
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=found.anchor, nodes_map=found.nodes_map) for found in replaced]


def replace_pattern_with_filters(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
    node_name_match="",
):
    """As :func:`replace_pattern`, where all of ``match_filters(match, graph, pattern graph)`` hold.

    ``replacement_callback(match, graph, pattern graph)`` makes a replacement graph for each match instead.
    Returns the list of ReplacedPatterns.
    """
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, remove_overlapping_matches=True, ignore_literals=ignore_literals)
    found = [
        match
        for match in matcher.match(gm.graph, node_name_match)
        if all(keep(match, gm.graph, pattern_graph) for keep in match_filters or ())
    ]
    done, renamed = [], {}
    for match in found:
        if replacement_callback is not None:
            graph = replacement_callback(match, gm.graph, pattern_graph)
        else:
            graph = _graph_of(replacement)
        done.append(_replace(gm, match, graph, renamed))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _take_attributes(gm, replacement)
    return done


def _graph_of(what):
    if isinstance(what, Graph):
        return what
    return what.graph if hasattr(what, "graph") else symbolic_trace(what).graph


def _replace(gm, match, graph, renamed):
    """Puts a copy of ``graph`` in the place of one match; ``renamed``: what earlier replacements put for
    nodes.
    """
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(match.placeholder_nodes):
        raise AssertionError(
            f"replace_pattern: the pattern has {len(match.placeholder_nodes)} inputs, the replacement "
            f"{len(placeholders)}."
        )
    inputs = [renamed.get(node, node) for node in match.placeholder_nodes]
    values = dict(zip(placeholders, inputs))
    matched = set(match.nodes_map.values())
    first_use = next(n for n in gm.graph.nodes if n in matched and n not in match.placeholder_nodes)
    with gm.graph.inserting_before(_after_inputs(gm.graph, inputs, first_use)):
        returned = gm.graph.graph_copy(graph, values)
    new = returned if isinstance(returned, (tuple, list)) else (returned,)
    if len(new) != len(match.returning_nodes):
        raise AssertionError(
            f"replace_pattern: the pattern returns {len(match.returning_nodes)} values, the replacement "
            f"{len(new)}."
        )
    for old, made in zip(match.returning_nodes, new):
        if isinstance(made, Node):
            old.replace_all_uses_with(made)
            renamed[old] = made
    for node in reversed(list(gm.graph.nodes)):
        inner = node in matched and node.op not in ("placeholder", "output")
        if inner and node not in match.placeholder_nodes and not node.users:
            gm.graph.erase_node(node)
    nodes_map = {p: renamed.get(n, n) if p.op == "placeholder" else n for p, n in match.nodes_map.items()}
    made = [n for p, n in values.items() if p.op != "placeholder" and isinstance(n, Node)]
    return ReplacedPatterns(anchor=match.anchors[0], nodes_map=nodes_map, replacements=made)


def _after_inputs(graph, inputs, default):
    """The first node after all inputs, not before ``default``."""
    waiting = {node for node in inputs if isinstance(node, Node)}
    reached = False
    for node in graph.nodes:
        reached = reached or node is default
        if reached and not waiting:
            return node
        waiting.discard(node)
    return default


def _take_attributes(gm, replacement):
    """Attributes that the replacement's nodes refer to and ``gm`` lacks; those that nothing uses go."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        place, missing = gm, False
        for atom in node.target.split("."):
            missing = missing or not hasattr(place, atom)
            place = None if missing else getattr(place, atom)
        if missing:
            source = replacement
            for atom in node.target.split("."):
                source = getattr(source, atom)
            _assign_attr(source, gm, node.target)
    gm.graph.lint()
