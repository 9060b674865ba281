"""Runs a function or module on proxies: what it does becomes a graph."""

import inspect
import math

import ms_adapter.pytorch as torch

from . import _patches
from ._patches import wrap
from .graph import Graph
from .graph_module import GraphModule
from .node import base_types
from .proxy import ParameterProxy, TracerBase

__all__ = ["PH", "PHBase", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_tracing = False


def is_fx_tracing():
    """Whether a function is being traced now."""
    return _tracing


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """In ``concrete_args``: an argument that stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


def _assert_is_none(value, msg):
    """In traced code whose input was specialized to None."""
    assert value is None, msg


class Tracer(TracerBase):
    """Traces modules and functions; subclasses choose leaves (``is_leaf_module``) and change what is
    recorded.

    ``autowrap_modules`` and ``autowrap_functions`` name functions that are recorded as calls although they
    do not know tensors, such as those of ``math``; ``param_shapes_constant`` lets shapes of parameters be
    plain numbers.

    >>> import ms_adapter.pytorch as torch
    >>> class Shallow(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.target for node in Shallow().trace(net).nodes]
    ['input', '0', 'output']
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_search = list(autowrap_modules)
        functions = [v for m in autowrap_modules for n, v in vars(m).items() if n[0] != "_" and callable(v)]
        self._autowrap_function_ids = {id(f) for f in (*functions, *autowrap_functions)}
        self.param_shapes_constant = param_shapes_constant
        self.root, self.root_module_name, self.submodule_paths = None, "", None
        self.tensor_attrs = {}

    # ---- what subclasses change -----------------------------------------------------------------
    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module is recorded as one call: those of torch.nn are, but for Sequential."""
        package = (m.__module__ or "").replace("ms_adapter.pytorch", "torch")
        return package.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        """The dotted name of a submodule of the root; NameError if it is none."""
        path = self.submodule_paths.get(mod) if self.submodule_paths is not None else None
        if path is None:
            path = next((name for name, module in self.root.named_modules() if module is mod), None)
        if not isinstance(path, str):
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m, forward, args, kwargs):
        """Called for each call of a module: recorded if it is a leaf, else run."""
        path = self.path_of_module(m)
        self.module_stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(path, None)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Called where a module's attribute is read: parameters (and buffers, if asked for) become nodes."""
        buffer = self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor)
        if not isinstance(attr_val, torch.nn.Parameter) and not buffer:
            return attr_val
        named = self.root.named_buffers() if buffer else self.root.named_parameters()
        name = next((name for name, value in named if value is attr_val), None)
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            options = {}
            if self.param_shapes_constant and not buffer:
                options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, attr_val)
            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
        return parameter_proxy_cache[name]

    def create_arg(self, a):
        """As ``TracerBase.create_arg``; the root's parameters, buffers and modules become get_attr nodes.

        A tensor that the root does not have is set there as ``_tensor_constant0`` and so on.
        """
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(id(a), (None,))[0]
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = (name, a)
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, torch.nn.Module):
            return self.create_node("get_attr", self._module_path(a), (), {})
        return super().create_arg(a)

    def _module_path(self, module):
        try:
            return self.path_of_module(module)
        except NameError:
            raise NotImplementedError(f"argument of type: {type(module)}") from None

    def get_fresh_qualname(self, prefix):
        """``prefix`` with the first number that makes an attribute of the root that is not there yet."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # ---- inputs ---------------------------------------------------------------------------------
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, its arguments): the root, proxies, and what ``concrete_args`` gives in their place."""
        fn = inspect.unwrap(root_fn)
        parameters = list(inspect.signature(fn).parameters.values())
        args = [self.root] if is_module else []
        if is_module:
            if not parameters:
                raise RuntimeError("`self` argument cannot be part of *args expansion!")
            parameters = parameters[1:]
        if isinstance(concrete_args, tuple):
            concrete_args = {p.name: value for p, value in zip(parameters, concrete_args)}
        plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        named = {}
        for p in plain:
            value = self._proxy_placeholder(p, concrete_args or {})
            if p.kind == p.KEYWORD_ONLY:
                named[p.name] = value
            else:
                args.append(value)
        for p in parameters:
            if p.kind == p.VAR_POSITIONAL:
                args.append(_Starred(self._placeholder(f"*{p.name}", (), p)))
            elif p.kind == p.VAR_KEYWORD:
                named[p.name] = _Starred(self._placeholder(f"**{p.name}", (), p))
        return (root_fn, args) if not named and not args[-1:] else _with_names(root_fn, args, named)

    def _placeholder(self, name, default, parameter):
        kind = parameter.annotation if parameter.annotation is not inspect.Parameter.empty else None
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _proxy_placeholder(self, parameter, concrete_args):
        name = parameter.name
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        if name not in concrete_args or isinstance(concrete_args[name], PHBase):
            return self._placeholder(name, default, parameter)
        value = concrete_args[name]
        if torch.utils._pytree.tree_any(lambda leaf: isinstance(leaf, PHBase), value):
            raise NotImplementedError(
                f"symbolic_trace: concrete_args[{name!r}] holds inputs inside a structure, which is not "
                "supported; trace a function that takes them one by one."
            )
        proxy = self._placeholder(f"{name}_1", default, parameter)
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        elif isinstance(value, base_types) and not isinstance(value, torch.Tensor):
            torch._assert(proxy == value, message)
        return value

    # ---- tracing --------------------------------------------------------------------------------
    def trace(self, root, concrete_args=None):
        """The graph of a module or function; ``concrete_args`` fixes inputs by name.

        Raises TraceError where the code's course depends on a traced value.
        """
        global _tracing
        before, _tracing = _tracing, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _tracing = before

    def _trace(self, root, concrete_args):
        is_module = isinstance(root, torch.nn.Module)
        self.root = root if is_module else torch.nn.Module()
        self.root_module_name = type(root).__name__ if is_module else ""
        self.submodule_paths = {module: name for name, module in root.named_modules()} if is_module else None
        fn = getattr(type(root), self.traced_func_name) if is_module else root
        if isinstance(fn, type):
            raise TypeError(f"symbolic_trace: {root!r} is a class; trace a module or function.")
        tracer_cls = type(self)
        self.graph = Graph(tracer_cls=tracer_cls)
        self.tensor_attrs = _tensor_attributes(self.root)
        space = getattr(inspect.unwrap(fn), "__globals__", {})
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        cache = {}

        def read(attr, value):
            return self.getattr(attr, value, cache) if isinstance(value, torch.Tensor) else value

        with _patches.Patcher() as patcher:
            _patches.patch_modules(patcher, self.call_module, read)
            _patches.patch_wrapped(patcher)
            _patches.patch_autowrapped(patcher, space, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _patches.patch_autowrapped(patcher, vars(module), self._autowrap_function_ids)
            result = self.create_arg(fn(*args))
            annotation = getattr(fn, "__annotations__", {}).get("return")
            self.create_node("output", "output", (result,), {}, type_expr=annotation)
        self.submodule_paths = None
        return self.graph


class _Starred:
    """A proxy that stands for all of ``*args`` or ``**kwargs``."""

    def __init__(self, proxy):
        self.proxy = proxy


def _with_names(function, args, named):
    """(function, args) where the keyword-only proxies are bound, and starred ones are given as wholes."""
    starred = next((a for a in args if isinstance(a, _Starred)), None)
    plain = [a for a in args if not isinstance(a, _Starred)]
    keywords = {name: value for name, value in named.items() if not isinstance(value, _Starred)}
    whole = next((value.proxy for value in named.values() if isinstance(value, _Starred)), None)
    if starred is None and whole is None and not keywords:
        return function, plain
    inner = inspect.unwrap(function)
    if starred is None and whole is None:

        def call(*given):
            return inner(*given, **keywords)

        call.__annotations__ = dict(getattr(inner, "__annotations__", {}))
        return call, plain
    return _fill_starred(inner, starred, whole, keywords), plain


def _fill_starred(inner, starred, whole, keywords):
    """A function like ``inner`` in which ``*args`` and ``**kwargs`` are proxies."""
    import types

    code = inner.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flags = code.co_flags & ~inspect.CO_VARARGS & ~inspect.CO_VARKEYWORDS
    plain = code.replace(co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    function = types.FunctionType(plain, inner.__globals__, inner.__name__, None, inner.__closure__)
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = [keywords[name] for name in names]
    rest += [starred.proxy] if starred is not None else []
    rest += [whole] if whole is not None else []

    def call(*given):
        return function(*given, *rest)

    call.__annotations__ = dict(getattr(inner, "__annotations__", {}))
    return call


def _tensor_attributes(root):
    """id of each tensor that is a plain attribute of a submodule -> (its dotted name, it)."""
    found = {}
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found[id(value)] = (f"{path}.{name}" if path else name, value)
    return found


def symbolic_trace(root, concrete_args=None):
    """A GraphModule that does what a module or function does.

    ``concrete_args`` fixes inputs by name, so that what depends on them is decided while tracing. Raises
    TraceError where the course of the code depends on traced values.

    >>> import ms_adapter.pytorch as torch
    >>> traced = torch.fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
    >>> print(traced.code.strip())
    def forward(self, x, y):
        relu = torch.relu(x);  x = None
        add = relu + y;  relu = y = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
