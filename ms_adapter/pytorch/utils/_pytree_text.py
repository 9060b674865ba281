"""Descriptions of trees as text: JSON for files, and a form for people."""

import importlib
import json
from collections import OrderedDict, defaultdict, deque

from . import _pytree
from ._pytree_nodes import namedtuple

_PROTOCOL = 1
_BUILTIN_NAMES = {
    list: "builtins.list",
    tuple: "builtins.tuple",
    dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict",
    defaultdict: "collections.defaultdict",
    deque: "collections.deque",
    namedtuple: "collections.namedtuple",
}


def _name_and_context(spec):
    """The name of a node's kind, and its context as JSON-ready text or object."""
    kind, context = spec.type, spec.context
    if kind is namedtuple:
        name = _pytree._serialized.get(context, (None,))[0]
        if name is None:
            raise NotImplementedError(
                f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
                "serializated_type_name. Please register using `_register_namedtuple`."
            )
        return _BUILTIN_NAMES[kind], name
    if kind is defaultdict:
        factory, keys = context
        return _BUILTIN_NAMES[kind], {
            "default_factory_module": factory.__module__,
            "default_factory_name": factory.__qualname__,
            "dict_context": keys,
        }
    if kind in _BUILTIN_NAMES:
        return _BUILTIN_NAMES[kind], json.dumps(context)
    name, to_dumpable, _ = _pytree._serialized.get(kind, (_pytree._NO_NAME, None, None))
    if name == _pytree._NO_NAME:
        raise NotImplementedError(
            f"No registered serialization name for {kind} found: give register_pytree_node a "
            "serialized_type_name."
        )
    return name, json.dumps(context) if to_dumpable is None else to_dumpable(context)


def _as_json(spec):
    name, context = (None, None) if spec.is_leaf() else _name_and_context(spec)
    return {"type": name, "context": context, "children_spec": [_as_json(c) for c in spec.children()]}


def _from_json(data):
    if data["type"] is None:
        return _pytree.treespec_leaf()
    children = [_from_json(child) for child in data["children_spec"]]
    for kind, name in _BUILTIN_NAMES.items():
        if name == data["type"]:
            return _pytree.TreeSpec(kind, _context_from_json(kind, data["context"]), children)
    for kind, (name, _, from_dumpable) in _pytree._serialized.items():
        if name == data["type"]:
            context = data["context"]
            context = json.loads(context) if from_dumpable is None else from_dumpable(context)
            return _pytree.TreeSpec(kind, context, children)
    raise NotImplementedError(f"Cannot deserialize a tree with a node of unregistered type {data['type']}.")


def _context_from_json(kind, context):
    if kind is namedtuple:
        return next(cls for cls, entry in _pytree._serialized.items() if entry[0] == context)
    if kind is defaultdict:
        module = importlib.import_module(context["default_factory_module"])
        return [getattr(module, context["default_factory_name"]), context["dict_context"]]
    return json.loads(context)


def treespec_dumps(treespec, protocol=None):
    """A description as JSON text, in PyTorch's format."""
    if not isinstance(treespec, _pytree.TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item "
            f"of type {type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps((_PROTOCOL, _as_json(treespec)))


def treespec_loads(serialized):
    """The description that :func:`treespec_dumps` wrote."""
    protocol, data = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _from_json(data)


class _Star:
    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """The tree with a star for each leaf."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads
