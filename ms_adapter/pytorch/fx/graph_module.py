"""GraphModule: a module whose forward is generated from a graph."""

import copy
import itertools
import linecache
import os
from pathlib import Path

import ms_adapter.pytorch as torch

from ._codegen import import_block
from ._names import public_module, resolve
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
_KEPT = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_numbers = itertools.count()


class _CodeOnlyModule(torch.nn.Module):
    """A module with the attributes that a GraphModule had, for tracing it again from its code."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def _forward_from_src(source, values):
    """The function ``forward`` that a text defines, with these globals; its lines show in tracebacks."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = dict(values)
    space.setdefault("__name__", name)
    exec(compile(source, name, "exec"), space)
    return space["forward"]


def _parent_and_name(module, target, make=False):
    """(the module that holds the attribute ``target``, the attribute's own name)."""
    *prefix, name = target.split(".")
    for atom in prefix:
        if make and getattr(module, atom, None) is None:
            setattr(module, atom, torch.nn.Module())
        module = getattr(module, atom)
    return module, name


def _assign_attr(from_obj, to_module, target):
    """``to_module.target = from_obj``; plain tensors become buffers."""
    parent, name = _parent_and_name(to_module, target, make=True)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        if name in vars(parent):
            delattr(parent, name)
        parent.register_buffer(name, from_obj)
    else:
        setattr(parent, name, from_obj)


def _copy_attr(from_module, to_module, target):
    """Gives ``to_module`` the attribute ``target`` of ``from_module``, with the modules on the way."""
    parent, name = _parent_and_name(from_module, target)
    if name in getattr(_parent_and_name(to_module, target, make=True)[0], "_modules", {}):
        return
    _assign_attr(getattr(parent, name), to_module, target)


class GraphModule(torch.nn.Module):
    """A module that runs a graph.

    ``root`` is the module that the graph's attributes are taken from, or a dict of them by dotted name.
    After changes of ``graph`` call :meth:`recompile`.

    >>> import ms_adapter.pytorch as torch
    >>> net = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> print(net.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        return _0
    >>> net(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __new__(cls, *args, **kwargs):
        for base in cls.__mro__:
            if not base.__qualname__.endswith("GraphModuleImpl"):
                cls = base
                break
        # A class of its own for each object: forward is set on the class.
        made = type("GraphModuleImpl", (cls,), {"__qualname__": f"{cls.__qualname__}.GraphModuleImpl"})
        return super().__new__(made)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, torch.nn.Module):
            self.training = getattr(root, "training", True)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._take_from_dict(root, graph)
        else:
            raise RuntimeError(
                f"Unsupported type {type(root)} passed for root: a Module or a dict is wanted."
            )
        for hooks in _HOOKS:
            setattr(self, hooks, [])
        self.meta = dict(getattr(root, "meta", {})) if isinstance(getattr(root, "meta", {}), dict) else {}
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}

    def _take_from_dict(self, root, graph):
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        for target in sorted(targets, key=lambda t: t.count(".")):
            if target not in root:
                raise RuntimeError(
                    f"GraphModule: a node refers to '{target}', which the dict given as root does not have."
                )
            _assign_attr(root[target], self, target)

    @property
    def graph(self):
        """The graph; setting one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The generated source of ``forward``."""
        return self._code

    def recompile(self):
        """Writes and compiles ``forward`` again after changes of the graph; returns the PythonCode."""
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        type(self).forward = _forward_from_src(code.src, code.globals)
        return code

    # ---- submodules -----------------------------------------------------------------------------
    def add_submodule(self, target, m):
        """Adds a submodule under a dotted name; False where something else is in the way."""
        *prefix, name = target.split(".")
        place = self
        for atom in prefix:
            if not hasattr(place, atom):
                setattr(place, atom, torch.nn.Module())
            place = getattr(place, atom)
            if not isinstance(place, torch.nn.Module):
                return False
        place.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Removes a submodule; False where there is none."""
        try:
            parent, name = _parent_and_name(self, target)
        except AttributeError:
            return False
        if not isinstance(getattr(parent, name, None), torch.nn.Module):
            return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self):
        """Removes the submodules that no node refers to."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    inner = self.get_submodule(node.target).named_modules(prefix=node.target)
                    used.update(name for name, _ in inner)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and files -----------------------------------------------------------------------
    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        fake = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, fake, fake.__dict__["_graph"], type(self).__name__)
        for name in (*_KEPT, *_HOOKS):
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self):
        made = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = getattr(self, "meta", {})
        return made

    def __reduce__(self):
        body = self.__dict__.copy()
        code = self._graph.python_code(root_module="self")
        body.pop("_graph", None)
        body["_code"] = code.src
        return reduce_graph_module, (body, import_block(code.globals))

    def to_folder(self, folder, module_name="FxModule"):
        """Writes the module as a Python package: ``module.py`` and its parameters, buffers and submodules."""
        folder = Path(folder)
        os.makedirs(folder, exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        code = self._graph.python_code(root_module="self")
        lines = [
            import_block(code.globals),
            "from torch.nn import *",
            "",
            f"class {module_name}(torch.nn.Module):",
        ]
        lines += ["    def __init__(self):", "        super().__init__()"]
        for name, module in self.named_children():
            torch.save(module, folder / f"{name}.pt")
            lines.append(
                f"        setattr(self, {name!r}, torch.load(r'{folder / name}.pt', weights_only=False))"
            )
        for kind, found in (("buffer", self._buffers), ("parameter", self._parameters)):
            for name, value in found.items():
                empty = f"torch.empty({list(value.shape)}, dtype={value.dtype})"
                if kind == "parameter":
                    empty = f"torch.nn.Parameter({empty})"
                lines.append(f"        self.register_{kind}({name!r}, {empty})")
        lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        body = "\n".join("    " + line for line in code.src.strip().split("\n"))
        (folder / "module.py").write_text("\n".join(lines) + f"\n\n{body}\n")
        (folder / "__init__.py").write_text("from .module import *\n")

    def print_readable(
        self, print_output=True, include_stride=False, include_device=False, colored=False, **kw
    ):
        """The code of this and all nested GraphModules as classes; printed too unless told not to."""
        text = _readable(self, type(self).__name__)
        if print_output:
            print(text)
        return text

    def __str__(self):
        return "\n".join(
            [
                super().__str__(),
                self._code,
                "# To see more debug info, please use `graph_module.print_readable()`",
            ]
        )

    # ---- hooks ----------------------------------------------------------------------------------
    def _register_replace_node_hook(self, f):
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)


def _readable(module, name):
    lines = [f"class {name}(torch.nn.Module):"]
    lines += ["    " + line if line.strip() else "" for line in module.code.strip().split("\n")]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            lines += ["", *("    " + line for line in _readable(child, child_name).split("\n"))]
    return "\n".join(lines) + "\n"


def _import_values(block):
    """The names that a block of imports gives; what it imports of torch is ours."""
    space = {}
    for line in block.splitlines():
        words = line.split()
        if words[:1] == ["from"] and public_module(words[1]).partition(".")[0] == "torch":
            value = resolve(f"{public_module(words[1])}.{words[3]}")
            if value is None:
                raise ImportError(
                    f"fx: {words[1]}.{words[3]}, which a saved GraphModule calls, is not there."
                )
            space[words[-1]] = value
        elif words[:2] == ["import", "torch"]:
            space["torch"] = torch
        elif words[:1] == ["import"] and words[1].startswith("torch."):
            space[words[-1]] = resolve(words[1])
        else:
            exec(line, space)
    return space


def reduce_graph_module(body, import_block):
    """A GraphModule from its pickle: attributes, source and imports; the source is traced again."""
    from ._symbolic_trace import Tracer

    source = body["_code"]
    forward = _forward_from_src(source, _import_values(import_block))
    code_only = _CodeOnlyModule(dict(body))
    name = body.get("_graphmodule_cls_name", "GraphModule")
    code_only.__class__ = type(name, (_CodeOnlyModule,), {"forward": forward})
    tracer_cls = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):
        """Every submodule is a leaf, as it was when the code was written."""

        def is_leaf_module(self, m, module_qualified_name):
            return True

    graph = KeepModules().trace(code_only)
    graph._tracer_cls = tracer_cls
    made = GraphModule(code_only, graph, name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made
