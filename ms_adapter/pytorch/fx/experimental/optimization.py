"""Passes that make inference faster: folding batch norm into convolutions, removing dropout."""

import copy

import ms_adapter.pytorch as torch

from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]


def _parent_name(target):
    """("a.b", "c") for "a.b.c"."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node calls a module of the pattern's last type on the result of one of the type before it."""
    if not node.args or not isinstance(node.args[0], Node):
        return False
    return all(
        found.op == "call_module" and type(modules.get(found.target)) is wanted
        for wanted, found in zip(pattern, (node.args[0], node))
    )


def replace_node_module(node, modules, new_module):
    """Puts ``new_module`` where the module that a node calls was."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """A module in which batch norms after convolutions and linear layers are folded into these, for
    evaluation.

    ``no_trace`` says that the model is a GraphModule already.

    >>> import ms_adapter.pytorch as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    >>> [node.op for node in fuse(net).graph.nodes]
    ['placeholder', 'call_module', 'output']
    """
    nn, fusion = torch.nn, torch.nn.utils.fusion
    pairs = [
        ((nn.Conv1d, nn.BatchNorm1d), fusion.fuse_conv_bn_eval),
        ((nn.Conv2d, nn.BatchNorm2d), fusion.fuse_conv_bn_eval),
        ((nn.Conv3d, nn.BatchNorm3d), fusion.fuse_conv_bn_eval),
        ((nn.Linear, nn.BatchNorm1d), fusion.fuse_linear_bn_eval),
    ]
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    for pattern, join in pairs:
        for node in traced.graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            first, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, join(first, norm))
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph, type(model).__name__)


def remove_dropout(model):
    """A module without dropout layers, for evaluation.

    >>> import ms_adapter.pytorch as torch
    >>> net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout())
    >>> [node.target for node in remove_dropout(net).graph.nodes]
    ['input', '0', 'output']
    """
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], torch.nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.graph.lint()
    return GraphModule(traced, traced.graph, type(model).__name__)


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A GraphModule of some of a module's nodes, from ``inputs`` to ``outputs``."""
    graph, values = torch.fx.Graph(), {}
    for node in inputs:
        values[node] = graph.placeholder(node.name)
    for node in nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output([values[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
