"""The kinds of containers that trees are made of: how each is taken apart, put together and named."""

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

from ms_adapter import _C


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a list or tuple."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What stands there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a dictionary."""

    key: object

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What stands there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """What stands there."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How one class of containers is handled.

    ``flatten_fn`` gives children and a context, ``unflatten_fn`` the container from these, and
    ``flatten_with_keys_fn`` the children as pairs with their keys.
    """

    type: type
    flatten_fn: object
    unflatten_fn: object
    flatten_with_keys_fn: object


SUPPORTED_NODES = {}
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def _with_keys(key_class, flatten):
    """The flattening with keys: the children's positions, or what the context calls them."""

    def flatten_with_keys(container):
        children, context = flatten(container)
        keys = range(len(children)) if key_class is SequenceKey else _names_of(container, context)
        return [(key_class(key), child) for key, child in zip(keys, children, strict=True)], context

    return flatten_with_keys


def _names_of(container, context):
    if isinstance(container, defaultdict):
        return context[1]
    return container._fields if hasattr(container, "_fields") else context


def _add(cls, flatten, unflatten, key_class=SequenceKey):
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, _with_keys(key_class, flatten))


# A key for all namedtuple classes: a class stands for itself in the context.
def namedtuple(*_):
    """Stands for every namedtuple class among the kinds of nodes."""
    raise TypeError("this name stands for a kind of tree node: use collections.namedtuple.")


def _unflatten_structseq(children, context):
    return context(children)


_add(list, lambda x: (x, None), lambda children, _: list(children))
_add(tuple, lambda x: (list(x), None), lambda children, _: tuple(children))
_add(_C.Size, lambda x: (list(x), None), lambda children, _: tuple(children))
_add(deque, lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen=maxlen))
_add(
    dict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: dict(zip(keys, children, strict=True)),
    MappingKey,
)
_add(
    OrderedDict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: OrderedDict(zip(keys, children, strict=True)),
    MappingKey,
)
_add(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    MappingKey,
)
_add(namedtuple, lambda x: (list(x), type(x)), lambda children, cls: cls(*children), GetAttrKey)
for _cls in set(_C.return_types.values()):
    _add(_cls, lambda x: (list(x), type(x)), _unflatten_structseq)


def is_namedtuple_class(cls):
    """Whether a class is a namedtuple's."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(field, str) for field in fields)
        and callable(getattr(cls, "_make", None))
    )


def is_namedtuple_instance(obj):
    """Whether an object is a namedtuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether a class, or the class of an object, is a namedtuple's."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a class is one of C's named tuples, as operators with several results return."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in ("n_sequence_fields", "n_fields"))
    )


def is_structseq_instance(obj):
    """Whether an object is one of C's named tuples."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether a class, or the class of an object, is one of C's named tuples."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def node_type(tree):
    """The kind of node a container is; its own class for leaves."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    return namedtuple if is_namedtuple_class(cls) else cls


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Let instances of a dataclass be nodes whose children are its fields."""
    from ._pytree import register_pytree_node

    if not dataclasses.is_dataclass(cls):
        raise ValueError(
            f"field_names must be specified with a list of all fields: {cls} is not a dataclass."
        )
    names = [f.name for f in dataclasses.fields(cls) if f.init] if field_names is None else list(field_names)
    names = [name for name in names if name not in (drop_field_names or ())]

    def flatten(obj):
        present = [name for name in names if getattr(obj, name) is not None]
        absent = [name for name in names if name not in present]
        return [getattr(obj, name) for name in present], [present, absent]

    def flatten_with_keys(obj):
        children, context = flatten(obj)
        return [(GetAttrKey(n), child) for n, child in zip(context[0], children, strict=True)], context

    def unflatten(children, context):
        return cls(**dict(zip(context[0], children, strict=True)), **dict.fromkeys(context[1]))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def is_predicate(kind):
    """Whether a filter is a function rather than a type, types or a union of types."""
    return not isinstance(kind, (type, tuple, types.UnionType))
