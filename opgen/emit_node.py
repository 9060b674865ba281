"""Emits the backward node of a row: what it saves, when, and its `apply` from the gradient formulas."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from .formula import PROPERTIES, Compiler, Library, Term
from .load import Row
from .schema import Param, block


@dataclass
class Formula:
    """One compiled gradient formula and the inputs it serves."""

    targets: list[Param]
    cpp: str
    used: dict[str, Term]
    properties: dict[str, tuple[str, str]]

    @property
    def reads(self) -> list[str]:
        """The C++ names of the values that it reads."""
        return list(dict.fromkeys(term.cpp for term in self.used.values()))


@dataclass
class Saved:
    """A value that a node keeps from forward to backward: in which lines, and the inputs whose formulas need it."""

    param: Param | None  # None: a result
    member: str
    save: str  # to format with the tensor and whether it is an output of the node
    unpack: str = ""
    release: str = ""
    targets: list[Param] = field(default_factory=list)


def keep(name: str, param: Param | None) -> Saved:
    if param is None or param.is_tensor:
        return Saved(param, f"SavedTensor {name}_;", f"node->{name}_ = SavedTensor({{}}, {{}});",
                     f"Tensor {name} = {name}_.unpack(this);", f"{name}_.reset();")
    if param.type == "Tensor[]":
        save = f"for (const Tensor& t : {name}) node->{name}_.emplace_back(t, false);"
        return Saved(param, f"std::vector<SavedTensor> {name}_;", save,
                     f"TensorList {name} = unpack_all({name}_, this);", f"for (SavedTensor& saved : {name}_) saved.reset();")
    return Saved(param, f"{param.kind.owned} {name};", f"node->{name} = {name};")


@dataclass
class Node:
    """Everything the emitters need to know of a row's backward node."""

    row: Row
    formulas: list[Formula]

    @cached_property
    def edges(self) -> list[Param]:
        served = {t.name for f in self.formulas for t in f.targets}
        return [p for p in self.row.params if p.name in served]

    @cached_property
    def saved(self) -> dict[str, Saved]:
        kept: dict[str, Saved] = {}
        params = {p.cpp: p for p in self.row.params}
        for formula in self.formulas:
            for term in formula.used.values():
                if not re.fullmatch(r"grad\d+", term.cpp) and term.type not in ("grads", "needs"):
                    kept.setdefault(term.cpp, keep(term.cpp, params.get(term.cpp))).targets.extend(formula.targets)
        return kept

    @cached_property
    def properties(self) -> dict[str, tuple[str, str]]:
        return {k: v for f in self.formulas for k, v in f.properties.items()}

    @property
    def struct(self) -> str:
        return f"{self.row.cpp.strip('_').title().replace('_', '')}Node"

    def slot(self, param: Param) -> str:
        """The index of a parameter's (first) edge, as a C++ expression."""
        before = self.edges[:next(i for i, p in enumerate(self.edges) if p is param)]
        lists = [f"{p.cpp}_count" for p in before if p.type == "Tensor[]"]
        fixed = len(before) - len(lists)
        return " + ".join(lists + [str(fixed)] * (fixed > 0 or not lists))

    def wants(self, param: Param) -> str:
        if param.type == "Tensor[]":
            return f"wants_any(*this, {self.slot(param)}, {param.cpp}_count)"
        return f"wants({self.slot(param)})"


def names_of(row: Row) -> dict[str, Term]:
    """What the formulas of a row may name."""
    names = {p.name: Term(p.cpp, p.type) for p in row.params if p.type != "Generator?"}
    names |= {"grads": Term("in", "grads"), "needs": Term("needs", "needs")}
    if row.schema.results != ["Tensor[]"]:
        names["grad"] = Term("grad0", "Tensor")
        names |= {f"grads[{i}]": Term(f"grad{i}", "Tensor") for i in range(len(row.schema.results))}
    called = row.results or [f"result{i}" for i in range(len(row.schema.results))]
    for i, name in enumerate(called + row.save):
        names[name] = names[f"result{i}"] = Term(f"result{i}", "Tensor")
    names["result"] = names["result0"]
    return names


def compile_node(row: Row, library: Library) -> Node | None:
    """The node of a row with formulas, or None."""
    formulas = []
    by_name = {p.name: p for p in row.params}
    for key, text in row.gradients.items():
        compiler = Compiler(row, library, names_of(row), f"gradient.{key}")
        term = compiler.compile(text)
        targets = [by_name[k] for k in key.replace(" ", "").split(",")]
        wanted = "tuple" if len(targets) > 1 else "Tensor[]" if targets[0].type == "Tensor[]" else "Tensor"
        if term.type not in (wanted, "tuple", "opaque") and not (wanted == "Tensor" and term.type == "Tensor?"):
            raise compiler.fault(f"gives {term.type}, wanted {wanted}")
        formulas.append(Formula(targets, term.cpp, compiler.used, compiler.properties))
    return Node(row, formulas) if formulas else None


def emit_struct(node: Node) -> list[str]:
    release = [saved.release for saved in node.saved.values() if saved.release]
    lines = ["MSA_FREE_LISTED", f'const char* name() const override {{ return "{node.row.node_name}"; }}']
    lines += [saved.member for saved in node.saved.values()]
    lines += [f"{PROPERTIES[prop][1]} {name};" for name, (_, prop) in node.properties.items()]
    lines += [f"size_t {p.cpp}_count = 0;" for p in node.edges if p.type == "Tensor[]"]
    lines += ["", *block("void apply(Grads& in, Grads& out) override", emit_apply(node)), ""]
    lines += block("void release_saved() override", release) if release else []
    return [*block(f"struct {node.struct} final : Node", lines, "};"), ""]


def emit_apply(node: Node) -> list[str]:
    results = node.row.schema.results
    if len(results) == 1 and results != ["Tensor[]"]:
        lines = ["const Tensor& grad0 = in[0];", "if (!grad0.defined()) return;"]
    else:
        read = {name for f in node.formulas for name in f.reads}
        lines = ["if (none_defined(in)) return;"]
        lines += [f"Tensor grad{i} = defined_or_zeros(in, {i}, outputs);" for i in range(len(results)) if f"grad{i}" in read]
    for formula in node.formulas:
        lines += block(f"if ({' || '.join(node.wants(t) for t in formula.targets)})", emit_formula(node, formula))
    return lines


def emit_formula(node: Node, formula: Formula) -> list[str]:
    lines = [node.saved[name].unpack for name in formula.reads if name in node.saved and node.saved[name].unpack]
    if any(t.type == "needs" for t in formula.used.values()):
        wanted = [node.wants(t) for t in formula.targets]
        lines.append(f"std::array<bool, {len(wanted)}> needs{{{', '.join(wanted)}}};")
    if len(formula.targets) == 1:
        return [*lines, store(node, formula.targets[0], formula.cpp)]
    lines.append(f"auto [{', '.join(f'd_{t.cpp}' for t in formula.targets)}] = {formula.cpp};")
    for target in formula.targets:
        lines += [f"if ({node.wants(target)})", "  " + store(node, target, f"std::move(d_{target.cpp})")]
    return lines


def store(node: Node, target: Param, value: str) -> str:
    slot = node.slot(target)
    return f"store_list(out, {slot}, {value});" if target.type == "Tensor[]" else f"out[{slot}] = {value};"


def emit_record(node: Node) -> list[str]:
    """`record_x`: makes the node, wires its edges, saves what the wanted formulas read."""
    row, lines = node.row, [f"Ref<{node.struct}> node(new {node.struct});"]
    for param in node.edges:
        if param.type == "Tensor[]":
            lines += [f"node->{param.cpp}_count = {param.cpp}.size();",
                      f"for (const Tensor& t : {param.cpp}) node->next.push_back(gradient_edge(t));"]
        else:
            lines.append(f"node->next.push_back(gradient_edge({param.cpp}));")
    for name, saved in node.saved.items():
        if saved.param:
            changed = saved.param is row.params[0] and row.inplace_form
            value = f"inplace ? ops::clone({name}) : {name}" if changed else name
            guard = condition(node, saved) if saved.release else ""
            lines.append(guard + saved.save.format(value, "false"))
    for name, (tensor, prop) in node.properties.items():
        if prop == "list_sizes":
            lines.append(f"for (const Tensor& t : {tensor}) node->{name}.push_back(t.sizes());")
        elif any(p.cpp == tensor for p in row.params):
            lines.append(f"if ({tensor}.defined()) node->{name} = {tensor}.{PROPERTIES[prop][0]};")
    body = re.sub(r"node->\w+", "", "\n".join(lines))
    unused = {p.cpp: "" if re.search(rf"(?<![.])\b{p.cpp}\b", body) else "[[maybe_unused]] " for p in row.params}
    params = ", ".join(unused[p.cpp] + p.declare(False) for p in row.params)
    head = f"[[gnu::noinline]] Ref<{node.struct}> record_{row.cpp}({params}, [[maybe_unused]] bool inplace)"
    return [*block(head, [*lines, "return node;"]), ""]


def condition(node: Node, saved: Saved) -> str:
    """`if (...)` around a save that only some gradients need; empty where all do."""
    unique = list({p.name: p for p in saved.targets}.values())
    if len(unique) == len(node.edges) == 1:
        return ""
    test = " || ".join(node.wants(t).replace("wants", "linked") for t in unique)
    through_node = re.sub(r"\blinked\(|\b\w+_count\b", r"node->\g<0>", test).replace("*this", "*node")
    return f"if ({through_node}) "


def finish_lines(node: Node, results: list[str]) -> list[str]:
    """After the computation: outputs saved by the node, and their properties."""
    lines = []
    for name, saved in node.saved.items():
        if not saved.param:
            index = int(name.removeprefix("result"))
            own = f"true, {index}" if index < len(node.row.schema.results) else "false"
            lines.append(condition(node, saved) + saved.save.format(results[index], own))
    for name, (tensor, prop) in node.properties.items():
        if not any(p.cpp == tensor for p in node.row.params):
            index = int(names_of(node.row)[tensor].cpp.removeprefix("result"))
            lines.append(f"node->{name} = {results[index]}.{PROPERTIES[prop][0]};")
    return lines
