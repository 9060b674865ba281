"""Graphs: nodes in the order in which they run, and how they are built and changed."""

import contextlib
import copy

import ms_adapter.pytorch as torch

from ._codegen import CodeGen, PythonCode
from ._names import Namespace, hint, qualified_name
from .node import Node, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]

_Namespace, _get_qualified_name = Namespace, qualified_name
_NO_DEFAULT = object()


class _node_list:
    """The nodes of a graph, from the first to the last; nodes may be added and erased on the way."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next").__iter__()


class _InsertPoint:
    """Where new nodes go; as a context manager it goes back to where they went before."""

    def __init__(self, graph, insert):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.graph._insert = self.before


class Graph:
    """A function as a list of nodes.

    >>> import ms_adapter.pytorch as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> graph.output(graph.call_function(torch.relu, (x,)))
    output
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert = self._root.prepend
        self._graph_namespace = Namespace()
        self._owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen, self._co_fields = CodeGen(), {}

    @property
    def owning_module(self):
        """The GraphModule that the graph belongs to, if any."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        """The nodes in the order in which they run."""
        return _node_list(self)

    def output_node(self):
        """The output node."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind (``op``), of one target where that is given, in order."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ---- making nodes ---------------------------------------------------------------------------
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node where nodes go now (see :meth:`inserting_before`)."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("create_node: args must be a tuple and kwargs a dict.")
        name = self._graph_namespace.create_name(name or self._target_to_str(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._insert(node)
        self._len += 1
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    @staticmethod
    def _target_to_str(target):
        return hint(target)

    def placeholder(self, name, type_expr=None, default_value=_NO_DEFAULT):
        """Adds an input of the function."""
        args = () if default_value is _NO_DEFAULT else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """Adds a node that reads a parameter, buffer or other attribute by its dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of the submodule with that dotted name."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Adds a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None):
        """Adds what the function returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ---- changing -------------------------------------------------------------------------------
    def inserting_before(self, n=None):
        """New nodes go before ``n`` (None: at the start) from now on, or inside a with block.

        >>> import ms_adapter.pytorch as torch
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> relu = list(traced.graph.nodes)[1]
        >>> with traced.graph.inserting_before(relu):
        ...     _ = traced.graph.call_function(torch.neg, relu.args)
        >>> list(traced.graph.nodes)
        [x, neg, relu, output]
        """
        if n is None:
            return self.inserting_after(self._root)
        self._own(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """New nodes go directly after ``n`` (None: at the end) from now on, or inside a with block."""
        if n is None:
            return self.inserting_before(self._root)
        self._own(n)
        return _InsertPoint(self, n.append)

    def _own(self, node):
        if node.graph is not self:
            raise AssertionError("The node to insert at belongs to another graph.")

    def erase_node(self, to_erase):
        """Removes a node that nothing uses; RuntimeError otherwise."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        self._own(to_erase)
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        kept_next, kept_prev = to_erase._next, to_erase._prev
        to_erase._remove_from_list()
        to_erase._next, to_erase._prev = kept_next, kept_prev  # for who is walking over the nodes
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes nodes whose value nothing uses; True when there were any.

        In-place methods count as dead too when nothing uses what they return, as in PyTorch.

        >>> import ms_adapter.pytorch as torch
        >>> def f(x):
        ...     torch.neg(x)
        ...     return x + 1
        >>> traced = torch.fx.symbolic_trace(f)
        >>> traced.graph.eliminate_dead_code(), list(traced.graph.nodes)
        (True, [x, add, output])
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._len < before

    def lint(self):
        """Raises RuntimeError (or ValueError) where the graph cannot run: order, names, targets."""
        seen, names = set(), set()
        for node in self.nodes:
            self._own(node)
            for argument in node._input_nodes:
                if argument.graph is not self:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' does not belong to this Graph."
                    )
                if argument not in seen:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please "
                        f"check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._lint_target(node)

    def _lint_target(self, node):
        place = self.owning_module
        for atom in node.target.split("."):
            if not hasattr(place, atom):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {atom} of {place}"
                )
            place = getattr(place, atom)
        if node.op == "call_module" and not isinstance(place, torch.nn.Module):
            raise RuntimeError(f"Node {node} target {node.target} is no module but {type(place).__name__}.")

    # ---- copying --------------------------------------------------------------------------------
    def node_copy(self, node, arg_transform=lambda x: x):
        """Adds a copy of ``node``, of this or another graph; ``arg_transform`` gives this graph's nodes for
        its own.
        """
        name = node.name
        made = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            map_arg(node.kwargs, arg_transform),
            name,
            node.type,
        )
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Adds copies of all nodes of ``g`` but the output, whose value it returns; ``val_map`` is filled.

        With ``return_output_node`` it returns (value, output node of ``g``).
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls)
        memo[id(self)] = made
        val_map = {}
        returned = made.graph_copy(self, val_map, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if returned is not None:
            value, old = returned
            made.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    # ---- code -----------------------------------------------------------------------------------
    def python_code(self, root_module, **options):
        """The graph as a Python function; attributes are read from the name ``root_module``."""
        return self._codegen.python_code(self, root_module, Namespace())

    def set_codegen(self, codegen):
        """Lets ``codegen`` write the code from now on."""
        self._codegen = codegen

    @contextlib.contextmanager
    def _unchanged_codegen(self, before):
        yield
        self._codegen._body_transformer = before

    def on_generate_code(self, make_transformer):
        """Changes the lines of generated code: ``make_transformer(current)`` gives a function from lines to
        lines.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return self._unchanged_codegen(before)

    def process_inputs(self, *args):
        """The arguments of the function as its placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The output node's value as the function returns it."""
        return self._codegen.process_outputs(out)

    def __str__(self):
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])

    def print_tabular(self):
        """Prints a table of the nodes."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [tuple(map(str, (n.op, n.name, n.target, n.args, n.kwargs))) for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(*rows)]
        rows.insert(1, tuple("-" * width for width in widths))
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
