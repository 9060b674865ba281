// Runs a graph node by node on the device of its tensors, by the operators that were recorded.
#include <list>

#include "core/autograd/meta.h"
#include "core/capture/graph.h"
#include "core/dispatch/saving.h"
#include "generated/ops_create.h"
#include "generated/ops_view.h"

namespace msa::capture {
namespace {

class Replay {
 public:
  Replay(const Graph& graph, TensorsView inputs) : graph_(graph), values_(graph.vars.size()) {
    MSA_REQUIRE(inputs.size() == graph.inputs.size(), Value, "graph: it takes ",
                graph.inputs.size(), " inputs, but ", inputs.size(), " were given.");
    for (size_t i = 0; i < inputs.size(); ++i) take(graph.inputs[i], inputs[i]);
    for (size_t id = 0; id < graph.vars.size(); ++id)
      if (graph.vars[id].tensor.defined()) values_[id] = graph.vars[id].tensor;
  }

  TensorList run() {
    for (const Node& node : graph_.nodes) step(node);
    for (const Write& w : graph_.writes) {  // all are known by now
      Tensor target = value(w.target);
      ops::copy_(target, value(w.value));
    }
    TensorList outputs;
    for (const VarId id : graph_.outputs) outputs.push_back(output(id));
    return outputs;
  }

 private:
  const Var& var(VarId id) const { return graph_.vars[static_cast<size_t>(id)]; }
  Tensor& value(VarId id) { return values_[static_cast<size_t>(id)]; }

  // Whoever gets a constant may change it.
  Tensor output(VarId id) {
    if (id == kNoVar) return {};
    return var(id).origin == Var::Origin::Constant ? copy_as(id, value(id)) : value(id);
  }

  void take(VarId id, const Tensor& t) {
    const Var& wanted = var(id);
    MSA_REQUIRE(t.dtype() == wanted.dtype && t.sizes() == wanted.sizes, Value,
                "graph: the input is ", t, ", but the graph was recorded for ", type_text(wanted),
                ".");
    set(id, t);
  }

  // With the strides that were recorded: an operator may ask for them.
  void set(VarId id, const Tensor& t) {
    if (id == kNoVar) return;
    value(id) = t.strides() == var(id).strides ? t : copy_as(id, t);
  }
  Tensor blank(VarId id) const {
    return empty_strided(var(id).sizes, var(id).strides, var(id).dtype, var(id).device);
  }
  Tensor copy_as(VarId id, const Tensor& t) const {
    Tensor copy = blank(id);
    ops::copy_(copy, t);
    return copy;
  }

  // Keeps what the boxed call's arguments borrow.
  struct Kept {
    std::list<Tensor> tensors;
    std::list<TensorList> lists;
    std::list<std::string_view> words;
    std::list<c128> complexes;
  };

  Value boxed_scalar(const Scalar& v, Kept& kept) const {
    switch (v.kind()) {
      case Scalar::Kind::Bool:
        return Value(v.to_int() != 0);
      case Scalar::Kind::Int:
        return Value(v.to_int());
      case Scalar::Kind::Float:
        return Value(v.to_double());
      case Scalar::Kind::Complex:
        return Value(&kept.complexes.emplace_back(v.to_complex()));
    }
    __builtin_unreachable();
  }

  Value boxed_value(const Arg& arg, Kept& kept) {
    return std::visit(
        [&]<class T>(const T& v) -> Value {
          if constexpr (std::is_same_v<T, std::monostate>) {
            return Value();
          } else if constexpr (std::is_same_v<T, VarRef>) {
            return Value(kept.tensors.emplace_back(value(v.id)));
          } else if constexpr (std::is_same_v<T, VarRefs>) {
            TensorList& list = kept.lists.emplace_back();
            for (const VarId id : v.ids) list.push_back(id == kNoVar ? Tensor() : value(id));
            return Value(list);
          } else if constexpr (std::is_same_v<T, Number>) {
            return Value(kept.tensors.emplace_back(wrapped_number(v.value)));
          } else if constexpr (std::is_same_v<T, Scalar>) {
            return boxed_scalar(v, kept);
          } else if constexpr (std::is_same_v<T, std::string>) {
            return Value(&kept.words.emplace_back(v));
          } else {
            return Value(v);
          }
        },
        arg);
  }

  void step(const Node& node) {
    static const OpInfo* const as_strided = find_op("as_strided");
    static const OpInfo* const scatter = find_op("as_strided_scatter");
    if (node.op == as_strided) return take_part(node);
    if (node.op == scatter) return put_part(node);
    Kept kept;
    std::vector<Value> args;
    for (const Arg& arg : node.args) args.push_back(boxed_value(arg, kept));
    for (const Change& change : node.changes) {  // a copy of its own to change
      const bool known = change.arg < args.size() && !args[change.arg].is_none();
      Tensor own = known ? copy_as(change.after, args[change.arg].tensor()) : blank(change.after);
      value(change.after) = own;
      if (change.arg >= args.size()) args.resize(change.arg + 1u);
      args[change.arg] = Value(value(change.after));
    }
    const SavingRow* saving = node.form == Form::Function ? saving_row(*node.op) : nullptr;
    Results results;
    (saving ? *saving->call : boxed(*node.op, node.form))(args.data(), results);
    for (size_t i = 0; i < node.results.size(); ++i) set(node.results[i], results.tensors[i]);
  }

  // Here and in `put_part` the offset counts from the value's first element.
  void take_part(const Node& node) {
    const Tensor& whole = value(std::get<VarRef>(node.args[0]).id);
    const Layout part{std::get<Dims>(node.args[1]), std::get<Dims>(node.args[2]),
                      whole.offset() + std::get<Scalar>(node.args[3]).to_int()};
    value(node.results[0]) = alias(whole, part);
  }

  void put_part(const Node& node) {
    Tensor whole = copy_as(node.results[0], value(std::get<VarRef>(node.args[0]).id));
    const Layout part{std::get<Dims>(node.args[2]), std::get<Dims>(node.args[3]),
                      whole.offset() + std::get<Scalar>(node.args[4]).to_int()};
    Tensor target = alias(whole, part);
    ops::copy_(target, value(std::get<VarRef>(node.args[1]).id));
    value(node.results[0]) = whole;
  }

  const Graph& graph_;
  TensorList values_;
};

}  // namespace

TensorList replay(const Graph& graph, TensorsView inputs) {
  GradMode off(false);
  return Replay(graph, inputs).run();
}

}  // namespace msa::capture
