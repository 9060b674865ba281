"""What calls give: the API's, the project's, constructors, and built-in functions that pass values on."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

from . import api
from .context import Context
from .scope import Scope

from .values import (  # isort: skip
    BATCH, NOTHING, TENSOR, Api, ApiMethod, Batch, Bound, Class, Foreign, Function, Inst, Mapping, Object,
    Parent, Plain, Sequence, Text, Types, Unknown, Value, holder, join, mapping, plain, sequence, unknown,
)  # fmt: skip

Args = list[Types]
KwArgs = dict[str, Types]
KNOWN_LIBRARIES = frozenset(
    {"numpy", "scipy", "sklearn", "matplotlib", "PIL", "pandas", "tqdm", "cv2", "yaml"}
)
# What these return, or wrap so that it is called as before, is their first argument.
SAME = frozenset(
    {
        *(
            f"torch.nn.Module.{m}"
            for m in ("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "train")
        ),
        *(
            f"torch.nn.Module.{m}"
            for m in ("eval", "requires_grad_", "apply", "to_empty", "share_memory", "npu")
        ),
        "torch.device.__enter__",
    }
)
WRAPPERS = frozenset(
    {
        *(
            "torch.compile",
            "torch.jit.script",
            "torch.nn.DataParallel",
            "torch.nn.parallel.DistributedDataParallel",
        ),
        *("torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "functools.partial", "copy.deepcopy"),
        *(
            "torch.nn.utils.parametrizations.weight_norm",
            "torch.nn.utils.parametrizations.spectral_norm",
            "copy.copy",
        ),
        *(
            "torch.jit.trace",
            "torch.no_grad",
            "functools.wraps",
            "functools.lru_cache",
            "functools.cache",
            "tqdm.tqdm",
        ),
        *(
            "builtins.iter",
            "builtins.sorted",
            "builtins.reversed",
            "builtins.list",
            "builtins.tuple",
            "builtins.set",
        ),
        *(
            "tqdm.auto.tqdm",
            "tqdm",
            "typing.cast",
            "itertools.cycle",
            "itertools.islice",
            "collections.deque",
        ),
    }
)
HOLDERS = {"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList"}


class Caller(Context):
    """Calls."""

    def called(self, node: ast.Call) -> Types:
        callee = node.func
        if isinstance(callee, ast.Attribute):
            functions = self.attribute(callee, kind="call")
        else:
            functions = self.value(callee)
            for v in functions:
                if isinstance(v, Api) and isinstance(callee, ast.Name):
                    self.use(callee, v.name, "call")
                elif isinstance(v, Api) and isinstance(callee, ast.Call):  # getattr(torch.optim, name)(...)
                    last = ast.Attribute(callee, v.name.rpartition(".")[2])
                    self.use(ast.copy_location(last, callee), v.name, "call")
        args, kwargs = self.arguments(node)
        if isinstance(callee, ast.Attribute) and callee.attr == "add_argument":
            self.option(node, kwargs.get("default", NOTHING))
        self.calling.append(node)
        try:
            return self.call(node, functions, args, kwargs)
        finally:
            self.calling.pop()

    def option(self, node: ast.Call, default: Types) -> None:
        """An option of argparse: its default is what a run without it finds in the attribute of its name."""
        names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        named = next((n for n in names if n.startswith("--")), names[0] if names else "")
        texts = frozenset(v for v in default if isinstance(v, Text))
        if texts and named:
            attribute = named.lstrip("-").replace("-", "_")
            for place in (attribute, f"{self.scope.module.path}:{attribute}"):  # the file's own goes first
                self.work.grow(self.program.set_attribute(place), texts)

    def arguments(self, node: ast.Call) -> tuple[Args, KwArgs]:
        args: Args = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                args += self.spread(self.value(a.value))
            else:
                args.append(self.value(a))
        kwargs = {}
        for k in node.keywords:
            types = self.value(k.value)
            if k.arg is not None:
                kwargs[k.arg] = types
            else:
                for v in types:
                    kwargs |= dict(v.fields) if isinstance(v, Mapping) else {}
        return args, kwargs

    def spread(self, types: Types) -> Args:
        for v in types:
            if isinstance(v, Sequence) and v.items is not None:
                return list(v.items)
        return [self.elements(types)]

    def call(self, node: ast.AST | None, functions: Types, args: Args, kwargs: KwArgs) -> Types:
        """What calling any of the functions gives; no node: it is not the program's text that calls."""
        return join(*(self.call_one(node, f, args, kwargs) for f in functions))

    def call_one(self, node: ast.AST | None, f: Value, args: Args, kwargs: KwArgs) -> Types:
        if isinstance(f, Api):
            return self.call_api(f.name, args, kwargs)
        if isinstance(f, ApiMethod):
            return self.call_api_method(f, args, kwargs)
        if isinstance(f, Function):
            return self.call_function(f, args, kwargs)
        if isinstance(f, Bound):
            return self.call_function(f.function, [frozenset({f.owner}), *args], kwargs)
        if isinstance(f, Class):
            return self.construct(f, args, kwargs)
        if isinstance(f, Object):
            return self.call_object(node, f, args, kwargs)
        if isinstance(f, Inst):
            return self.call_instance(node, f, args, kwargs)
        if isinstance(f, Foreign):
            return self.call_foreign(node, f, args, kwargs)
        if isinstance(f, Unknown):
            return frozenset({f})
        return plain("something plain")

    # --- the API ----------------------------------------------------------------------------------
    def call_api(self, name: str, args: Args, kwargs: KwArgs) -> Types:
        first = args[0] if args else NOTHING
        if name in WRAPPERS and any(isinstance(v, (Object, Inst, Function, Bound)) for v in first):
            return first
        if name in HOLDERS:
            given = [*args, *kwargs.values()]
            parts = [self.elements(a, values=True) if any(map(is_container, a)) else a for a in given]
            parts = [frozenset(v for v in p if isinstance(v, (Object, Inst, Class))) for p in parts]
            return frozenset({holder(name, join(*parts) or None)})
        if name == "torch.utils.data.DataLoader":
            dataset = first or kwargs.get("dataset", NOTHING)
            return frozenset({holder(name, self.collated(self.elements(dataset)))})
        if name == "torch.utils.data.random_split":
            return frozenset({sequence(None, first or NOTHING)})
        if name in ("torch.utils.data.Subset", "torch.utils.data.ConcatDataset"):
            return frozenset(
                {holder(name, self.elements(self.elements(first) if "Concat" in name else first))}
            )
        if name == "torch.utils.data.TensorDataset":
            return frozenset({holder(name, frozenset({sequence([TENSOR for _ in args])}))})
        if name == "torch.save" and len(args) > 1:
            self.saved(args[0], args[1])
        if name == "torch.load" and (kept := self.loaded(first)):
            return kept
        if name == "torch.utils.checkpoint.checkpoint" and args:
            return self.call(None, first, args[1:], kwargs)
        if api.is_class(name):
            return frozenset({Inst(name)})
        return api.returned(name)

    def grown_list(self, f: ApiMethod, added: Types) -> Types:
        """A ModuleList after append or extend; what holds it holds the grown one."""
        if not isinstance(f.owner, Inst):
            return frozenset({f.owner})
        added = self.elements(added) if f.name.endswith("extend") else added
        grown = frozenset({holder(f.owner.cls, join(f.owner.element or NOTHING, added) or None)})
        place = self.container_of(f.owner)
        if place is not None:
            self.rebind(place, grown)
        return grown

    def saved(self, what: Types, place: Types) -> None:
        """What is saved may be loaded: from the same file, or beside it from one that is not known."""
        for file in (self.folder(), *(v.text for v in place if isinstance(v, Text))):
            self.work.grow(self.program.saved_in(file), what)

    def folder(self) -> str:
        return f"{Path(self.scope.module.path).parent}/"

    def loaded(self, place: Types) -> Types:
        cells = [self.program.saved_in(v.text) for v in place if isinstance(v, Text)]
        if not any(cell.types for cell in cells):
            cells.append(self.program.saved_in(self.folder()))
        for cell in cells:
            cell.readers.add(self.unit)
        return join(*(cell.types for cell in cells))

    def call_api_method(self, f: ApiMethod, args: Args, kwargs: KwArgs) -> Types:
        first = args[0] if args else NOTHING
        if f.name.startswith(("list.", "dict.")):
            return self.call_container(f, args)
        if f.name in SAME:
            return frozenset({f.owner})
        if f.name.endswith(".apply") and api.inherits(owner_class(f.owner), "torch.autograd.Function"):
            owner = f.owner.cls if isinstance(f.owner, Object) else f.owner
            return (
                self.call_method(owner, "forward", [NOTHING, *args]) if isinstance(owner, Class) else TENSOR
            )
        if f.name in ("torch.nn.ModuleList.append", "torch.nn.ModuleList.extend"):
            return self.grown_list(f, first)
        if f.name == "torch.optim.Optimizer.step" and first:  # a closure
            return self.call(None, first, [], {})
        if f.name.endswith(".modules") or f.name.endswith(".children"):
            return frozenset({sequence(None, frozenset({Inst("torch.nn.Module")}))})
        return api.returned(f.name)

    def call_container(self, f: ApiMethod, args: Args) -> Types:
        name = f.name.partition(".")[2]
        owner: Any = f.owner
        if name in ("append", "insert", "extend") and args:
            added = args[-1] if name != "extend" else self.elements(args[0])
            grown = frozenset({sequence(None, join(owner.element, added))})
            place = self.container_of(owner)
            if place is not None:
                self.rebind(place, grown)
            return plain("None")
        if name == "items":
            return frozenset({sequence(None, frozenset({sequence([plain("str"), owner.element])}))})
        if name == "keys":
            return frozenset({sequence(None, plain("str"))})
        if name == "values":
            return frozenset({sequence(None, owner.element)})
        if name in ("get", "pop", "setdefault"):
            fields = dict(owner.fields) if isinstance(owner, Mapping) else {}
            keys = [v.text for v in (args[0] if args else ()) if isinstance(v, Text)]
            known = [fields[k] for k in keys if k in fields]
            return join(*(known or [owner.element]), *args[1:2])
        return frozenset({owner})

    def container_of(self, owner: Value) -> ast.expr | None:
        """The expression whose container is being changed: the object of the method that is called now."""
        node = self.calling[-1].func if self.calling else None
        return node.value if isinstance(node, ast.Attribute) else None

    def call_instance(self, node: ast.AST | None, f: Inst, args: Args, kwargs: KwArgs) -> Types:
        member = api.member(f.cls, "__call__")
        if member:
            self.use(node, member, "call", at=getattr(node, "func", None))
        if f.element is not None:
            result = TENSOR
            for one in f.element:
                if isinstance(one, Object):
                    result = self.call_one(None, one, args, kwargs) or TENSOR
            return result if f.cls == "torch.nn.Sequential" else api.called(f.cls)
        return api.called(f.cls)

    # --- the project ------------------------------------------------------------------------------
    def call_function(self, function: Function, args: Args, kwargs: KwArgs) -> Types:
        unit = self.program.unit(function)
        unit.called = True
        node = function.node.args
        names = [a.arg for a in (*node.posonlyargs, *node.args)]
        for name, types in zip(names, args):
            self.work.grow(unit.params[name], types)
        if node.vararg is not None and len(args) > len(names):
            self.work.grow(
                unit.params[node.vararg.arg], frozenset({sequence(None, join(*args[len(names) :]))})
            )
        rest = {}
        for name, types in kwargs.items():
            if name in unit.params:
                self.work.grow(unit.params[name], types)
            else:
                rest[name] = types
        if node.kwarg is not None and rest:
            self.work.grow(unit.params[node.kwarg.arg], frozenset({mapping(rest)}))
        unit.result.readers.add(self.unit)
        unit.yields.readers.add(self.unit)
        noted = self.program.returns(function, self)
        if unit.yields.types:
            return frozenset({sequence(None, unit.yields.types)})
        found = (
            frozenset(v for v in unit.result.types if not isinstance(v, Unknown))
            if noted
            else unit.result.types
        )
        return join(found, noted)

    def call_method(self, owner: Value, name: str, args: Args) -> Types:
        """The result of a method of the project's class, or nothing where it has none."""
        cls = owner.cls if isinstance(owner, Object) else owner
        me = frozenset({owner})
        for at in cls.lineage():
            cell = at.scope.cells.get(name) if isinstance(at, Class) else None
            if cell is not None and cell.types:
                cell.readers.add(self.unit)
                functions = [v for v in cell.types if isinstance(v, Function)]
                static = [f.kind == "staticmethod" for f in functions]
                return join(
                    *(
                        self.call_function(f, args if s else [me, *args], {})
                        for f, s in zip(functions, static)
                    )
                )
        return NOTHING

    def construct(self, cls: Class, args: Args, kwargs: KwArgs) -> Types:
        made = Object(cls)
        found = False
        for at in cls.lineage():
            cell = at.scope.cell("__init__") if isinstance(at, Class) else None
            if cell is None:
                continue
            cell.readers.add(self.unit)
            for f in cell.types:
                if isinstance(f, Function):
                    self.call_function(f, [frozenset({made}), *args], kwargs)
                    found = True
            if found:
                break
        if not found:
            self.fill_fields(cls, args, kwargs)
        return frozenset({made})

    def fill_fields(self, cls: Class, args: Args, kwargs: KwArgs) -> None:
        """A dataclass or NamedTuple: its arguments are its fields, in order."""
        fields = self.program.fields(cls)
        for name, types in [*zip(fields, args), *((k, v) for k, v in kwargs.items() if k in fields)]:
            self.work.grow(cls.scope.cell(name), types)

    def call_object(self, node: ast.AST | None, f: Object, args: Args, kwargs: KwArgs) -> Types:
        base = f.cls.api_base()
        own = f.cls.scope.cells.get("__call__")
        if own is not None and own.types:
            return self.call_method(f, "__call__", args)
        member = api.member(base, "__call__") if base else None
        if member:
            self.use(node, member, "call", at=getattr(node, "func", None))
            for at in f.cls.lineage():
                cell = at.scope.cell("forward") if isinstance(at, Class) else None
                if cell is None:
                    continue
                cell.readers.add(self.unit)
                functions = [v for v in cell.types if isinstance(v, Function)]
                if functions:
                    me = frozenset({f})
                    return join(*(self.call_function(g, [me, *args], kwargs) for g in functions))
            return api.called(base)
        return self.call_method(f, "__call__", args) or unknown(
            f"nothing tells what calling a {f.cls.name} gives"
        )

    # --- Python's own, and other libraries ----------------------------------------------------------
    def call_foreign(self, node: ast.AST | None, f: Foreign, args: Args, kwargs: KwArgs) -> Types:
        name, first = f.name, args[0] if args else NOTHING
        if name in WRAPPERS:
            if name.startswith(("builtins.", "itertools")) or "tqdm" in name:
                return (
                    frozenset({sequence(None, self.elements(first))})
                    if first
                    else frozenset({sequence(None)})
                )
            return args[1] if name == "typing.cast" and len(args) > 1 else first
        special = self.BUILTINS.get(name)
        if special is not None:
            return special(self, node, args, kwargs)
        top = name.partition(".")[0]
        if top in KNOWN_LIBRARIES or top in sys.stdlib_module_names or top in ("builtins", "dict"):
            return plain(f"made by {name}")
        return unknown(f"what {name} returns is not known: it is outside the project")

    def enumerated(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        return frozenset({sequence(None, frozenset({sequence([plain("int"), self.elements(args[0])])}))})

    def zipped(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        return frozenset({sequence(None, frozenset({sequence([self.elements(a) for a in args])}))})

    def mapped(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        given = [self.elements(a) for a in args[1:]]
        return frozenset({sequence(None, self.call(None, args[0], given, {}))})

    def filtered(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        inside = self.elements(args[1])
        self.call(None, args[0], [inside], {})
        return frozenset({sequence(None, inside)})

    def next_(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        return join(self.elements(args[0]), *args[1:])

    def summed(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        inside = self.elements(args[0])
        return TENSOR if inside >= TENSOR else inside

    def largest(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        return join(*args) if len(args) > 1 else self.elements(args[0])

    def super_(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        scope: Scope | None = self.scope
        while scope is not None and scope.cls is None:
            scope = scope.parent
        return frozenset({Parent(scope.cls)}) if scope is not None and scope.cls is not None else NOTHING

    def attribute_by_name(self, node: Any, args: Args, kwargs: KwArgs) -> Types:
        names = [v.text for v in args[1] if isinstance(v, Text)] if len(args) > 1 else []
        found = [
            self.attribute_of(ast.copy_location(ast.Attribute(node, n), node), owner, "read")
            for n in (names if node is not None else ())
            for owner in args[0]
        ]
        known = join(*found, *args[2:3])
        return known or unknown("getattr with a name that only the run knows")

    def made_dict(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        if args and not kwargs:
            held = [v for v in args[0] if isinstance(v, Mapping)]
            return frozenset(held) if held else frozenset({mapping({}, self.elements(args[0]))})
        return frozenset({mapping(kwargs)})

    def product(self, node: ast.AST | None, args: Args, kwargs: KwArgs) -> Types:
        return frozenset({sequence(None, frozenset({sequence([self.elements(a) for a in args])}))})

    BUILTINS = {
        "builtins.enumerate": enumerated,
        "builtins.zip": zipped,
        "builtins.map": mapped,
        "builtins.filter": filtered,
        "builtins.next": next_,
        "builtins.sum": summed,
        "builtins.max": largest,
        "builtins.min": largest,
        "builtins.abs": lambda self, node, args, kwargs: args[0] if args else NOTHING,
        "builtins.super": super_,
        "builtins.getattr": attribute_by_name,
        "builtins.dict": made_dict,
        "collections.OrderedDict": made_dict,
        "collections.defaultdict": lambda self, node, args, kwargs: frozenset({mapping({})}),
        "itertools.product": product,
        "itertools.chain": lambda self, node, args, kwargs: frozenset(
            {sequence(None, join(*(self.elements(a) for a in args)))}
        ),
    }

    # --- what is inside -----------------------------------------------------------------------------
    def elements(self, types: Types, values: bool = False) -> Types:
        """What iterating gives; of a dict, its keys, or its values where those are asked for."""
        return join(*(self.inside(v, values) for v in types))

    def inside(self, v: Value, values: bool = False) -> Types:
        if isinstance(v, Sequence):
            return v.element
        if isinstance(v, Mapping):
            return v.element if values else plain("str")
        if isinstance(v, Inst):
            return v.element if v.element is not None else api.iterated(v.cls)
        if isinstance(v, Batch):
            return BATCH
        if isinstance(v, Object):
            return self.inside_object(v)
        if isinstance(v, Unknown):
            return frozenset({v})
        return plain("part of something plain")

    def inside_object(self, v: Object) -> Types:
        if v in self.opened:  # an object that iterates over its like
            return NOTHING
        self.opened.append(v)
        try:
            return self.items_of(v)
        finally:
            self.opened.pop()

    def items_of(self, v: Object) -> Types:
        for name in ("__iter__", "__getitem__"):
            found = self.call_method(v, name, [plain("int")] if name == "__getitem__" else [])
            if found:
                return self.elements(found) if name == "__iter__" else found
        base = v.cls.api_base()
        return api.iterated(base) if base else unknown(f"nothing tells what is in a {v.cls.name}")

    def collated(self, item: Types) -> Types:
        """A batch of such items, as the default collate function makes it."""
        found: list[Types] = []
        for v in item:
            if isinstance(v, Sequence):
                parts = [self.collated(i) for i in v.items] if v.items is not None else None
                found.append(frozenset({sequence(parts, None if parts else self.collated(v.element))}))
            elif isinstance(v, Mapping):
                found.append(
                    frozenset({mapping({k: self.collated(t) for k, t in v.fields}, self.collated(v.element))})
                )
            elif isinstance(v, (Text,)) or v == Plain("str"):
                found.append(frozenset({sequence(None, plain("str"))}))
            elif isinstance(v, (Plain, Inst)):
                found.append(TENSOR)
            else:
                found.append(BATCH)
        return join(*found) or BATCH

    def entered(self, types: Types) -> Types:
        """What `with ... as` binds."""
        found = []
        for v in types:
            own = self.call_method(v, "__enter__", []) if isinstance(v, Object) else NOTHING
            found.append(own or frozenset({v}))
        return join(*found)

    def decorated(self, decorator: ast.expr, types: Types, function: Function) -> Types:
        """A function after a decorator: most leave its calls as they are."""
        named = self.value(decorator)
        last = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if last in ("property", "cached_property"):
            function.kind = "property"
        elif last in ("staticmethod", "classmethod"):
            function.kind = last
        elif last in ("setter", "getter", "deleter"):
            return frozenset()
        own = [v for v in named if isinstance(v, Function)]
        for wrapper in own:
            self.call_function(wrapper, [types], {})
        return types


def is_container(value: Value) -> bool:
    return isinstance(value, (Sequence, Mapping))


def owner_class(owner: Value) -> str:
    if isinstance(owner, (Inst, Api)):
        return owner.cls if isinstance(owner, Inst) else owner.name
    if isinstance(owner, Object):
        return owner.cls.api_base() or ""
    return owner.api_base() or "" if isinstance(owner, Class) else ""
