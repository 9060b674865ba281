"""Matches a pattern, itself a graph, against parts of a graph."""

import copy
import dataclasses

from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclasses.dataclass
class InternalMatch:
    """One place where the pattern was found; ``anchors`` are the pattern's nodes that it began at."""

    anchors: list
    nodes_map: dict = dataclasses.field(default_factory=dict)
    placeholder_nodes: list = dataclasses.field(default_factory=list)
    returning_nodes: list = dataclasses.field(default_factory=list)
    name_node_map: dict = dataclasses.field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            anchors=self.anchors,
            nodes_map=self.nodes_map.copy(),
            placeholder_nodes=self.placeholder_nodes.copy(),
            returning_nodes=self.returning_nodes.copy(),
            name_node_map=self.name_node_map.copy(),
        )


class SubgraphMatcher:
    """Finds a pattern; its placeholders stand for anything, its last nodes are where the search begins.

    ``match_output`` and ``match_placeholder`` take the graph's output and inputs as part of what must match,
    ``ignore_literals`` lets plain arguments differ.
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users and node.op != "placeholder":
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:  # returned values that nothing but the output uses
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """The matches in ``graph``, as InternalMatch, from its start to its end.

        Inner nodes of a match have no users outside of it.
        """
        candidates = [
            [n for n in graph.nodes if self._nodes_equal(anchor, n)] for anchor in self.pattern_anchors
        ]
        found = [InternalMatch(anchors=[])]
        for anchor, places in zip(self.pattern_anchors, candidates):
            found = [
                made
                for match in found
                for place in places
                if (made := self._extend(match, anchor, place, node_name_match)) is not None
            ]
        found = [self._completed(match) for match in found if match.anchors and self._is_contained(match)]
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _extend(self, match, anchor, place, node_name_match):
        if node_name_match and node_name_match not in place.name:
            return None
        made = copy.copy(match)
        made.anchors = [*match.anchors, anchor]
        return made if self._match_nodes(anchor, place, made) else None

    def _completed(self, match):
        match.placeholder_nodes = [match.nodes_map.get(p) for p in self.pattern_placeholder_nodes]
        match.returning_nodes = [match.nodes_map[p] for p in self.pattern_returning_nodes]
        match.name_node_map = {p.name: n for p, n in match.nodes_map.items()}
        return match

    def _is_contained(self, match):
        """Whether what is inside of the match is used inside only."""
        inside = {n for p, n in match.nodes_map.items() if p.op != "placeholder" and isinstance(n, Node)}
        returned = {match.nodes_map.get(p) for p in self.pattern_returning_nodes}
        return all(n in returned or n.op == "get_attr" or set(n.users) <= inside for n in inside)

    @staticmethod
    def _without_overlaps(matches):
        kept, taken = [], set()
        for match in matches:
            inside = {
                n
                for p, n in match.nodes_map.items()
                if isinstance(n, Node) and p.op != "placeholder" and n.op != "get_attr"
            }
            if not inside & taken:
                kept.append(match)
                taken |= inside
        return kept

    # ---- one node against one node --------------------------------------------------------------
    def _nodes_equal(self, pattern, node):
        if pattern.op == "placeholder" and not self.match_placeholder:
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op in ("get_attr", "call_module"):
            return self._attributes_equal(pattern, node)
        return pattern.target == node.target

    @staticmethod
    def _attributes_equal(pattern, node):
        """Submodules match by type, other attributes by kind; without modules, by name."""
        owners = pattern.graph.owning_module, node.graph.owning_module
        if None in owners:
            return pattern.target == node.target
        values = [_attribute(owner, n.target) for owner, n in zip(owners, (pattern, node))]
        return type(values[0]) is type(values[1])

    def _match_nodes(self, pattern, node, match):
        if not isinstance(node, Node):
            return self._match_literal_input(pattern, node, match)
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if node in match.nodes_map.values() and pattern.op != "placeholder":
            return False
        if not self._nodes_equal(pattern, node):
            return False
        saved = dict(match.nodes_map)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        if self._match_values(pattern.args, node.args, match) and self._match_values(
            pattern.kwargs, node.kwargs, match
        ):
            return True
        match.nodes_map.clear()
        match.nodes_map.update(saved)
        return False

    def _match_literal_input(self, pattern, value, match):
        """A plain value where the pattern has a placeholder."""
        if pattern.op != "placeholder":
            return False
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] == value
        match.nodes_map[pattern] = value
        return True

    def _match_values(self, pattern, value, match):
        if isinstance(pattern, Node):
            return self._match_nodes(pattern, value, match)
        if isinstance(value, Node):
            return False
        if isinstance(pattern, (tuple, list)):
            if not isinstance(value, (tuple, list)) or len(pattern) != len(value):
                return False
            return all(self._match_values(p, v, match) for p, v in zip(pattern, value))
        if isinstance(pattern, dict):
            if not isinstance(value, dict) or pattern.keys() != value.keys():
                return False
            return all(self._match_values(p, value[key], match) for key, p in pattern.items())
        if isinstance(pattern, slice) and isinstance(value, slice):
            pairs = zip(
                (pattern.start, pattern.stop, pattern.step),
                (value.start, value.stop, value.step),
                strict=True,
            )
            return all(self._match_values(p, v, match) for p, v in pairs)
        return self.ignore_literals or type(pattern) is type(value) and pattern == value


def _attribute(module, target):
    for atom in target.split("."):
        module = getattr(module, atom)
    return module
