"""Proxies: what stands for a value while a function is traced, and records what is done to it."""

import dis
import inspect
import operator
import sys

import ms_adapter.pytorch as torch

from ._codegen import magic_methods, reflectable_magic_methods
from .node import Node, base_types, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """Tracing came to something that depends on a value that is not there yet."""


class TracerBase:
    """What proxies ask of their tracer: how nodes are made, and what happens where a value is needed."""

    graph = None
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self):
        self.module_stack = {}
        self.node_name_to_scope = {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a node; a subclass may change or refuse it."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node):
        """A proxy for a node's value."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Adds a node with arguments that may hold proxies, and gives the proxy of its value."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces:
            node.stack_trace = _stack_of_user()
        return proxy

    def create_arg(self, a):
        """``a`` as a node's argument: nodes for proxies, and nothing but plain values beside them.

        Raises NotImplementedError for what a graph cannot hold.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = tuple(self.create_arg(item) for item in a)
            if type(a) is tuple:
                return made
            return type(a)(*made) if hasattr(a, "_fields") else type(a)(made)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return self._dict_arg(a)
        if isinstance(a, slice):
            return slice(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        plain = a is None or a is ... or isinstance(a, (*base_types, type))
        if plain or callable(a) and not isinstance(a, torch.nn.Module):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _dict_arg(self, a):
        made = {}
        for key, value in a.items():
            key = self.create_arg(key)
            map_aggregate(key, _refuse_node_as_key)
            made[key] = self.create_arg(value)
        return made

    def to_bool(self, obj):
        """Called where a proxy is a condition: raises TraceError."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """Called where a proxy is iterated over: unpacking into names works, all else raises TraceError."""
        count = _unpacked_count(sys._getframe(2))
        if count is not None:
            return (obj[i] for i in range(count))
        raise TraceError(
            "Proxy object cannot be iterated: its length is not known while tracing. This happens when a "
            "traced value is used in a loop or as *args or **kwargs; index it, or hide the code in a "
            "function that torch.fx.wrap makes a leaf."
        )

    def keys(self, obj):
        """Called where a proxy is given as **kwargs."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Lets proxies add nodes to a graph that is being written by hand."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph


def _refuse_node_as_key(value):
    if isinstance(value, Node):
        raise RuntimeError(
            f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {value}"
        )
    return value


def _unpacked_count(frame):
    """How many names the statement that runs in the frame unpacks into, or None."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


def _stack_of_user():
    """The frames outside of this package, as text."""
    frames = [
        f for f in inspect.stack(0) if f"{__package__}." not in f.frame.f_globals.get("__name__", "") + "."
    ]
    return "".join(f'  File "{f.filename}", line {f.lineno}, in {f.function}\n' for f in reversed(frames))


class Proxy:
    """Stands for the value of a node: operators, functions and methods applied to it become nodes.

    >>> import ms_adapter.pytorch as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x) + 1
    Proxy(add)
    >>> list(graph.nodes)
    [x, relu, add]
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __deepcopy__(self, memo):
        return Proxy(self.node, self.tracer)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        """As ``**proxy`` asks: a call of the method, see ``TracerBase.keys``."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
            "please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        tracers = {}
        map_aggregate((args, kwargs), lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else a)
        if len(tracers) > 1:
            raise RuntimeError(f"fx: proxies of {len(tracers)} tracers were given to {orig_method}.")
        tracer = next(iter(tracers))
        if torch.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", _method_name(orig_method), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _method_name(method):
    """The name under which a node calls a tensor's method: operators by their functions' names."""
    name = method.__name__
    return {"__add__": "add", "__sub__": "sub", "__mul__": "mul"}.get(name, name)


class Attribute(Proxy):
    """``proxy.name``: a node only if it is used as a value; called, it is a method call."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that reads the attribute, made at first use."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known: ``shape``, ``size()``, ``dim()`` and the like give plain values."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The parameter's shape."""
        return self.param.shape

    def size(self, *args):
        """The parameter's size."""
        return self.param.size(*args)

    def dim(self):
        """Its number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self):
        """Its number of dimensions."""
        return self.param.ndim

    def numel(self):
        """Its number of elements."""
        return self.param.numel()

    def nelement(self):
        """Its number of elements."""
        return self.param.numel()


def _recorder(function):
    def record(*args):
        tracer = next(a.tracer for a in args if isinstance(a, Proxy))
        return tracer.create_proxy("call_function", function, args, {})

    return record


def _reflected(function):
    return lambda self, other: self.tracer.create_proxy("call_function", function, (other, self), {})


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _recorder(getattr(operator, _name)))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # __eq__ records
