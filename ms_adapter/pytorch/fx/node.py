"""Nodes: one operation each in a graph, linked to their neighbours and to those that use them."""

import operator
import typing

import ms_adapter.pytorch as torch

from ._names import public_module, qualified_name
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = typing.Union[typing.Callable[..., typing.Any], str]  # noqa: UP007 - read by typing.get_type_hints
Argument = typing.Any
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.Tensor,
    torch.device,
    torch.memory_format,
    torch.layout,
)
_legal_ops = frozenset(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)
_side_effectful_functions = {torch._assert, operator.setitem}
_get_qualified_name = qualified_name


def has_side_effect(fn):
    """Keeps calls of ``fn`` in graphs though nothing uses their result; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a, fn):
    """``a``, nested as it may be, with ``fn(node)`` in place of each node.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.fx.Graph().placeholder("x")
    >>> map_arg([1, (x, 2)], lambda node: node.name)
    [1, ('x', 2)]
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a, fn):
    """``a`` with ``fn`` applied to everything that is no tuple, list, dict or slice."""
    if isinstance(a, tuple):
        made = tuple(map_aggregate(item, fn) for item in a)
        if type(a) is tuple:
            return made
        return type(a)(*made) if hasattr(a, "_fields") else type(a)(made)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def _type_repr(obj):
    """A type as an annotation of generated code."""
    if isinstance(obj, type) and not isinstance(obj, type(list[int])):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        if obj is torch.Tensor:
            return "torch.Tensor"
        return f"{public_module(obj.__module__)}.{obj.__qualname__}"
    if obj is Ellipsis:
        return "..."
    return repr(obj).replace("ms_adapter.pytorch.", "torch.")


def _format_arg(arg):
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg.name}" if isinstance(arg, Node) else str(arg)


class Node:
    """One operation: ``op`` is what is done, ``target`` to what, ``args`` and ``kwargs`` with what.

    ``op`` is placeholder, get_attr, call_function, call_method, call_module or output. ``users`` are the
    nodes that take this one's value, ``all_input_nodes`` those whose values it takes; ``meta`` is free for
    passes.

    >>> import ms_adapter.pytorch as torch
    >>> node = list(torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes)[1]
    >>> node.op, node.target is torch.relu, node.args
    ('call_function', True, (x,))
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"fx: a node's op is one of {sorted(_legal_ops)}, not {op!r}.")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"fx: a call_function node needs a callable target, not {target!r}.")
        elif not isinstance(target, str):
            raise ValueError(f"fx: a {op} node needs a str as its target, not {target!r}.")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self._input_nodes, self.meta = {}, {}, {}
        self._prev = self._next = self
        self._erased, self._repr_fn = False, None
        self._set_arguments(args, kwargs)

    # ---- arguments ------------------------------------------------------------------------------
    @property
    def args(self):
        """The positional arguments; assigning new ones keeps ``users`` right."""
        return self._args

    @args.setter
    def args(self, args):
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments; assigning new ones keeps ``users`` right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set_arguments(self, args, kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        found = {}

        def note(node):
            found.setdefault(node)
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)
        self._input_nodes = found
        for node in found:
            node.users.setdefault(self)

    def update_arg(self, idx, arg):
        """Puts ``arg`` in the place of the positional argument at ``idx``."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Adds a positional argument before the one at ``idx``, from 0 to ``len(args)``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: idx must be in 0..{len(self.args)}, got {idx}.")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Sets the keyword argument ``key``."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Takes the value of ``new_input`` wherever it took that of ``old_input``."""

        def change(node):
            return new_input if node is old_input else node

        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._set_arguments(map_arg(self.args, change), map_arg(self.kwargs, change))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Lets every user take ``replace_with`` instead; returns the users that did."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ---- places in the graph --------------------------------------------------------------------
    @property
    def next(self):
        """The node that runs after this one."""
        return self._next

    @property
    def prev(self):
        """The node that runs before this one."""
        return self._prev

    def prepend(self, x):
        """Puts ``x`` directly before this node."""
        if x.graph is not self.graph:
            raise AssertionError("prepend: the node belongs to another graph.")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x):
        """Puts ``x`` directly after this node."""
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def __lt__(self, other):
        """Whether this node runs before ``other``, of the same graph."""
        for node in self.graph.nodes:
            if node is self or node is other:
                return node is self and node is not other
        return False

    def is_impure(self, impure_random=True):
        """Whether the node does something beside giving its value, so that it stays unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if isinstance(self.target, torch.ops.OpOverload):
                return self.target._schema.is_mutable
            return self.target in _side_effectful_functions
        if self.op == "call_module" and self.graph.owning_module is not None:
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return False

    # ---- text -----------------------------------------------------------------------------------
    @property
    def stack_trace(self):
        """Where the node was made, when the tracer records that, else None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target):
        if isinstance(target, str):
            return target
        if getattr(operator, getattr(target, "__name__", ""), None) is target:
            return f"operator.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False
    ):
        """The node as a line of ``print(graph)``."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{start}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{start}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        return (
            f"{start}[target={target}](args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
    ):
        """The arguments by the called function's parameters, as (args, kwargs), or None where they are
        unknown.
        """
        from . import operator_schemas

        if self.op == "call_function":
            return operator_schemas.normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None
