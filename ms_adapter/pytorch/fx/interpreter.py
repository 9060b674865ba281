"""Runs graphs node by node, so that subclasses see or change every value."""

import contextlib

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule (or a ``graph`` with ``module``'s attributes); override what is done for a kind of
    node.

    >>> import ms_adapter.pytorch as torch
    >>> class Negated(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negated(torch.fx.symbolic_trace(lambda x: torch.relu(x))).run(torch.tensor(2.0))
    tensor(-2.)
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.submodules = module, dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.name = type(self).__name__
        self.env, self.args_iter = {}, None
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = self._last_uses() if garbage_collect_values else {}

    def _last_uses(self):
        seen, by_user = set(), {}
        for node in reversed(self.graph.nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    by_user.setdefault(node, []).append(used)
        return by_user

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph returns for these inputs; ``initial_env`` gives values of nodes that then do not
        run.
        """
        self.env = dict(initial_env or {})
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as err:
                if self.extra_traceback and err.args and isinstance(err.args[0], str):
                    text = f"{err.args[0]}\n\nWhile executing {node.format_node()}"
                    err.args = (text, *err.args[1:])
                raise
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """As ``run``, with the inputs in a list, which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        yield

    def run_node(self, n):
        """The value of one node, whose inputs have run."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next input; the default (in ``args``) where there is none."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """The attribute's value."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The function's result."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of the first argument's method."""
        this, *rest = args
        return getattr(this, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """The submodule's result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target):
        """An attribute of the module by its dotted name."""
        place = self.module
        atoms = target.split(".")
        for i, atom in enumerate(atoms):
            if not hasattr(place, atom):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(atoms[: i + 1])} of {type(place).__name__}"
                )
            place = getattr(place, atom)
        return place

    def fetch_args_kwargs_from_env(self, n):
        """A node's (args, kwargs) with values in place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Nested arguments with values in place of nodes; lists and dicts are ordinary ones again."""

        def load(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose."
                )
            return self.env[node]

        return _thawed(map_arg(args, load))


def _thawed(value):
    """Plain lists and dicts for those of nodes."""
    if type(value) is tuple:
        return tuple(map(_thawed, value))
    if isinstance(value, list):
        return [_thawed(item) for item in value]
    if isinstance(value, dict):
        return {key: _thawed(item) for key, item in value.items()}
    return value


class Transformer(Interpreter):
    """Runs a graph on proxies, so that :meth:`transform` gives a changed copy.

    >>> import ms_adapter.pytorch as torch
    >>> class Swap(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)
    >>> Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.tensor(2.0))
    tensor(-2.)
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target, args, kwargs):
        """A proxy of the new graph's input."""
        default = {"default_value": args[0]} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A proxy of the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A proxy of the submodule's result."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A proxy of the function's result."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The changed module."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            strip = lambda a: a.node if isinstance(a, Proxy) else a
            node = self.new_graph.output(map_aggregate(result, strip))
            old = self.graph.output_node()
            node.type, node.meta = old.type, dict(old.meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    def __init__(self, graph, root):
        super().__init__()
        self.graph, self.root = graph, root

    def is_leaf_module(self, m, module_qualified_name):
        return True
