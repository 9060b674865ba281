"""Emits what the run time knows of the rows: op_infos.cpp (parameters, boxed calls) and bindings.cpp (public names)."""
from __future__ import annotations

import re

from .emit_ops import NOTE, externs, result_type, stem
from .load import AUTOCAST_DEVICES, Row
from .schema import RESULTS, Param, block


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def default_value(row: Row, index: int, p: Param, statics: list[str]) -> str:
    """A C++ Value for the parameter's default; lists and strings become statics."""
    text = p.cpp_default()
    if text is None or p.default == "None":
        return "Value()"
    name = f"default_{row.cpp}_{index}"
    if p.type.startswith("int[]"):
        statics.append(f"const Dims {name}{text if text.startswith('{') else '{' + text + '}'};")
        return f"Value({name})"
    if p.type.startswith("str"):
        statics.append(f"constexpr std::string_view {name} = {text};")
        return f"Value(&{name})"
    if p.type.startswith("float"):
        return f"Value(double({text}))"
    return f"Value(int64_t{{{text}}})" if re.fullmatch(r"-?\d+", text) else f"Value({text})"


def param_line(row: Row, index: int, p: Param, statics: list[str]) -> str:
    number = "No" if not p.takes_number else "Always" if row.has("numbers") else "BesideTensor"
    cells = [quote(p.name), f"ArgType::{p.kind.arg_type}", str(p.type.endswith("?")).lower(), str(p.keyword_only).lower(),
             str(p.default is not None).lower(), f"Number::{number}", str(p.repeat_int), default_value(row, index, p, statics)]
    return "{" + ", ".join(cells) + "},"


def reads(row: Row) -> list[str]:
    return [f"a[{i}].{p.kind.read}" for i, p in enumerate(row.schema.params) if not p.face_only]


def boxed(row: Row, form: str) -> list[str]:
    """The thunk that turns boxed values into a typed call."""
    args, n = reads(row), len(row.schema.params)
    if form == "function":
        call = f"ops::{row.cpp}({', '.join(args)})"
        body = [f"{call};" if result_type(row) == "void" else f"r.set({call});"]
        body += [f"to_layout(a[{i}], r);" for i, p in enumerate(row.schema.params) if p.type == "layout?"]
        body += [f"if (a[{i}].boolean()) set_requires_grad(r.tensors[0], true);"
                 for i, p in enumerate(row.schema.params) if p.name == "requires_grad"]
    elif form == "inplace":
        body = [f"r.set(Tensor(ops::{row.cpp_inplace}({', '.join(['a[0].mutable_tensor()', *args[1:]])})));"]
    else:
        targets = [f"a[{n + i}].mutable_tensor()" for i in range(len(row.schema.results))]
        body = [f"ops::{row.cpp}_out({', '.join(args + targets)});", *(f"r.set(Tensor({t}));" for t in targets)]
        body += ["r.kind = Results::Kind::Tuple;"] * (len(targets) > 1)
    unused = "" if any("a[" in x for x in body) else "[[maybe_unused]] "
    return block(f"void {form}_{row.cpp}({unused}const Value* a, [[maybe_unused]] Results& r)", body)


def info_source(file: str, rows: list[Row]) -> str:
    """op_infos for the rows of one file: parameter tables and thunks, in namespace op_calls."""
    statics: list[str] = []
    tables: list[str] = []
    for row in rows:
        if row.schema.params:
            cells = [param_line(row, i, p, statics) for i, p in enumerate(row.schema.params)]
            tables += [f"const Param params_{row.cpp}[] = {{", *(f"    {c}" for c in cells), "};"]
        tables += [f"const char* const {name}_{row.cpp}[] = {{{', '.join(map(quote, row.fields[name]))}, nullptr}};"
                   for name in ("results", "ms") if row.fields.get(name)]
    thunks = [line for row in rows for form in row.emitted for line in boxed(row, form)]
    infos = [f"extern const OpInfo info_{row.cpp};\nconst OpInfo info_{row.cpp} = {info(row)};" for row in rows]
    head = [NOTE.format(file), '#include "core/autograd/meta.h"', '#include "core/dispatch/boxed_support.h"',
            f'#include "generated/ops_{stem(file)}.h"', "", "namespace msa::op_calls {", "namespace {"]
    saving = [line for row in rows if row.save for line in block(
        f"extern const Boxed saving_{row.cpp};\nconst Boxed saving_{row.cpp} = [](const Value* a, Results& r)",
        [f"r.set(ops::{row.cpp}_with_saved({', '.join(reads(row))}));"], "};")]
    tail = ["}  // namespace", "", *infos, *saving, "}  // namespace msa::op_calls", ""]
    return "\n".join([*head, *statics, *tables, *thunks, *tail])


def info(row: Row) -> str:
    pick = lambda form: f"{form}_{row.cpp}" if form in row.emitted else "nullptr"  # noqa: E731
    positional = sum(not p.keyword_only for p in row.schema.params)
    kind = RESULTS[row.schema.results[0]]
    cells = {
        "name": quote(row.base),
        "overload": quote(row.schema.overload), "schema": quote(row.schema.text),
        "params": f"params_{row.cpp}" if row.schema.params else "nullptr",
        "n_params": len(row.schema.params), "n_positional": positional, "n_results": len(row.schema.results),
        "call": pick("function"), "call_inplace": pick("inplace"), "call_out": pick("out"),
        "result_names": f"results_{row.cpp}" if row.results else "nullptr",
        "node_name": quote(row.node_name) if row.gradients else "nullptr", "ms": f"ms_{row.cpp}" if row.ms else "nullptr",
        "python_bool": str(kind == "bool").lower(), "python_float": str(kind == "double").lower(),
        "composed": str(row.kind == "compose" and not row.gradients).lower(),
        **{f"autocast_{device}": f"Autocast::{row.autocasts[device].capitalize()}"
           for device in AUTOCAST_DEVICES if device in row.autocasts}}
    return "{" + ", ".join(f".{k} = {v}" for k, v in cells.items()) + "}"


def infos_source(rows: list[Row]) -> str:
    """op_infos.cpp: the table of all rows, and of those that leave values for backward."""
    lines = [NOTE.format("ops/*.toml"), '#include "core/dispatch/saving.h"', "", "namespace msa {", "namespace op_calls {"]
    saving = [row for row in rows if row.save]
    lines += [*externs(rows), *(f"extern const Boxed saving_{row.cpp};" for row in saving)]
    lines += ["}  // namespace op_calls", "", "const OpInfo* const op_table[] = {"]
    lines += [*(f"    &op_calls::info_{row.cpp}," for row in rows), "};", "", "const SavingRow saving_table[] = {"]
    lines += [f"    {{&op_calls::info_{row.cpp}, &op_calls::saving_{row.cpp}, {len(row.save)}}}," for row in saving]
    lines += ["    {}};"]
    lines += ["const OpInfo* const data_shaped_rows[] = {"]
    lines += [*(f"    &op_calls::info_{row.cpp}," for row in rows if row.shape == "data"), "    nullptr};"]
    return "\n".join([*lines, f"const size_t op_count = {len(rows)};", "}  // namespace msa", ""])


def sparse_source(rows: list[Row]) -> str:
    """sparse.cpp: how the rows answer to sparse tensors, from their `sparse` fields."""
    mine = [row for row in rows if row.sparse]
    thunks, table = [], []
    for row in mine:
        calls = {"function": f"r.set(sparse::{row.cpp}({', '.join(reads(row))}))",
                 "inplace": f"sparse::{row.cpp_inplace}({', '.join(['a[0].mutable_tensor()', *reads(row)[1:]])})"}
        own = [word for word in calls if word in row.sparse]
        thunks += [f"void {w}_{row.cpp}(const Value* a, [[maybe_unused]] Results& r) {{ {calls[w]}; }}" for w in own]
        cells = [f"SparseHandler::How::{'Own' if own else row.sparse.title()}",
                 *(f"op_calls::{w}_{row.cpp}" if w in own else "nullptr" for w in calls)]
        table.append(f"    {{&op_calls::info_{row.cpp}, {{{', '.join(cells)}}}}},")
    headers = sorted({stem(row.file) for row in mine if row.sparse not in ("values", "linear")})
    return "\n".join([
        NOTE.format("ops/*.toml"), '#include "core/sparse/sparse.h"', *(f'#include "generated/sparse_{h}.h"' for h in headers),
        "", "namespace msa {", "namespace op_calls {", *externs(mine), "namespace {",
        *thunks, "}  // namespace", "}  // namespace op_calls", "", "const SparseRow sparse_table[] = {", *table, "};",
        f"const size_t sparse_count = {len(mine)};", "}  // namespace msa", ""])


def batch_source(rows: list[Row]) -> str:
    """batched.cpp: how the rows answer to batched tensors, from their `batch` fields and kinds."""
    mine = [row for row in rows if row.batch_rule or row.random or row.kind == "view"]
    own = [row for row in mine if row.batch_rule in ("parts", "own")]
    thunks = [f"void own_{row.cpp}(const Value* a, Results& r) {{ r.set(batched::{row.cpp}({', '.join(reads(row))})); }}"
              for row in own]
    table = []
    for row in mine:
        rule = "".join(word.title() for word in (row.batch_rule or "loop").split("_"))
        cells = [f"&op_calls::info_{row.cpp}", f"BatchRule::{rule}", str(row.kind == "view").lower(),
                 str(row.random).lower(), f"op_calls::own_{row.cpp}" if row in own else "nullptr"]
        table.append(f"    {{{', '.join(cells)}}},")
    headers = sorted({stem(row.file) for row in own})
    return "\n".join([
        NOTE.format("ops/*.toml"), '#include "core/transforms/batched.h"',
        *(f'#include "generated/batched_{h}.h"' for h in headers), "", "namespace msa {", "namespace op_calls {",
        *(f"extern const OpInfo info_{r.cpp};" for r in mine), "namespace {", *thunks, "}  // namespace",
        "}  // namespace op_calls", "", "const BatchRow batch_table[] = {", *table, "};",
        f"const size_t batch_count = {len(mine)};", "}  // namespace msa", ""])


# --- public names ------------------------------------------------------------------------------------------------
def public_names(rows: list[Row]) -> tuple[dict[str, list[tuple[Row, str]]], dict[str, list[tuple[Row, str]]]]:
    """(functions, methods): public name -> overloads, each a row and a form."""
    functions: dict[str, list[tuple[Row, str]]] = {}
    methods: dict[str, list[tuple[Row, str]]] = {}
    for row in rows:
        alias = row.fields.get("alias", [])
        plain = [row.base, *(a for a in alias if "." not in a)]
        dotted = [f"{space}.{row.base}".lstrip(".") for space in row.fields.get("namespace", [""])] + alias
        unspecial = [name for name in dotted if not name.startswith("special.")]
        method = row.has("method")
        for table, names, form, given in (
            (functions, dotted, "Function", not row.inplace_only and not row.has("no_function")),
            (functions, unspecial, "Inplace", row.has("inplace_function")),
            (methods, plain, "Function", method and not row.inplace_only),
            (methods, plain, "Inplace", row.inplace_form and (method or row.inplace_only)),
        ):
            for name in names if given else ():
                table.setdefault(name + "_" * (form == "Inplace"), []).append((row, form))
    return functions, methods


def bindings_source(rows: list[Row]) -> str:
    """bindings.cpp: for each public name its overloads, a C function and a PyMethodDef."""
    lines = [NOTE.format("ops/*.toml"), '#include "bindings/binding.h"', "", "namespace msa::op_calls {",
             *externs(rows), "}  // namespace msa::op_calls", "",
             "namespace msa::py {", "namespace {"]
    tables = dict(zip(("function", "method"), public_names(rows)))
    for kind, names in tables.items():
        for i, (name, overloads) in enumerate(names.items()):
            cells = ", ".join(f"{{&op_calls::info_{row.cpp}, Form::{form}}}" for row, form in overloads)
            lines.append(f"const Overload {kind}_overloads_{i}[] = {{{cells}}};  // {name}")
    lines += ["}  // namespace", ""]
    for kind, names in tables.items():
        lines.append(f"const Binding {kind}_bindings[] = {{")
        lines += [f"    {{{quote(name)}, {kind}_overloads_{i}, {len(o)}}}," for i, (name, o) in enumerate(names.items())]
        lines += ["};", f"const size_t n_{kind}_bindings = {len(names)};", "", "namespace {"]
        taken, passed = (" self", "self, ") if kind == "method" else ("", "")
        for i in range(len(names)):
            call = f"call_{kind}({kind}_bindings[{i}], {passed}args, n, names)"
            lines.append(f"PyObject* {kind}_{i}(PyObject*{taken}, PyObject* const* args, Py_ssize_t n, PyObject* names) "
                         f"{{ return {call}; }}")
        lines += ["}  // namespace", "", f"PyMethodDef {kind}_defs[] = {{"]
        for i, (name, overloads) in enumerate(names.items()):
            doc = quote(overloads[0][0].fields.get("doc", ""))
            cast = f"reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>({kind}_{i}))"
            lines.append(f"    {{{quote(name.rpartition('.')[2])}, {cast}, METH_FASTCALL | METH_KEYWORDS, {doc}}},")
        lines += ["    {nullptr, nullptr, 0, nullptr}};", ""]
    return "\n".join([*lines, "}  // namespace msa::py", ""])
