"""Emits the backward node of a row: what it saves, when, and its `apply` from the gradient formulas."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from .formula import PROPERTIES, Compiler, Library, Term
from .load import Row
from .schema import Param


@dataclass
class Formula:
    """One compiled gradient formula and the inputs it serves."""

    targets: list[Param]
    cpp: str
    used: dict[str, Term]
    properties: dict[str, tuple[str, str]]


@dataclass
class Node:
    """Everything the emitters need to know of a row's backward node."""

    row: Row
    formulas: list[Formula]
    edges: list[Param] = field(default_factory=list)

    @property
    def struct(self) -> str:
        return f"{self.row.cpp.strip('_').title().replace('_', '')}Node"

    def slot(self, param: Param) -> str:
        """The index of a parameter's (first) edge, as a C++ expression."""
        fixed, lists = 0, []
        for p in self.edges:
            if p is param:
                break
            if p.type == "Tensor[]":
                lists.append(f"{p.cpp}_count")
            else:
                fixed += 1
        return " + ".join([*lists, str(fixed)] if fixed or not lists else lists)

    def wants(self, param: Param) -> str:
        if param.type == "Tensor[]":
            return f"wants_any(*this, {self.slot(param)}, {param.cpp}_count)"
        return f"wants({self.slot(param)})"


def names_of(row: Row) -> dict[str, Term]:
    """What the formulas of a row may name."""
    names = {p.name: Term(p.cpp, p.type) for p in row.params if p.type != "Generator?"}
    many = row.schema.results == ["Tensor[]"]
    names["grads"] = Term("in", "grads")
    if not many:
        names["grad"] = Term("grad0", "Tensor")
        for i, _ in enumerate(row.schema.results):
            names[f"grads[{i}]"] = Term(f"grad{i}", "Tensor")
    results = row.result_names + row.save
    for i, name in enumerate(results):
        names[name] = names[f"result{i}"] = Term(f"result{i}", "Tensor")
    names["result"] = names["result0"]
    names["needs"] = Term("needs", "needs")
    return names


def compile_node(row: Row, library: Library) -> Node | None:
    """The node of a row with formulas, or None."""
    if not row.gradients:
        return None
    formulas = []
    by_name = {p.name: p for p in row.params}
    for key, text in row.gradients.items():
        compiler = Compiler(row, library, names_of(row), f"gradient.{key}")
        term = compiler.compile(text)
        targets = [by_name[k] for k in key.replace(" ", "").split(",")]
        wanted = "tuple" if len(targets) > 1 else ("Tensor[]" if targets[0].type == "Tensor[]" else "Tensor")
        if term.type not in (wanted, "tuple", "opaque") and not (wanted == "Tensor" and term.type == "Tensor?"):
            raise compiler.fault(f"gives {term.type}, wanted {wanted}")
        formulas.append(Formula(targets, term.cpp, compiler.used, compiler.properties))
    served = [t for f in formulas for t in f.targets]
    return Node(row, formulas, [p for p in row.params if any(p is t for t in served)])


def saved_values(node: Node) -> dict[str, tuple[str, str, list[Param]]]:
    """Values to keep: cpp name -> (how: 'tensor'|'tensors'|'result'|'plain', C++ type, inputs whose formulas need it)."""
    kept: dict[str, tuple[str, str, list[Param]]] = {}
    for formula in node.formulas:
        for term in formula.used.values():
            if re.fullmatch(r"grads?|grad\d+", term.cpp) or term.type in ("grads", "needs"):
                continue
            param = next((p for p in node.row.params if p.cpp == term.cpp), None)
            if param is None:
                how, kind = "result", "SavedTensor"
            elif param.is_tensor:
                how, kind = "tensor", "SavedTensor"
            elif param.type == "Tensor[]":
                how, kind = "tensors", "std::vector<SavedTensor>"
            else:
                how, kind = "plain", param.kind.owned
            kept.setdefault(term.cpp, (how, kind, []))[2].extend(formula.targets)
    return kept


def properties(node: Node) -> dict[str, tuple[str, str]]:
    return {k: v for f in node.formulas for k, v in f.properties.items()}


def emit_struct(node: Node) -> list[str]:
    row, kept = node.row, saved_values(node)
    lines = [f"struct {node.struct} final : Node {{", "  MSA_FREE_LISTED",
             f'  const char* name() const override {{ return "{row.node_name}"; }}']
    for name, (how, kind, _) in kept.items():
        lines.append(f"  {kind} {name}{'_' if how != 'plain' else ''};")
    for name, (_, prop) in properties(node).items():
        lines.append(f"  {PROPERTIES[prop][1]} {name};")
    for param in node.edges:
        if param.type == "Tensor[]":
            lines.append(f"  size_t {param.cpp}_count = 0;")
    lines += ["", *emit_apply(node), "", *emit_release(kept), "};", ""]
    return lines


def emit_release(kept: dict[str, tuple[str, str, list[Param]]]) -> list[str]:
    lines = ["  void release_saved() override {"]
    for name, (how, _, _) in kept.items():
        if how == "tensors":
            lines.append(f"    for (SavedTensor& saved : {name}_) saved.reset();")
        elif how != "plain":
            lines.append(f"    {name}_.reset();")
    return [*lines, "  }"] if len(lines) > 1 else []


def emit_apply(node: Node) -> list[str]:
    lines = ["  void apply(Grads& in, Grads& out) override {"]
    used = [t for f in node.formulas for t in f.used.values()]
    if len(node.row.schema.results) == 1 and node.row.schema.results != ["Tensor[]"]:
        lines += ["    const Tensor& grad0 = in[0];", "    if (!grad0.defined()) return;"]
    else:
        lines.append("    if (none_defined(in)) return;")
        for i in range(len(node.row.schema.results)):
            if any(t.cpp == f"grad{i}" for t in used):
                lines.append(f"    Tensor grad{i} = defined_or_zeros(in, {i}, outputs);")
    for formula in node.formulas:
        lines += emit_formula(node, formula)
    return [*lines, "  }"]


def emit_formula(node: Node, formula: Formula) -> list[str]:
    lines = [f"    if ({' || '.join(node.wants(t) for t in formula.targets)}) {{"]
    kept = saved_values(node)
    for term in {t.cpp: t for t in formula.used.values()}.values():
        how = kept[term.cpp][0] if term.cpp in kept else ""
        if how in ("tensor", "result"):
            lines.append(f"      Tensor {term.cpp} = {term.cpp}_.unpack(this);")
        elif how == "tensors":
            lines.append(f"      TensorList {term.cpp} = unpack_all({term.cpp}_, this);")
    if any(t.type == "needs" for t in formula.used.values()):
        wanted = [node.wants(t) for t in formula.targets]
        lines.append(f"      std::array<bool, {len(wanted)}> needs{{{', '.join(wanted)}}};")
    if len(formula.targets) == 1:
        lines += store(node, formula.targets[0], formula.cpp)
    else:
        names = [f"d_{t.cpp}" for t in formula.targets]
        lines.append(f"      auto [{', '.join(names)}] = {formula.cpp};")
        for target, name in zip(formula.targets, names):
            lines += [f"      if ({node.wants(target)})", *("  " + x for x in store(node, target, f"std::move({name})"))]
    return [*lines, "    }"]


def store(node: Node, target: Param, value: str) -> list[str]:
    slot = node.slot(target)
    if target.type == "Tensor[]":
        return [f"      store_list(out, {slot}, {value});"]
    return [f"      out[{slot}] = {value};"]


def emit_record(node: Node) -> list[str]:
    """`record_x`: makes the node, wires its edges, saves what the wanted formulas read."""
    row = node.row
    lines = ["",  # the signature, once it is known which parameters are used
             f"  Ref<{node.struct}> node(new {node.struct});"]
    for param in node.edges:
        if param.type == "Tensor[]":
            lines += [f"  node->{param.cpp}_count = {param.cpp}.size();",
                      f"  for (const Tensor& t : {param.cpp}) node->next.push_back(gradient_edge(t));"]
        else:
            lines.append(f"  node->next.push_back(gradient_edge({param.cpp}));")
    for name, (how, _, targets) in saved_values(node).items():
        guard = condition(node, targets)
        if how == "tensor":
            own = row.params[0].cpp == name and row.inplace_form
            value = f"inplace ? ops::clone({name}) : {name}" if own else name
            lines.append(f"  {guard}node->{name}_ = SavedTensor({value}, false);")
        elif how == "tensors":
            lines.append(f"  {guard}for (const Tensor& t : {name}) node->{name}_.emplace_back(t, false);")
        elif how == "plain":
            lines.append(f"  node->{name} = {name};")
    for name, (tensor, prop) in properties(node).items():
        if prop == "list_sizes":
            lines.append(f"  for (const Tensor& t : {tensor}) node->{name}.push_back(t.sizes());")
        elif any(p.cpp == tensor for p in row.params):
            lines.append(f"  if ({tensor}.defined()) node->{name} = {tensor}.{PROPERTIES[prop][0]};")
    body = re.sub(r"node->\w+", "", "\n".join(lines[1:]))
    unused = {p.cpp: "" if re.search(rf"(?<![.])\b{p.cpp}\b", body) else "[[maybe_unused]] " for p in row.params}
    params = ", ".join(unused[p.cpp] + p.declare(False) for p in row.params)
    lines[0] = f"[[gnu::noinline]] Ref<{node.struct}> record_{row.cpp}({params}, [[maybe_unused]] bool inplace) {{"
    return [*lines, "  return node;", "}", ""]


def condition(node: Node, targets: list[Param]) -> str:
    """`if (...)` around a save that only some gradients need; empty where all do."""
    unique = list({p.name: p for p in targets}.values())
    if len(unique) == len(node.edges) == 1:
        return ""
    test = " || ".join(node.wants(t).replace("wants", "linked") for t in unique)
    through_node = re.sub(r"\blinked\(|\b\w+_count\b", r"node->\g<0>", test).replace("*this", "*node")
    return f"if ({through_node}) "


def finish_lines(node: Node, results: list[str]) -> list[str]:
    """After the computation: outputs saved by the node, and their properties."""
    lines = []
    row = node.row
    for name, (how, _, targets) in saved_values(node).items():
        if how == "result":
            index = int(name.removeprefix("result"))
            own = f"true, {index}" if index < len(row.schema.results) else "false"
            lines.append(f"{condition(node, targets)}node->{name}_ = SavedTensor({results[index]}, {own});")
    for name, (tensor, prop) in properties(node).items():
        if not any(p.cpp == tensor for p in row.params):
            term = names_of(row)[tensor].cpp
            lines.append(f"node->{name} = {results[int(term.removeprefix('result'))]}.{PROPERTIES[prop][0]};")
    return lines
