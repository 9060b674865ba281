// The rules by which many rows run on batched tensors at once: the batch dimension goes in front,
// and what the arguments say of dimensions is shifted.
#include <algorithm>

#include "core/transforms/calls.h"
#include "generated/ops_convert.h"
#include "generated/ops_index.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa {
namespace {

// The dtype of the operands that have dimensions, where all of them agree.
std::optional<DType> dtype_with_dims(const BatchedCall& call) {
  std::optional<DType> common;
  for (size_t i = 0; i < call.n_args(); ++i) {
    if (!call.is_tensor(i) || call.rank(i) == 0) continue;
    const DType t = call.args[i].tensor().dtype();
    common = common ? promote_types(*common, t) : t;
  }
  return common;
}

int category(DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_complex(t) ? 3 : 2; }

// A 0-d tensor is weak in promotion, but its values for all examples are not 0-d.
Tensor as_weak(Tensor t, std::optional<DType> with_dims, bool batched) {
  if (t->wrapped_number || t.dtype() == DType::Bool) return t;  // Bool raises no other
  if (!with_dims) return batched ? t : ops::unsqueeze(t, 0);
  DType wanted = t.dtype();
  if (category(wanted) <= category(*with_dims)) wanted = *with_dims;
  if (is_complex(wanted) && category(*with_dims) == 2) wanted = to_complex(*with_dims);
  return batched && wanted != t.dtype() ? ops::to_dtype(t, wanted) : t;
}

// Tensors of the call, each through `change`.
template <class F>
void change_tensors(const BatchedCall& call, NewCall& inner, const F& change) {
  for (size_t i = 0; i < call.n_args(); ++i) {
    if (call.is_tensor(i)) {
      inner.set(i, change(call.operand(i), i));
    } else if (call.is_list(i)) {
      TensorList list;
      for (const Tensor& t : call.args[i].tensors())
        list.push_back(t.defined() ? change(operand_at(t, call.level), i) : t);
      inner.set(i, std::move(list));
    }
  }
}

bool run(const BatchedCall& call, NewCall& inner) {
  Results results;
  inner.run(results);
  give_results(call, results);
  return true;
}

bool names_dimension(std::string_view name) {
  static constexpr std::string_view kNames[] = {"dim",  "dims",  "dim0",  "dim1",
                                                "dim2", "axis0", "axis1", "dimension"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// `dim` and its kin, counted from the first tensor's dimensions with the batch in front.
void shift_dims(const BatchedCall& call, NewCall& inner, int64_t rank) {
  const bool reduces = call.param("keepdim") >= 0;
  for (int i = 0; i < call.op.n_params; ++i) {
    const Param& param = call.op.params[i];
    if (!names_dimension(param.name)) continue;
    const Value& given = call.args[i];
    const auto at = static_cast<size_t>(i);
    if (param.type == ArgType::Int && !given.is_none())
      inner[at] = Value(wrap_dim(given.integer(), rank) + 1);
    if (param.type != ArgType::Dims) continue;
    Dims dims;
    if (!given.is_none())
      for (int64_t d : given.dims()) dims.push_back(wrap_dim(d, rank) + 1);
    if (dims.empty() && reduces)
      for (int64_t d = 0; d < rank; ++d) dims.push_back(d + 1);
    inner.set(at, std::move(dims));
  }
}

bool any_of_rank_zero(const BatchedCall& call) {
  for (size_t i = 0; i < call.n_args(); ++i) {
    if (call.is_tensor(i) && call.rank(i) == 0) return true;
    if (!call.is_list(i)) continue;
    for (const Tensor& t : call.args[i].tensors())
      if (t.defined() && t.dim() == 0) return true;
  }
  return false;
}

int64_t rank_of_first(const BatchedCall& call) {
  return call.is_list(0) ? call.args[0].tensors().at(0).dim() : call.rank(0);
}

}  // namespace

bool call_elementwise(const BatchedCall& call) {
  require_batched_self(call);
  int64_t rank = 0;
  for (size_t i = 0; i < call.n_args(); ++i)
    if (call.is_tensor(i)) rank = std::max(rank, call.rank(i));
  const std::optional<DType> with_dims = dtype_with_dims(call);
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [&](const Operand& operand, size_t i) {
    Tensor t = in_front(operand, rank);
    const bool is_self = i == 0 && call.form == Form::Inplace;
    return call.rank(i) == 0 && !is_self ? as_weak(std::move(t), with_dims, operand.batched()) : t;
  });
  return run(call, inner);
}

bool call_over_dims(const BatchedCall& call) {
  if (any_of_rank_zero(call)) return false;
  require_batched_self(call);
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner,
                 [&](const Operand& operand, size_t) { return over_batch(operand, call.size); });
  shift_dims(call, inner, rank_of_first(call));
  return run(call, inner);
}

bool call_with_shared_index(const BatchedCall& call) {
  const auto index = static_cast<size_t>(call.param("index"));
  if (call.batched(index) || call.rank(0) == 0) return false;
  require_batched_self(call);
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [&](const Operand& operand, size_t i) {
    return i == index ? operand.value : over_batch(operand, call.size);
  });
  shift_dims(call, inner, call.rank(0));
  return run(call, inner);
}

bool call_leading(const BatchedCall& call) {
  require_batched_self(call);
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner,
                 [&](const Operand& operand, size_t) { return over_batch(operand, call.size); });
  return run(call, inner);
}

bool call_folded(const BatchedCall& call) {
  if (any_of_rank_zero(call) || call.form != Form::Function) return false;
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [&](const Operand& operand, size_t) {
    return ops::flatten(over_batch(operand, call.size), 0, 1);
  });
  if (const int at = call.param("input_size"); at >= 0) {
    const DimsView given = call.args[at].dims();
    Dims sizes{given[0] * call.size};
    for (int64_t s : given.subspan(1)) sizes.push_back(s);
    inner.set(static_cast<size_t>(at), std::move(sizes));
  }
  Results results;
  inner.run(results);
  for (Tensor& t : results.tensors) {
    Dims sizes{call.size, t.sizes()[0] / call.size};
    for (int64_t d = 1; d < t.dim(); ++d) sizes.push_back(t.sizes()[d]);
    t = ops::reshape(t, sizes);
  }
  give_results(call, results);
  return true;
}

void call_shared(const BatchedCall& call) {
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [](const Operand& operand, size_t) { return operand.value; });
  Results results;
  inner.run(results);
  if (call.form == Form::Function)
    for (Tensor& t : results.tensors)
      if (t.defined()) t = over_batch({t}, call.size);
  give_results(call, results);
}

bool call_widened(const BatchedCall& call) {
  const auto size = static_cast<size_t>(call.param("size"));
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [](const Operand& operand, size_t) { return operand.value; });
  Dims sizes{call.size};
  for (int64_t s : call.args[size].dims()) sizes.push_back(s);
  inner.set(size, std::move(sizes));
  return run(call, inner);
}

namespace {

// The call for example `i`.
void call_one(const BatchedCall& call, int64_t i, Results& results) {
  NewCall inner(call.op, call.form, call.args);
  change_tensors(call, inner, [&](const Operand& operand, size_t) {
    return operand.batched() ? ops::select(operand.value, operand.dim, i) : operand.value;
  });
  inner.run(results);
}

void require_same_shape(const BatchedCall& call, const Tensor& one, const Tensor& other) {
  if (one.sizes() == other.sizes()) return;
  throw BatchRefusal(cat("vmap: ", call.op.name,
                         " gives results of different shapes for the examples, ",
                         DimsView(one.sizes()), " and ", DimsView(other.sizes()),
                         ": operators whose shape depends on the data cannot be mapped"));
}

void stack_results(const BatchedCall& call, std::vector<Results>& each) {
  Results joined;
  joined.kind = each[0].kind;
  joined.scalar = each[0].scalar;
  for (const Results& r : each)
    if (r.kind == Results::Kind::Scalar && r.scalar.to_complex() != joined.scalar.to_complex())
      refuse_reading(call.args[0].tensor());
  for (size_t k = 0; k < each[0].tensors.size(); ++k) {
    TensorList column;
    for (Results& r : each) {
      require_same_shape(call, each[0].tensors[k], r.tensors[k]);
      column.push_back(r.tensors[k]);
    }
    joined.tensors.push_back(ops::stack(column, 0));
  }
  give_results(call, joined);
}

}  // namespace

void call_in_loop(const BatchedCall& call, const std::function<void()>& before_each) {
  require_batched_self(call);
  MSA_REQUIRE(call.size > 0, Runtime, "vmap: ", call.op.name,
              " runs once for each example, and the batch has none");
  std::vector<Results> each(static_cast<size_t>(call.size));
  for (int64_t i = 0; i < call.size; ++i) {
    if (before_each) before_each();
    call_one(call, i, each[static_cast<size_t>(i)]);
  }
  if (call.form == Form::Inplace) return call.results.set(call.args[0].tensor());
  stack_results(call, each);
}

}  // namespace msa
