"""Splits a graph into submodules, one for each part that a callback names."""

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its graph, what it takes from outside and what it gives."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.graph, self.environment = Graph(), {}
        self.inputs, self.outputs, self.targets = {}, {}, {}
        self.before = {}  # parts that must run before this one


def split_module(
    m,
    root_m,
    split_callback,
    qualname_map=None,
    keep_original_order=False,
    keep_original_node_name=False,
    keep_original_input_name=True,
):
    """A module with ``submod_<part>`` for each part that ``split_callback(node)`` gives, which calls them in
    order.

    RuntimeError where parts need each other's values both ways.

    >>> import ms_adapter.pytorch as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1) * 2)
    >>> parts = split_module(traced, traced, lambda node: int(node.name == "mul"))
    >>> print(parts.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts, part_of = {}, {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            part_of[node] = parts.setdefault(str(split_callback(node)), None) or _partition(
                parts, split_callback(node)
            )
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _note_use(node, used, part_of)
    order = list(parts.values()) if keep_original_order else _sorted(list(parts.values()))
    for node in m.graph.nodes:
        if node in part_of:
            _copy_into(part_of[node], node, qualname_map)
    return _stitched(m, root_m, order, part_of)


def _partition(parts, name):
    parts[str(name)] = Partition(str(name))
    return parts[str(name)]


def _note_use(user, used, part_of):
    source, target = part_of.get(used), part_of.get(user)
    if source is target:
        return
    if source is not None:
        source.outputs.setdefault(used)
    if target is not None and used.op != "get_attr":
        target.inputs.setdefault(used)
    if source is not None and target is not None:
        target.before.setdefault(source)


def _sorted(parts):
    """Parts after those whose values they take."""
    done, waiting = [], list(parts)
    while waiting:
        ready = next((p for p in waiting if all(b in done for b in p.before)), None)
        if ready is None:
            raise RuntimeError("cycle exists between partitions!")
        done.append(ready)
        waiting.remove(ready)
    return done


def _copy_into(part, node, qualname_map):
    def inner(used):
        if used not in part.environment:
            if used.op == "get_attr":
                part.environment[used] = part.graph.get_attr(used.target)
                part.targets[used.target] = used.target
            else:
                with part.graph.inserting_before(_first_after_inputs(part.graph)):
                    part.environment[used] = part.graph.placeholder(used.name, type_expr=used.type)
                part.environment[used].meta = dict(used.meta)
        return part.environment[used]

    for used in part.inputs:
        inner(used)
    part.environment[node] = part.graph.node_copy(node, inner)
    if node.op == "call_module":
        part.targets[node.target] = node.target
        if qualname_map is not None:
            qualname_map[f"{part.submod_name}.{node.target}"] = node.target


def _first_after_inputs(graph):
    return next((n for n in graph.nodes if n.op != "placeholder"), None) or graph._root


def _stitched(m, root_m, order, part_of):
    graph, values, modules = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = {"default_value": node.args[0]} if node.args else {}
            values[node] = graph.placeholder(node.target, type_expr=node.type, **default)
            values[node].meta = dict(node.meta)
    for part in order:
        returned = [part.environment[node] for node in part.outputs]
        part.graph.output(returned[0] if len(returned) == 1 else tuple(returned))
        attributes = {target: _attribute(root_m, target) for target in part.targets}
        modules[part.submod_name] = GraphModule(attributes, part.graph)
        call = graph.call_module(part.submod_name, tuple(values[node] for node in part.inputs))
        for i, node in enumerate(part.outputs):
            values[node] = call if len(returned) == 1 else _item(graph, call, i)
    for node in m.graph.nodes:
        if node.op == "output":

            def outer(used):
                if used not in values and used.op == "get_attr":
                    values[used] = graph.get_attr(used.target)
                    modules[used.target] = _attribute(root_m, used.target)
                return values[used]

            graph.output(map_arg(node.args[0], outer), type_expr=node.type)
    return GraphModule(modules, graph)


def _item(graph, call, index):
    import operator

    return graph.call_function(operator.getitem, (call, index))


def _attribute(module, target):
    for atom in target.split("."):
        module = getattr(module, atom)
    return module
