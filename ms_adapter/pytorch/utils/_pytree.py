"""Trees of containers: taken apart into leaves and a description, mapped, and put together again."""

import functools
import warnings
from collections import OrderedDict, defaultdict, deque
from typing import Any, TypeAlias

from ._pytree_nodes import (  # noqa: F401 - names that libraries take from here
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_predicate,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    namedtuple,
    node_type,
    register_dataclass,
)

PyTree: TypeAlias = Any  # for annotations
Context: TypeAlias = Any
_get_node_type = node_type  # the name that libraries take
# Libraries register classes that are dictionaries with the functions of dict, and so on.
for _short, _kind in {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "ordereddict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
    "namedtuple": namedtuple,
}.items():
    _node = SUPPORTED_NODES[_kind]
    globals()[f"_{_short}_flatten"] = _node.flatten_fn
    globals()[f"_{_short}_unflatten"] = _node.unflatten_fn
    globals()[f"_{_short}_flatten_with_keys"] = _node.flatten_with_keys_fn

__all__ = [
    "LeafSpec",
    "PyTreeSpec",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

_NO_NAME = "NO_SERIALIZED_TYPE_NAME_FOUND"
_serialized = {}  # class: (name, context to JSON, context from JSON)


class TreeSpec:
    """What a tree is like without its leaves: a leaf, or a kind of container with children."""

    def __init__(self, type, context, children_specs):
        self.type = type
        self._context = context
        self._children = list(children_specs)
        leaf = type is None
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if leaf else sum(child.num_leaves for child in self._children)
        self.num_children = len(self._children)

    @property
    def context(self):
        """What the container needs besides its children: the keys of a dictionary, for example."""
        return self._context

    @property
    def children_specs(self):
        """The children's descriptions."""
        return self._children

    def children(self):
        """The children's descriptions, in a list of their own."""
        return list(self._children)

    def child(self, index):
        """One child's description."""
        return self._children[index]

    def is_leaf(self):
        """Whether this stands for a leaf."""
        return self.type is None

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine, theirs = (
            (self.type, self._context, self._children),
            (other.type, other._context, other._children),
        )
        return self is other or mine == theirs

    def __hash__(self):
        context = tuple(self._context) if isinstance(self._context, list) else self._context
        return hash((self.type, str(context), tuple(self._children)))

    def __repr__(self, indent=0):
        if self.is_leaf():
            return "*"
        inner = (",\n" + " " * (indent + 2)).join(child.__repr__(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def unflatten(self, leaves):
        """The tree of this description with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                f"pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.is_leaf():
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree):
        """The parts of ``tree`` that stand where this description has leaves."""
        parts = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree, parts):
        if self.is_leaf():
            parts.append(tree)
            return
        for child, part in zip(self._children, self._children_of(tree), strict=True):
            child._collect(part, parts)

    def _children_of(self, tree):
        """The children of a tree that must be of this kind; dictionaries of all kinds match, in any order."""
        kind = node_type(tree)
        dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not self.type and not dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        if dicts:
            keys = SUPPORTED_NODES[self.type].flatten_with_keys_fn(
                SUPPORTED_NODES[self.type].unflatten_fn(self._children, self._context)
            )[0]
            keys = [key.key for key, _ in keys]
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                text = "Node keys mismatch"
                text += f"; missing key(s): {missing}" if missing else ""
                text += f"; extra key(s): {extra}" if extra else ""
                raise ValueError(text + ".")
            return [tree[key] for key in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if kind is not deque and context != self._context:
            raise ValueError(
                f"Node context mismatch for custom node type {kind!r}: {context!r} is not {self._context!r}."
            )
        return children


PyTreeSpec = TreeSpec
_LEAF = TreeSpec(None, None, [])


class LeafSpec(TreeSpec):
    """The description of a leaf."""

    def __new__(cls):
        return _LEAF


def treespec_leaf():
    """The description of a leaf."""
    return _LEAF


def treespec_tuple(iterable=()):
    """The description of a tuple of these descriptions."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping=(), /, **kwargs):
    """The description of a dictionary of these descriptions."""
    mapping = dict(mapping, **kwargs)
    return TreeSpec(dict, list(mapping), mapping.values())


# ---- taking apart and putting together ------------------------------------------------------------
def tree_is_leaf(tree, is_leaf=None):
    """Whether a tree is a leaf: of no kind of container, or one by ``is_leaf``."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def _flatten(tree, leaves, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree, is_leaf=None):
    """The list of a tree's leaves, and its description.

    >>> tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]
    """
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The tree of a description with these leaves.

    >>> leaves, spec = tree_flatten((1, [2]))
    >>> tree_unflatten([5, 6], spec)
    (5, [6])
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item "
            f"of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """Iterate over a tree's leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The list of a tree's leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """A tree's description."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return [*tree_leaves(args), *tree_leaves(kwargs)]


# ---- mapping --------------------------------------------------------------------------------------
def tree_map(func, tree, *rests, is_leaf=None):
    """A tree like ``tree`` with ``func`` of its leaves, and of what stands at the same places in the others.

    >>> tree_map(lambda x: x + 1, {"a": 1, "b": (2, 3)})
    {'a': 2, 'b': (3, 4)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call ``func`` on the leaves for what it does to them; gives ``tree`` itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kind, func, otherwise):
    """``func`` for what is of a kind (a type, types, or a predicate), ``otherwise`` for the rest."""
    chosen = kind if is_predicate(kind) else lambda x: isinstance(x, kind)
    return lambda x: func(x) if chosen(x) else otherwise(x)


def map_only(kind, /):
    """Decorates a function to change only what is of a kind."""
    return lambda func: functools.wraps(func)(_only(kind, func, lambda x: x))


def tree_map_only(kind, /, func, tree, is_leaf=None):
    """``tree_map`` for the leaves of a kind; the others stay.

    >>> tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    return tree_map(_only(kind, func, lambda x: x), tree, is_leaf=is_leaf)


def tree_map_only_(kind, /, func, tree, is_leaf=None):
    """``tree_map_`` for the leaves of a kind."""
    return tree_map_(_only(kind, func, lambda x: x), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether ``pred`` holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kind, /, pred, tree, is_leaf=None):
    """Whether ``pred`` holds for all leaves of a kind."""
    return tree_all(_only(kind, pred, lambda x: True), tree, is_leaf)


def tree_any_only(kind, /, pred, tree, is_leaf=None):
    """Whether ``pred`` holds for any leaf of a kind."""
    return tree_any(_only(kind, pred, lambda x: False), tree, is_leaf)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of ``tree`` repeated to fit a deeper description, or None where it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for child, spec in zip(children, treespec.children(), strict=True):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        result += flat
    return result


# ---- paths ----------------------------------------------------------------------------------------
def _walk_with_path(tree, path, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}: register one for it.")
    for key, child in flatten(tree)[0]:
        yield from _walk_with_path(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The list of a tree's leaves as pairs with their paths, tuples of keys."""
    return list(_walk_with_path(tree, (), is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """Pairs of path and leaf, and the tree's description."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """``tree_map`` with a function that takes the path first.

    >>> tree_map_with_path(lambda path, x: keystr(path), {"a": [1, 2]})
    {'a': ["['a'][0]", "['a'][1]"]}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*pairs, strict=True)] if pairs else [(), ()]
    return spec.unflatten(map(func, *columns, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp):
    """A path as text that leads there in Python."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- kinds of nodes, and descriptions as text -------------------------------------------------------
def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Let instances of ``cls`` be nodes.

    ``flatten_fn`` gives the children's list and a context, ``unflatten_fn`` the instance from the two.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serialized[cls] = (serialized_type_name or _NO_NAME, to_dumpable_context, from_dumpable_context)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, **options):
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    _serialized.pop(cls, None)


def _register_namedtuple(cls, *, serialized_type_name):
    """Give a namedtuple class the name it has in descriptions as text."""
    _serialized[cls] = (serialized_type_name, None, None)


from ._pytree_text import pytree_to_str, str_to_pytree, treespec_dumps, treespec_loads, treespec_pprint  # noqa: E402, F401
