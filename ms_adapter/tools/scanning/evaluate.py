"""What expressions may be, and the uses of the API in them."""

from __future__ import annotations

import ast
import builtins
from typing import Any, ClassVar

from . import api
from .calls import Caller
from .scope import Scope

from .values import (  # isort: skip
    BATCH, NOTHING, TENSOR, Api, ApiMethod, Batch, Bound, Class, Foreign, Function, Inst, Mapping, Module,
    Object, Parent, Plain, Sequence, Text, Types, Unknown, Value, join, mapping, plain, sequence, unknown,
)  # fmt: skip

OPERATORS = {
    getattr(ast, node): name
    for node, name in (
        *(("Add", "add"), ("Sub", "sub"), ("Mult", "mul"), ("Div", "truediv"), ("FloorDiv", "floordiv")),
        *(("Mod", "mod"), ("Pow", "pow"), ("MatMult", "matmul"), ("BitAnd", "and"), ("BitOr", "or")),
        *(("BitXor", "xor"), ("LShift", "lshift"), ("RShift", "rshift"), ("Eq", "eq"), ("NotEq", "ne")),
        *(("Lt", "lt"), ("LtE", "le"), ("Gt", "gt"), ("GtE", "ge"), ("USub", "neg"), ("UAdd", "pos")),
        ("Invert", "invert"),
    )
}


class Evaluator(Caller):
    """Expressions. A method for each kind of node; what has none is walked for the uses inside it."""

    def value(self, node: ast.expr, silent: bool = False) -> Types:
        """What the expression may be. Silent: without taking down its uses a second time."""
        if silent:
            kept, self.uses = self.uses, {}
            try:
                return self.value(node)
            finally:
                self.uses = kept
        method = self.EXPRESSIONS.get(type(node))
        if method is not None:
            return method(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return NOTHING

    # --- names ------------------------------------------------------------------------------------
    def name(self, node: ast.Name) -> Types:
        types = self.lookup(node.id)
        for v in types:
            if isinstance(v, Api) and not api.is_module(v.name):
                self.use(node, v.name, "read")
        return types

    def lookup(self, name: str) -> Types:
        found = self.env.get(name) if self.env is not None else None
        if found is not None:
            return found
        scope: Scope | None = self.scope
        while scope is not None:
            cell = scope.cells.get(name)
            if cell is not None and (scope.kind != "class" or scope is self.scope):
                cell.readers.add(self.unit)
                if cell.types:
                    return cell.types
            scope = scope.parent
        if name == "__name__" or name == "__file__":
            return plain("str")
        if hasattr(builtins, name):
            return frozenset({Foreign(f"builtins.{name}")})
        return NOTHING

    def constant(self, node: ast.Constant) -> Types:
        value = node.value
        if type(value) is str and len(value) < 80:
            return frozenset({Text(value)})
        return plain(type(value).__name__ if value is not None else "None")

    # --- attributes -------------------------------------------------------------------------------
    def attribute(self, node: ast.Attribute, kind: str = "read") -> Types:
        owners = self.value(node.value)
        if node.attr in api.RESULT_FIELDS and any(isinstance(o, Sequence) for o in owners):
            return join(*(o.element for o in owners if isinstance(o, Sequence)))  # x.max(0).values
        found = [self.attribute_of(node, owner, kind) for owner in owners]
        if owners and all(isinstance(o, Unknown) for o in owners) and node.attr in api.telling():
            why = next(o.why for o in owners if isinstance(o, Unknown))
            self.unsure(node, node.attr, why)
        elif not owners and node.attr in api.telling():
            self.unsure(
                node, node.attr, f"nothing in the project gives `{ast.unparse(node.value)[:60]}` a value"
            )
        return join(*found)

    def attribute_of(self, node: ast.Attribute, owner: Value, kind: str) -> Types:
        name = node.attr
        if isinstance(owner, Api):
            return self.api_attribute(node, owner, kind)
        if isinstance(owner, Inst):
            return self.object_attribute(node, owner, kind)
        if isinstance(owner, Batch):
            member = api.member("torch.Tensor", name)
            if name in ("keys", "items", "values"):
                return frozenset({Foreign(f"dict.{name}")})
            return self.object_attribute(node, Inst("torch.Tensor"), kind) if member else BATCH
        if isinstance(owner, Object):
            return self.class_attribute(node, owner.cls, owner, kind)
        if isinstance(owner, Class):
            return self.class_attribute(node, owner, owner, kind)
        if isinstance(owner, Parent):
            return self.parent_attribute(node, owner, kind)
        if isinstance(owner, Module):
            return self.module_attribute(owner, name)
        if isinstance(owner, Foreign):
            full = api.theirs(f"{owner.name}.{name}")
            return frozenset({Api(full) if api.is_api(full) else Foreign(full)})
        if isinstance(owner, (Sequence, Mapping, Plain, Text)):
            return self.plain_attribute(owner, name)
        if isinstance(owner, (Function, Bound)):
            return frozenset({owner}) if name in ("__wrapped__", "__func__") else self.loose(name)
        return unknown(owner.why) if isinstance(owner, Unknown) else self.loose(name)

    def plain_attribute(self, owner: Value, name: str) -> Types:
        if isinstance(owner, Sequence) and name in ("append", "extend", "insert", "pop", "copy"):
            return frozenset({ApiMethod(f"list.{name}", owner)})
        if isinstance(owner, Mapping) and name in (
            "items",
            "values",
            "keys",
            "get",
            "pop",
            "copy",
            "setdefault",
        ):
            return frozenset({ApiMethod(f"dict.{name}", owner)})
        loose = self.loose(name)
        return loose if loose and isinstance(owner, Plain) else plain("part of something plain")

    def loose(self, name: str) -> Types:
        """What was put into an attribute of that name of any object whose class is not known."""
        own = self.program.loose.get(f"{self.scope.module.path}:{name}")
        cell = own or self.program.loose.get(name)
        if cell is None:
            return NOTHING
        cell.readers.add(self.unit)
        return cell.types

    def api_attribute(self, node: ast.Attribute, owner: Api, kind: str) -> Types:
        full = f"{owner.name}.{node.attr}"
        if api.is_module(full):
            return frozenset({Api(full)})
        if api.is_class(owner.name) and not api.is_module(owner.name):
            member = api.member(owner.name, node.attr)
            self.use(node, member or full, kind)
            return frozenset({ApiMethod(member or full, owner)})
        name = api.canonical(full)
        self.use(node, name, kind)
        return (
            api.parsed(api.TABLE["attribute"][name])
            if name in api.TABLE["attribute"]
            else frozenset({Api(name)})
        )

    def object_attribute(self, node: ast.Attribute, owner: Inst, kind: str) -> Types:
        member = api.member(owner.cls, node.attr)
        if member is None and owner.element and owner.cls == "torch.nn.ModuleDict":
            return owner.element
        if member is None:
            loose = self.loose(node.attr)
            return loose or unknown(f"a {owner.cls} has no attribute {node.attr} that the scan knows of")
        self.use(node, member, kind)
        if api.is_method(member):
            return frozenset({ApiMethod(member, owner)})
        return api.attribute(member)

    def use_attribute(self, node: ast.Attribute, owner: Value, kind: str) -> None:
        """Take down an attribute that is set: `p.grad = None`, `torch.backends.cudnn.benchmark = True`."""
        if isinstance(owner, Inst):
            member = api.member(owner.cls, node.attr)
            if member:
                self.use(node, member, kind)
        elif isinstance(owner, Api):
            self.use(node, api.canonical(f"{owner.name}.{node.attr}"), kind)

    def class_attribute(self, node: ast.Attribute, cls: Class, owner: Value, kind: str) -> Types:
        line = list(cls.lineage())
        found = self.inherited_attribute(node, line, owner, kind)
        if found:
            return found
        if cls.api_base() and node.attr == "module":  # DataParallel and its like are looked through
            return frozenset({owner})
        foreign = [at.name for at in line if isinstance(at, Foreign)]
        why = f"inherits from {foreign[-1]}" if foreign else f"has nothing that sets {node.attr}"
        return self.loose(node.attr) or unknown(f"{cls.name} {why}")

    def parent_attribute(self, node: ast.Attribute, owner: Parent, kind: str) -> Types:
        return self.inherited_attribute(node, list(owner.cls.lineage())[1:], Object(owner.cls), kind)

    def inherited_attribute(
        self, node: ast.Attribute, line: list[Class | Api | Foreign], owner: Value, kind: str
    ) -> Types:
        """The attribute of the first class in the line that has it, as one of the owner's."""
        for at in line:
            if isinstance(at, Class):
                cell = at.scope.cell(node.attr)
                cell.readers.add(self.unit)
                if cell.types:
                    return self.bound(cell.types, owner, node)
            elif isinstance(at, Api) and api.member(at.name, node.attr):
                found = self.object_attribute(node, Inst(at.name), kind)
                if found:
                    return self.owned(found, owner)
        return NOTHING

    def owned(self, types: Types, owner: Value) -> Types:
        """Methods that were found for a base belong to the object itself."""
        return frozenset(ApiMethod(v.name, owner) if isinstance(v, ApiMethod) else v for v in types)

    def bound(self, types: Types, owner: Value, node: ast.AST) -> Types:
        if not any(isinstance(v, Function) for v in types):
            return types
        found: list[Types] = []
        for v in types:
            if not isinstance(v, Function) or v.kind == "staticmethod" or v.owner is None:
                found.append(frozenset({v}))
            elif v.kind == "property":
                found.append(self.call_function(v, [frozenset({owner})], {}))
            elif isinstance(owner, Class) and v.kind == "method":
                found.append(frozenset({v}))
            else:
                found.append(frozenset({Bound(v, owner)}))
        return join(*found)

    def module_attribute(self, module: Module, name: str) -> Types:
        cell = self.program.module_scope(module).cell(name)
        cell.readers.add(self.unit)
        if cell.types:
            return cell.types
        inner = self.program.project.find(f"{module.name}.{name}")
        return frozenset({inner}) if inner else NOTHING

    # --- operators --------------------------------------------------------------------------------
    def binary(self, node: ast.BinOp) -> Types:
        return self.operation(node, node.op, self.value(node.left), self.value(node.right))

    def operation(
        self, node: ast.AST, op: ast.operator, left: Types, right: Types, inplace: bool = False
    ) -> Types:
        if is_tensor(left) or is_tensor(right):
            self.use(node, f"torch.Tensor.__{'i' * inplace}{OPERATORS[type(op)]}__", "operator")
            return TENSOR
        if any(isinstance(v, Batch) for v in left | right):
            return TENSOR
        lists = [v for v in left | right if isinstance(v, Sequence)]
        if lists and isinstance(op, (ast.Add, ast.Mult)):
            return frozenset({sequence(None, join(*(v.element for v in lists)))})
        texts = [v for v in left | right if isinstance(v, (Text, Plain))]
        if texts and len(texts) == len(left | right):
            return plain("str" if any(isinstance(v, Text) for v in texts) else "number")
        unknowns = [v for v in left | right if isinstance(v, Unknown)]
        return frozenset(unknowns[:1]) if unknowns else plain("number") if left or right else NOTHING

    def unary(self, node: ast.UnaryOp) -> Types:
        types = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return plain("bool")
        if is_tensor(types):
            self.use(node, f"torch.Tensor.__{OPERATORS[type(node.op)]}__", "operator")
        return types

    def compare(self, node: ast.Compare) -> Types:
        left, result = self.value(node.left), plain("bool")
        for op, comparator in zip(node.ops, node.comparators):
            right = self.value(comparator)
            if type(op) in OPERATORS and (is_tensor(left) or is_tensor(right)):
                self.use(node, f"torch.Tensor.__{OPERATORS[type(op)]}__", "operator")
                result = TENSOR
            left = right
        return result

    def boolean(self, node: ast.BoolOp) -> Types:
        return join(*[self.value(v) for v in node.values])

    def choice(self, node: ast.IfExp) -> Types:
        self.value(node.test)
        narrowed, otherwise = self.narrowed(node.test)
        before, found = self.env, []
        for part, known in ((node.body, narrowed), (node.orelse, otherwise)):
            self.env = {**before, **known}
            found.append(self.value(part))
        self.env = before
        return join(*found)

    def narrowed(self, test: ast.expr) -> tuple[dict[str, Types], dict[str, Types]]:
        """What a test says of names where it holds, and where it does not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yes, no = self.narrowed(test.operand)
            return no, yes
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            both: dict[str, Types] = {}
            for part in test.values:
                both.update(self.narrowed(part)[0])
            return both, {}
        if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2):
            return {}, {}
        subject, against = test.args
        if test.func.id != "isinstance" or not isinstance(subject, ast.Name):
            return {}, {}
        kinds = against.elts if isinstance(against, ast.Tuple) else [against]
        wanted = join(*(self.made(self.value(k, silent=True)) for k in kinds))
        now = self.lookup(subject.id)
        same = frozenset(v for v in now if any(is_kind(v, w) for w in wanted))
        return {subject.id: same or wanted}, {subject.id: now - same} if now - same else {}

    def made(self, kinds: Types) -> Types:
        """An object of each class among the values."""
        return join(*(self.objects(k) for k in kinds))

    def objects(self, kind: Value) -> Types:
        if isinstance(kind, Api):
            return frozenset({Inst(kind.name)})
        if isinstance(kind, Class):
            return frozenset({Object(kind)})
        if isinstance(kind, Foreign):
            last = kind.name.rpartition(".")[2]
            if last in ("list", "tuple", "List", "Tuple", "Sequence", "Iterable"):
                return frozenset({sequence(None, unknown("the items of a list that is only known as such"))})
            if last in ("dict", "Dict", "Mapping"):
                return frozenset({mapping({}, unknown("the values of a dict that is only known as such"))})
            return plain(last)
        return NOTHING

    # --- containers -------------------------------------------------------------------------------
    def tuple_(self, node: ast.Tuple | ast.List) -> Types:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            parts = [
                self.elements(self.value(e.value)) if isinstance(e, ast.Starred) else self.value(e)
                for e in node.elts
            ]
            return frozenset({sequence(None, join(*parts))})
        return frozenset({sequence([self.value(e) for e in node.elts])})

    def set_(self, node: ast.Set) -> Types:
        return frozenset({sequence(None, join(*[self.value(e) for e in node.elts]))})

    def dict_(self, node: ast.Dict) -> Types:
        fields: dict[str, Types] = {}
        rest: list[Types] = []
        for key, item in zip(node.keys, node.values):
            types = self.value(item)
            if key is None:
                rest.append(self.elements(types, values=True))
                continue
            self.value(key)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                fields[key.value] = types
            rest.append(types)
        return frozenset({mapping(fields, join(*rest))})

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Types:
        before = self.env
        self.env = dict(before)
        for generator in node.generators:
            self.assign(generator.target, self.elements(self.value(generator.iter)))
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            result: Types = frozenset({mapping({}, self.value(node.value))})
        else:
            result = frozenset({sequence(None, self.value(node.elt))})
        self.env = before
        return result

    def subscript(self, node: ast.Subscript) -> Types:
        owners = self.value(node.value)
        index = self.value(node.slice)
        if is_tensor(owners):
            self.use(node, "torch.Tensor.__getitem__", "operator")
        return join(*(self.item(owner, node.slice, index) for owner in owners))

    def item(self, owner: Value, place: ast.expr, index: Types) -> Types:
        if isinstance(owner, Sequence):
            if isinstance(place, ast.Slice):
                return frozenset({sequence(None, owner.element)})
            k = constant_int(place)
            items = owner.items or ()
            return items[k] if k is not None and -len(items) <= k < len(items) else owner.element
        if isinstance(owner, Mapping):
            fields = dict(owner.fields)
            keys = [v.text for v in index if isinstance(v, Text)]
            known = [fields[k] for k in keys if k in fields]
            return join(*known) if known and len(known) == len(index) else owner.element
        if isinstance(owner, Inst):
            if owner.cls == "torch.nn.Sequential" and isinstance(place, ast.Slice):
                return frozenset({owner})
            return owner.element if owner.element is not None else api.iterated(owner.cls)
        if isinstance(owner, Batch):
            return BATCH
        if isinstance(owner, Object):
            return self.call_method(owner, "__getitem__", [index])
        if isinstance(owner, Foreign):  # list[int], np.r_[...]
            return frozenset({owner})
        return frozenset({owner}) if isinstance(owner, Unknown) else plain("part of something plain")

    def with_item(self, owners: Types, index: Types, types: Types) -> Types:
        """The containers after `owner[index] = types`."""
        grown = []
        for owner in owners:
            if isinstance(owner, Mapping):
                fields = dict(owner.fields)
                for key in index:
                    if isinstance(key, Text):
                        fields[key.text] = join(fields.get(key.text, NOTHING), types)
                owner = mapping(fields, join(owner.element, types))
            elif isinstance(owner, Sequence):
                owner = sequence(None, join(owner.element, types))
            grown.append(owner)
        return frozenset(grown)

    # --- the rest ---------------------------------------------------------------------------------
    def lambda_(self, node: ast.Lambda) -> Types:
        return frozenset({self.program.function(node, self.scope)})

    def await_(self, node: ast.Await) -> Types:
        return self.value(node.value)

    def yield_(self, node: ast.Yield) -> Types:
        if node.value is not None:
            self.work.grow(self.unit.yields, self.value(node.value))
        return NOTHING

    def yield_from(self, node: ast.YieldFrom) -> Types:
        self.work.grow(self.unit.yields, self.elements(self.value(node.value)))
        return NOTHING

    def walrus(self, node: ast.NamedExpr) -> Types:
        types = self.value(node.value)
        self.assign(node.target, types)
        return types

    def text(self, node: ast.JoinedStr) -> Types:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.value(part.value)
        return plain("str")

    # --- imports ----------------------------------------------------------------------------------
    def imported(self, node: ast.AST | None, name: str) -> Types:
        """What `import name` binds."""
        name = api.theirs(name)
        if api.is_api(name):
            if node is not None:
                self.use(node, name, "import")
            return frozenset({Api(name)})
        module = self.program.project.find(name, self.scope.module)
        if module is not None:
            return frozenset({module})
        if self.program.project.is_package(name):
            return frozenset({Module(name, "", True)})
        return frozenset({Foreign(name)})

    def absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return api.theirs(node.module or "")
        own = self.scope.module
        parts = own.name.split(".")
        base = parts[: len(parts) - node.level + own.is_package]
        return ".".join([*base, *([node.module] if node.module else [])])

    def imported_name(self, node: ast.ImportFrom, module: str, name: str) -> Types:
        full = api.theirs(f"{module}.{name}")
        if api.is_api(full):
            if api.is_module(full):
                self.use(node, full, "import")
                return frozenset({Api(full)})
            self.use(node, api.canonical(full), "import")
            return frozenset({Api(api.canonical(full))})
        own = self.program.project.find(module, None if node.level else self.scope.module)
        if own is not None:
            found = self.module_attribute(own, name)
            if found:
                return found
        inner = self.program.project.find(f"{module}.{name}" if module else name)
        if inner is not None:
            return frozenset({inner})
        return NOTHING if own is not None else frozenset({Foreign(f"{module}.{name}")})

    def star(self, node: ast.ImportFrom, module: str) -> dict[str, Types]:
        """The names that `from module import *` binds."""
        if api.is_api(module):
            self.use(node, module, "import")
            there = api.face(module)
            names = getattr(there, "__all__", None) or [n for n in dir(there) if not n.startswith("_")]
            full = {n: f"{module}.{n}" for n in names}
            return {n: frozenset({Api(f if api.is_module(f) else api.canonical(f))}) for n, f in full.items()}
        own = self.program.project.find(module, None if node.level else self.scope.module)
        if own is None:
            return {}
        found = {}
        for name, cell in list(self.program.module_scope(own).cells.items()):
            cell.readers.add(self.unit)
            if not name.startswith("_") and cell.types:
                found[name] = cell.types
        return found

    EXPRESSIONS: ClassVar[dict[type, Any]] = {
        ast.Name: name,
        ast.Constant: constant,
        ast.Attribute: attribute,
        ast.Call: Caller.called,
        ast.BinOp: binary,
        ast.UnaryOp: unary,
        ast.Compare: compare,
        ast.BoolOp: boolean,
        ast.IfExp: choice,
        ast.Tuple: tuple_,
        ast.List: tuple_,
        ast.Set: set_,
        ast.Dict: dict_,
        ast.ListComp: comprehension,
        ast.SetComp: comprehension,
        ast.GeneratorExp: comprehension,
        ast.DictComp: comprehension,
        ast.Subscript: subscript,
        ast.Lambda: lambda_,
        ast.Await: await_,
        ast.Yield: yield_,
        ast.YieldFrom: yield_from,
        ast.NamedExpr: walrus,
        ast.JoinedStr: text,
    }


def is_tensor(types: Types) -> bool:
    return any(type(v) is Inst and api.inherits(v.cls, "torch.Tensor") for v in types)


def is_kind(value: Value, wanted: Value) -> bool:
    """Whether a value is an object of the class of which `wanted` is one."""
    if isinstance(value, Inst) and isinstance(wanted, Inst):
        return api.inherits(value.cls, wanted.cls)
    if isinstance(value, Object) and isinstance(wanted, Inst):
        return api.inherits(value.cls.api_base() or "", wanted.cls)
    if isinstance(value, Object) and isinstance(wanted, Object):
        return wanted.cls in list(value.cls.lineage())
    return type(value) is type(wanted) and (not isinstance(value, Plain) or value == wanted)


def constant_int(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant_int(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
