// Graphs as text that people read.
#include <cmath>

#include "core/capture/graph.h"

namespace msa::capture {
namespace {

std::string number_text(const Scalar& v) {
  switch (v.kind()) {
    case Scalar::Kind::Bool:
      return v.to_int() ? "True" : "False";
    case Scalar::Kind::Int:
      return cat(v.to_int());
    case Scalar::Kind::Float:
      return cat(v.to_double());
    case Scalar::Kind::Complex:
      return cat("(", v.to_complex().real(), std::signbit(v.to_complex().imag()) ? "" : "+",
                 v.to_complex().imag(), "j)");
  }
  __builtin_unreachable();
}

std::string refs_text(const Graph& graph, const std::vector<VarId>& ids) {
  std::string text;
  for (const VarId id : ids) text += cat(text.empty() ? "" : ", ", var_name(graph, id));
  return text;
}

std::string left_side(const Graph& graph, const Node& node) {
  std::vector<VarId> ids = node.results;
  for (const Change& change : node.changes) ids.push_back(change.after);
  return refs_text(graph, ids);
}

std::string call_text(const Graph& graph, const Node& node) {
  std::string text = cat(node_name(node), "(");
  size_t n = node.args.size();
  while (n > 1 && std::holds_alternative<std::monostate>(node.args[n - 1])) --n;
  for (size_t i = 0; i < n; ++i) {
    const bool tensor = i == 0 || std::holds_alternative<VarRef>(node.args[i]);
    text += cat(i ? ", " : "", tensor ? "" : cat(node.op->params[i].name, "="),
                arg_text(graph, node.args[i]));
  }
  return text + ")";
}

}  // namespace

std::string node_name(const Node& node) {
  const std::string name = cat(node.op->name, node.form == Form::Inplace ? "_" : "");
  return *node.op->overload ? cat(name, ".", node.op->overload) : name;
}

std::string var_name(const Graph& graph, VarId id) {
  if (id == kNoVar) return "_";
  constexpr const char* kLetters[] = {"%in", "%outside", "%constant", "%"};
  return cat(kLetters[static_cast<int>(graph.vars[static_cast<size_t>(id)].origin)], id);
}

std::string type_text(const Var& var) {
  return cat(std::string(info(var.dtype).name), " ", DimsView(var.sizes));
}

std::string arg_text(const Graph& graph, const Arg& arg) {
  return std::visit(
      [&]<class T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>)
          return "None";
        else if constexpr (std::is_same_v<T, VarRef>)
          return var_name(graph, v.id);
        else if constexpr (std::is_same_v<T, VarRefs>)
          return cat("[", refs_text(graph, v.ids), "]");
        else if constexpr (std::is_same_v<T, Number>)
          return number_text(v.value);
        else if constexpr (std::is_same_v<T, Scalar>)
          return number_text(v);
        else if constexpr (std::is_same_v<T, Dims>)
          return cat(DimsView(v));
        else if constexpr (std::is_same_v<T, std::vector<double>>) {
          std::string text = "(";
          for (const double x : v) text += cat(text.size() > 1 ? ", " : "", x);
          return text + ")";
        } else if constexpr (std::is_same_v<T, std::string>)
          return cat("'", v, "'");
        else if constexpr (std::is_same_v<T, MemoryFormat>)
          return cat("memory_format ", static_cast<int>(v));
        else
          return cat(v);
      },
      arg);
}

std::string Graph::text() const {
  std::string text = "graph(";
  for (const VarId id : inputs)
    text += cat(id == inputs[0] ? "" : ", ", var_name(*this, id), ": ",
                type_text(vars[static_cast<size_t>(id)]));
  text += "):\n";
  for (size_t id = 0; id < vars.size(); ++id) {
    const Var& var = vars[id];
    if (!var.used || var.origin == Var::Origin::Input || var.origin == Var::Origin::Result)
      continue;
    text += cat("  ", var_name(*this, static_cast<VarId>(id)), ": ", type_text(var), "\n");
  }
  for (const Node& node : nodes) {
    VarId shown = kNoVar;
    for (const VarId id : node.results)
      if (shown == kNoVar) shown = id;
    if (shown == kNoVar && !node.changes.empty()) shown = node.changes[0].after;
    text += cat("  ", left_side(*this, node), " = ", call_text(*this, node));
    if (shown != kNoVar) text += cat(": ", type_text(vars[static_cast<size_t>(shown)]));
    if (node.random) text += "  random";
    text += node.where.empty() ? "\n" : cat("  # ", node.where, "\n");
  }
  for (const Write& w : writes)
    text += cat("  write ", var_name(*this, w.target), " = ", var_name(*this, w.value), "\n");
  return text + cat("  return ", refs_text(*this, outputs), "\n");
}

}  // namespace msa::capture
