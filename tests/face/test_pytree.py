"""torch.utils._pytree: trees of every kind of container, apart and together, as PyTorch's."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch.utils._pytree as theirs

import ms_adapter.pytorch as face
import ms_adapter.pytorch.utils._pytree as ours

Pair = namedtuple("Pair", "x y")


@dataclasses.dataclass
class Record:
    size: int
    name: str
    rest: object = None


class Box:
    def __init__(self, content):
        self.content = content

    def __repr__(self):
        return f"Box({self.content})"

    def __eq__(self, other):
        return self.content == other.content


for _tree in (ours, theirs):
    _tree.register_dataclass(Record, serialized_type_name="Record")
    _tree.register_pytree_node(
        Box,
        lambda box: ([box.content], "lid"),
        lambda children, lid: Box(children[0]),
        serialized_type_name="Box",
        flatten_with_keys_fn=lambda box: ([(ours.GetAttrKey("content"), box.content)], "lid"),
    )
    _tree._register_namedtuple(Pair, serialized_type_name="Pair")

TREES = [
    1,
    None,
    [],
    {},
    [1, (2, [3]), {"b": 4, "a": [5]}],
    Pair(1, [2, Pair(3, 4)]),
    OrderedDict(b=1, a=(2,)),
    defaultdict(list, {"k": [1]}),
    deque([1, [2]], maxlen=5),
    Record(1, "n"),
    [Box([1, 2]), Record(3, "m", Box(4))],
    ("text", {1: b"bytes", "k": 4.5}),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_apart_and_together(tree):
    def scenario(p):
        leaves, spec = p.tree_flatten(tree)
        assert p.tree_unflatten(leaves, spec) == tree
        assert p.treespec_loads(p.treespec_dumps(spec)) == spec
        assert p.tree_leaves(tree) == leaves and list(p.tree_iter(tree)) == leaves
        counts = (spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf())
        paths = [(p.keystr(path), leaf) for path, leaf in p.tree_leaves_with_path(tree)]
        assert [p.key_get(tree, path) for path, _ in p.tree_leaves_with_path(tree)] == leaves
        mapped = p.tree_map(lambda x: [x, x], tree)
        return leaves, repr(spec), counts, paths, mapped, p.treespec_dumps(spec), p.treespec_pprint(spec)

    assert scenario(ours) == scenario(theirs)


def test_maps_and_filters(both):
    def scenario(t):
        p = ours if t is face else theirs
        tree, seen = {"a": [1, "x", 2.5], "b": (3, None)}, []
        p.tree_map_(seen.append, tree)
        return [
            seen,
            p.tree_map_only(int, lambda x: -x, tree),
            p.tree_map_only((int, str), repr, tree),
            p.tree_map_only(lambda x: x == 3, lambda x: "three", tree),
            p.tree_map(lambda x, y: (x, y), [1, (2, 3)], [[4], (5, {"k": 6})]),
            p.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, OrderedDict(b=10, a=20)),
            p.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: isinstance(x, list) and isinstance(x[0], int)),
            p.tree_map_with_path(lambda path, x, y: (p.keystr(path), x, y), [1, (2,)], [3, (4,)]),
            (p.tree_all(bool, [1, [2]]), p.tree_any(bool, [0, [0]])),
            (p.tree_all_only(int, bool, ["", 1]), p.tree_any_only(int, bool, ["x", 0])),
            p._broadcast_to_and_flatten(0, p.tree_structure([1, (2, 3)])),
            p._broadcast_to_and_flatten([0, 1], p.tree_structure([1, (2, 3)])),
            p._broadcast_to_and_flatten([0], p.tree_structure([1, (2, 3)])),
            p._broadcast_to_and_flatten((0, 1), p.tree_structure([1, (2, 3)])),
            p.tree_is_leaf([1]) or p.tree_is_leaf(1),
            p.tree_structure([1, 2]) == p.tree_structure([3, 4]),
            hash(p.tree_structure({"a": 1})) == hash(p.tree_structure({"a": 2})),
            p.tree_structure([1, (2, 3)]).flatten_up_to([{"k": 1}, ([5], 6)]),
        ]

    both(scenario)


def test_operators_results_are_nodes(both):
    def scenario(t):
        p = ours if t is face else theirs
        result = t.sort(t.tensor([3, 1, 2]))
        doubled = p.tree_map(lambda x: x * 2, result)
        names = (p.is_structseq(result), p.is_namedtuple(result), p.is_namedtuple(Pair), p.is_structseq(Pair))
        return type(doubled).__name__, doubled.values.tolist(), names, p.tree_leaves(t.Size([2, 3]))

    both(scenario)


def test_errors(both):
    def scenario(t):
        p = ours if t is face else theirs
        calls = [
            lambda: p.tree_map(max, [1, 2], [1]),
            lambda: p.tree_map(max, [1, 2], (1, 2)),
            lambda: p.tree_map(max, {"a": 1}, {"b": 1}),
            lambda: p.tree_unflatten([1], p.tree_structure([1, 2])),
            lambda: p.tree_unflatten([1], 3),
            lambda: p.register_pytree_node(list, None, None),
            lambda: p.treespec_dumps(p.tree_structure(namedtuple("Other", "x")(1))),
            lambda: p.treespec_loads('[1, {"type": "unknown", "context": "null", "children_spec": []}]'),
        ]
        trace = []
        for call in calls:
            with pytest.raises((ValueError, TypeError, NotImplementedError)) as caught:
                call()
            trace.append(caught.type.__name__)
        return trace

    both(scenario)


@pytest.mark.parametrize("kind", ["list", "tuple", "dict", "ordereddict", "defaultdict", "deque"])
def test_functions_of_a_kind(both, kind):
    """Libraries register their own dictionaries with the functions of dict."""
    trees = {
        "list": [1, 2],
        "tuple": (1, 2),
        "dict": {"b": 1, "a": 2},
        "ordereddict": OrderedDict(b=1, a=2),
        "defaultdict": defaultdict(list, b=1),
        "deque": deque([1, 2], maxlen=4),
    }

    def scenario(t):
        p = ours if t is face else theirs
        children, context = getattr(p, f"_{kind}_flatten")(trees[kind])
        pairs, _ = getattr(p, f"_{kind}_flatten_with_keys")(trees[kind])
        again = getattr(p, f"_{kind}_unflatten")(children, context)
        return list(children), [str(key) for key, _ in pairs], again

    both(scenario)
