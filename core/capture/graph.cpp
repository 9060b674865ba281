// What is done with graphs whatever runs them: dropping what nobody uses, and comparing two.
#include "core/capture/graph.h"

#include <algorithm>
#include <cstring>

namespace msa::capture {
namespace {

template <class F>
void each_ref(const Node& node, const F& use) {
  for (const Arg& arg : node.args) {
    if (const auto* ref = std::get_if<VarRef>(&arg)) use(ref->id);
    if (const auto* refs = std::get_if<VarRefs>(&arg))
      for (const VarId id : refs->ids)
        if (id != kNoVar) use(id);
  }
}

template <class F>
void each_made(const Node& node, const F& use) {
  for (const VarId id : node.results)
    if (id != kNoVar) use(id);
  for (const Change& change : node.changes) use(change.after);
}

bool same_scalar(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_integral()) return a.to_int() == b.to_int();
  const c128 x = a.to_complex(), y = b.to_complex();
  return std::memcmp(&x, &y, sizeof x) == 0;  // NaN is itself
}

bool same_arg(const Arg& a, const Arg& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& x) {
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, VarRef>)
          return x.id == y.id;
        else if constexpr (std::is_same_v<T, VarRefs>)
          return x.ids == y.ids;
        else if constexpr (std::is_same_v<T, Number>)
          return same_scalar(x.value, y.value);
        else if constexpr (std::is_same_v<T, Scalar>)
          return same_scalar(x, y);
        else
          return x == y;
      },
      a);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (!(a.strides() == b.strides()) || !is_dense(a.sizes(), a.strides())) return false;
  if (a.numel() == 0 || a.data() == b.data()) return true;
  if (!a.device().is_cpu() || !b.device().is_cpu()) return false;
  return std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * a.item_bytes()) == 0;
}

bool same_var(const Var& a, const Var& b) {
  if (a.origin != b.origin || a.dtype != b.dtype || !(a.device == b.device) ||
      !(a.sizes == b.sizes) || !(a.strides == b.strides))
    return false;
  if (a.origin == Var::Origin::Captured)
    return a.tensor->storage == b.tensor->storage && a.tensor.offset() == b.tensor.offset();
  return a.origin != Var::Origin::Constant || same_elements(a.tensor, b.tensor);
}

bool same_changes(const Node& a, const Node& b) {
  if (a.changes.size() != b.changes.size()) return false;
  for (size_t i = 0; i < a.changes.size(); ++i)
    if (a.changes[i].arg != b.changes[i].arg || a.changes[i].after != b.changes[i].after)
      return false;
  return true;
}

// What differs between two nodes at the same place; empty: nothing.
std::string node_difference(const Graph& ga, const Node& a, const Graph& gb, const Node& b) {
  if (a.op != b.op || a.form != b.form)
    return cat(node_name(b), " at ", b.where, " where there was ", node_name(a));
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!same_arg(a.args[i], b.args[i]))
      return cat(node_name(b), " at ", b.where, ": ", b.op->params[i].name, " is ",
                 arg_text(gb, b.args[i]), " and was ", arg_text(ga, a.args[i]));
  if (a.results != b.results || !same_changes(a, b))
    return cat(node_name(b), " at ", b.where, ": its results are used in another way");
  return {};
}

bool is_used(const Node& node, const std::vector<bool>& used) {
  const auto has = [&](VarId id) { return id != kNoVar && used[static_cast<size_t>(id)]; };
  return node.random || std::ranges::any_of(node.results, has) ||
         std::ranges::any_of(node.changes, [&](const Change& c) { return has(c.after); });
}

}  // namespace

void Graph::prune() {
  std::vector<bool> used(vars.size());
  for (const VarId id : outputs)
    if (id != kNoVar) used[static_cast<size_t>(id)] = true;
  for (const Write& w : writes) used[static_cast<size_t>(w.value)] = true;
  std::vector<bool> kept(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    kept[i] = is_used(nodes[i], used);
    if (kept[i]) each_ref(nodes[i], [&](VarId id) { used[static_cast<size_t>(id)] = true; });
  }
  size_t n = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!kept[i]) continue;
    if (n != i) nodes[n] = std::move(nodes[i]);
    ++n;
  }
  nodes.resize(n);
  for (size_t id = 0; id < vars.size(); ++id) {
    vars[id].used = used[id];
    vars[id].node = -1;
  }
  for (size_t i = 0; i < n; ++i)
    each_made(nodes[i],
              [&](VarId id) { vars[static_cast<size_t>(id)].node = static_cast<int32_t>(i); });
}

namespace {

// The nodes that the first outputs and what is written back need; random ones belong to them.
std::vector<bool> nodes_of_first(const Graph& graph, size_t n_outputs) {
  std::vector<bool> used(graph.vars.size()), kept(graph.nodes.size());
  for (size_t i = 0; i < n_outputs; ++i)
    if (graph.outputs[i] != kNoVar) used[static_cast<size_t>(graph.outputs[i])] = true;
  for (const Write& w : graph.writes) used[static_cast<size_t>(w.value)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    kept[i] = is_used(graph.nodes[i], used);
    if (kept[i]) each_ref(graph.nodes[i], [&](VarId id) { used[static_cast<size_t>(id)] = true; });
  }
  return kept;
}

bool is_written(const Graph& graph, VarId id) {
  for (const Write& w : graph.writes)
    if (w.target == id) return true;
  return false;
}

}  // namespace

std::pair<Graph, Graph> split(const Graph& graph, size_t n_inputs, size_t n_outputs) {
  const std::vector<bool> in_first = nodes_of_first(graph, n_outputs);
  Graph first, second;
  first.vars = second.vars = graph.vars;
  first.writes = graph.writes;
  const auto at = [](const std::vector<VarId>& ids, size_t n) {
    return ids.begin() + static_cast<std::ptrdiff_t>(n);
  };
  first.inputs.assign(graph.inputs.begin(), at(graph.inputs, n_inputs));
  first.outputs.assign(graph.outputs.begin(), at(graph.outputs, n_outputs));
  second.outputs.assign(at(graph.outputs, n_outputs), graph.outputs.end());
  std::vector<bool> taken(graph.vars.size());
  const auto take = [&](VarId id) {  // of what the first part has or gives
    const Var& var = graph.vars[static_cast<size_t>(id)];
    const bool result =
        var.origin == Var::Origin::Result && in_first[static_cast<size_t>(var.node)];
    const bool input = std::ranges::find(first.inputs, id) != first.inputs.end();
    if ((!result && !input && !is_written(graph, id)) || taken[static_cast<size_t>(id)]) return;
    taken[static_cast<size_t>(id)] = true;
    first.outputs.push_back(id);
    second.inputs.push_back(id);
    Var& now = second.vars[static_cast<size_t>(id)];
    now.origin = Var::Origin::Input;
    now.node = -1;
    now.tensor = Tensor();
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (in_first[i]) {
      first.nodes.push_back(graph.nodes[i]);
      continue;
    }
    each_ref(graph.nodes[i], take);
    second.nodes.push_back(graph.nodes[i]);
  }
  for (const VarId id : second.outputs)
    if (id != kNoVar) take(id);
  second.inputs.insert(second.inputs.end(), at(graph.inputs, n_inputs), graph.inputs.end());
  first.prune();
  second.prune();
  return {std::move(first), std::move(second)};
}

std::pair<Graph, Graph> split_draws(const Graph& graph) {
  Graph draws, rest = graph;
  draws.vars = graph.vars;
  rest.nodes.clear();
  std::vector<VarId> drawn;
  const auto draw = [&](VarId id) {
    drawn.push_back(id);
    Var& var = rest.vars[static_cast<size_t>(id)];
    var.origin = Var::Origin::Input;
    var.node = -1;
  };
  for (const Node& node : graph.nodes) {
    bool alone = node.random;
    each_ref(node, [&](VarId) { alone = false; });
    (alone ? draws : rest).nodes.push_back(node);
    if (alone) each_made(node, draw);
  }
  draws.outputs = drawn;
  rest.inputs.insert(rest.inputs.begin(), drawn.begin(), drawn.end());
  draws.prune();
  rest.prune();
  return {std::move(draws), std::move(rest)};
}

bool same(const Graph& a, const Graph& b, std::string& difference) {
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    difference = node_difference(a, a.nodes[i], b, b.nodes[i]);
    if (!difference.empty()) return false;
  }
  if (a.nodes.size() != b.nodes.size()) {
    difference = cat(b.nodes.size(), " operators where there were ", a.nodes.size());
    return false;
  }
  difference = "its inputs, outputs or changed tensors are others";
  if (a.vars.size() != b.vars.size() || a.inputs != b.inputs || a.outputs != b.outputs ||
      a.writes.size() != b.writes.size())
    return false;
  for (size_t i = 0; i < a.writes.size(); ++i)
    if (a.writes[i].target != b.writes[i].target || a.writes[i].value != b.writes[i].value)
      return false;
  for (size_t id = 0; id < a.vars.size(); ++id) {
    if (!a.vars[id].used && !b.vars[id].used) continue;
    if (same_var(a.vars[id], b.vars[id])) continue;
    difference = cat("the value ", var_name(b, static_cast<VarId>(id)), " (", type_text(b.vars[id]),
                     ") is another one than ", type_text(a.vars[id]), " of the call before");
    return false;
  }
  difference.clear();
  return true;
}

}  // namespace msa::capture
