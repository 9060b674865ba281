// Boxed calls in the making: arguments replaced one by one, results wrapped again.
#include "core/transforms/calls.h"

#include <unordered_map>

#include "core/autograd/meta.h"
#include "core/dispatch/arguments.h"

namespace msa {

NewCall::NewCall(const OpInfo& op, Form form, const Value* args) : op(op), form(form) {
  const size_t n = static_cast<size_t>(argument_count(op, form));
  values_.assign(args, args + n);
}
void NewCall::set(size_t i, Tensor t) {
  tensors_.push_back(std::move(t));
  values_[i] = Value(tensors_.back());
}
void NewCall::set(size_t i, TensorList list) {
  lists_.push_back(std::move(list));
  values_[i] = Value(lists_.back());
}
void NewCall::set(size_t i, Dims dims) {
  dims_.push_back(std::move(dims));
  values_[i] = Value(dims_.back());
}

bool BatchedCall::batched(size_t i) const {
  if (is_tensor(i)) return operand(i).batched();
  if (!is_list(i)) return false;
  return std::ranges::any_of(args[i].tensors(),
                             [&](const Tensor& t) { return operand_at(t, level).batched(); });
}

bool BatchedCall::at_level(size_t i) const {
  const auto mine = [&](const Tensor& t) {
    return is_batched(t) && batched_parts(t).level == level;
  };
  if (is_tensor(i)) return mine(args[i].tensor());
  return is_list(i) && std::ranges::any_of(args[i].tensors(), mine);
}

bool BatchedCall::touches() const {
  for (size_t i = 0; i < n_args(); ++i)
    if (batched(i)) return true;
  return false;
}

int BatchedCall::param(std::string_view name) const {
  for (int i = 0; i < op.n_params; ++i)
    if (op.params[i].name == name) return i;
  return -1;
}

void give_results(const BatchedCall& call, Results& inner, int64_t dim) {
  if (call.form == Form::Inplace) return call.results.set(call.args[0].tensor());
  call.results.kind = inner.kind;
  call.results.scalar = inner.scalar;
  for (Tensor& t : inner.tensors)
    call.results.tensors.push_back(t.defined() ? make_batched(t, dim, call.level) : t);
}

void require_batched_self(const BatchedCall& call) {
  if (call.form != Form::Inplace || call.batched(0)) return;
  throw BatchRefusal(cat("vmap: ", call.op.name,
                         "_ is not possible because its first tensor has no batch dimension while "
                         "another one has: one memory cannot take a value for each example. Use "
                         "the form that is not in-place"));
}

bool carries_more(const BatchedCall& call) {
  const auto more = [](const Tensor& t) {
    return t.defined() && t->meta &&
           ((thread_state.grad_enabled && t.requires_grad()) || t->meta->tangents);
  };
  for (size_t i = 0; i < call.n_args(); ++i) {
    if (call.is_tensor(i) && call.at_level(i) && more(call.args[i].tensor())) return true;
    if (call.is_list(i) && std::ranges::any_of(call.args[i].tensors(), more)) return true;
  }
  return false;
}

const BatchRow* batch_row(const OpInfo& op) {
  static const auto& by_row = *[] {
    auto* map = new std::unordered_map<const OpInfo*, const BatchRow*>;
    for (size_t i = 0; i < batch_count; ++i) map->emplace(batch_table[i].op, &batch_table[i]);
    return map;
  }();
  const auto found = by_row.find(&op);
  return found == by_row.end() ? nullptr : found->second;
}

}  // namespace msa
