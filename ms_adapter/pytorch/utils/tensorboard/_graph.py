"""SummaryWriter.add_graph: the functions that a model calls, noted while it runs once on an input."""

import collections
import contextlib

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

import ms_adapter.pytorch as torch
from ms_adapter.pytorch.overrides import TorchFunctionMode
from ms_adapter.pytorch.utils._pytree import tree_leaves

_PRODUCER = 22  # the version of the format that PyTorch names


def graph_of(model, inputs):
    """A run of ``model`` in evaluation mode as TensorBoard's graph; TensorBoard folds it by module."""
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    notes = _Notes(model)
    for i, tensor in enumerate(_tensors(inputs)):
        notes.add(f"input/{i}", "IO Node", [], [tensor])
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad(), notes.scoped(), notes:
            results = model(*inputs)
    finally:
        for module, was in training.items():
            module.training = was
    for i, tensor in enumerate(_tensors(results)):
        notes.add(f"output/{i}", "IO Node", [tensor], [])
    return GraphDef(node=notes.nodes, versions=VersionDef(producer=_PRODUCER))


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _scopes(model):
    """Where each module stands, by its path: the classes and names on the way to it."""
    scopes = {"": type(model).__name__}
    for path, module in model.named_modules():
        if path:
            parent, _, name = path.rpartition(".")
            scopes[path] = f"{scopes[parent]}/{type(module).__name__}[{name}]"
    return scopes


class _Notes(TorchFunctionMode):
    """Notes every call that gives tensors: its name, below the module that makes it, and its inputs."""

    def __init__(self, model):
        super().__init__()
        self.model, self.scopes = model, _scopes(model)
        self.stack = []
        self.nodes, self.used = [], collections.Counter()
        self.made = {}  # id of a tensor -> the tensor, which keeps its id, and the name of what made it
        named = [*model.named_parameters(), *model.named_buffers()]
        self.weights = {id(tensor): (path, tensor) for path, tensor in named}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        outputs = _tensors(result)
        if outputs:
            name = func.__name__ if func.__name__ != "__get__" else func.__self__.__name__
            scope = self.stack[-1] if self.stack else self.scopes[""]
            self.add(f"{scope}/{name}", f"aten::{name}", _tensors((args, kwargs)), outputs)
        return result

    def add(self, name, op, inputs, outputs):
        """A node of this name, or with a number behind it where there is one already."""
        sources = [source for source in map(self.source, inputs) if source]
        self.used[name] += 1
        name = name if self.used[name] == 1 else f"{name}_{self.used[name] - 1}"
        sizes = [TensorShapeProto.Dim(size=n) for t in outputs[:1] for n in t.shape]
        shapes = AttrValue.ListValue(shape=[TensorShapeProto(dim=sizes)] if outputs else [])
        attributes = {"_output_shapes": AttrValue(list=shapes)}
        self.nodes.append(NodeDef(name=name, op=op, input=sources, attr=attributes))
        for i, tensor in enumerate(outputs):
            self.made[id(tensor)] = tensor, name if i == 0 else f"{name}:{i}"

    def source(self, tensor):
        """The name of what made a tensor; the model's weights become nodes at their first use."""
        if id(tensor) not in self.made and id(tensor) in self.weights:
            path, _ = self.weights[id(tensor)]
            parent, _, name = path.rpartition(".")
            self.add(f"{self.scopes.get(parent, self.scopes[''])}/{name}", "Parameter", [], [tensor])
        return self.made.get(id(tensor), (None, None))[1]

    @contextlib.contextmanager
    def scoped(self):
        """Knows, while it is open, which of the modules runs."""
        handles = []
        for path, module in self.model.named_modules():
            scope = self.scopes[path]
            enter = module.register_forward_pre_hook(lambda *_, scope=scope: self.stack.append(scope))
            leave = module.register_forward_hook(lambda *_: self.stack.pop() and None, always_call=True)
            handles += [enter, leave]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
