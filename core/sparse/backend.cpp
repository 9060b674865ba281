// Where calls on sparse tensors end: rows that know them run, all others are refused by name.
#include <unordered_map>

#include "core/dispatch/arguments.h"
#include "core/dispatch/boxed_support.h"
#include "core/sparse/sparse.h"
#include "generated/ops_create.h"
#include "generated/ops_sparse.h"

namespace msa {
namespace {

using How = SparseHandler::How;

const SparseHandler* handler_of(const OpInfo& op) {
  static const auto& by_row =
      [] {
        auto& map = *new std::unordered_map<const OpInfo*, const SparseHandler*>;
        for (size_t i = 0; i < sparse_count; ++i)
          map.emplace(sparse_table[i].op, &sparse_table[i].handler);
        return std::cref(map);
      }()
          .get();
  auto found = by_row.find(&op);
  return found == by_row.end() ? nullptr : found->second;
}

const Tensor* first_sparse(const OpInfo& op, const Value* args) {
  const Tensor* found = nullptr;
  each_tensor(args, op.n_params, [&](const Tensor& t) {
    if (!found && is_sparse(t)) found = &t;
  });
  return found;
}

[[noreturn]] void refuse_call(const OpInfo& op, const Value* args) {
  const Tensor* t = first_sparse(op, args);
  if (t) sparse::refuse(op.name, *t, "convert it with to_dense() first");
  fail(ErrorKind::NotImplemented, op.name,
       ": making sparse tensors this way is not supported; use torch.sparse_coo_tensor");
}

// Puts a result into the tensor that was given for it.
void put(const OpInfo& op, Tensor& target, const Tensor& result) {
  MSA_REQUIRE(can_cast(result.dtype(), target.dtype()), Runtime, op.name, ": result type ",
              result.dtype(), " can't be cast to the desired output type ", target.dtype());
  if (is_sparse(target)) {
    MSA_REQUIRE(is_sparse(result), Runtime, op.name,
                ": the result is strided, which a sparse tensor cannot take; give a strided out=");
    become(target,
           result.dtype() == target.dtype() ? result : ops::_to_copy(result, target.dtype()));
    return;
  }
  Tensor dense = ops::to_dense(result);
  MSA_REQUIRE(dense.sizes() == target.sizes(), Runtime, op.name, ": the result of shape ",
              DimsView(dense.sizes()), " does not fit the tensor given for it, of shape ",
              DimsView(target.sizes()));
  Tensor place = alias(target, target.layout());  // the caller bumps the version once
  ops::copy_(place, dense);
}

// The operator on the values, for rows that keep 0 at 0; Linear ones need no places added up.
void run_on_values(const OpInfo& op, Form form, How how, const Value* args, Results& results) {
  const Tensor& input = args[0].tensor();
  for (int i = 1; i < op.n_params; ++i)
    if (args[i].tag() == Value::Tag::Tensor && args[i].tensor().dim() > 0) refuse_call(op, args);
  if (args[0].tag() != Value::Tag::Tensor || !is_sparse(input)) refuse_call(op, args);
  const bool added_up = how == How::Linear || !is_coo(input) || sparse_parts(input).coalesced;
  Tensor pattern = added_up ? input : ops::_coalesce(input);
  Tensor values = sparse_parts(pattern).values;
  InlineVec<Value, 8> inner;
  for (int i = 0; i < op.n_params; ++i) inner.push_back(args[i]);
  inner[0] = Value(values);
  if (form == Form::Inplace) {
    boxed(op, form)(inner.begin(), results);
    if (!added_up) become(args[0].mutable_tensor(), pattern);
  } else {
    op.call(inner.begin(), results);
  }
  for (Tensor& t : results.tensors) t = with_values(pattern, t);
}

class SparseBackend final : public Backend {
 public:
  void call(const OpInfo& op, Form form, const Value* args, Results& results) override {
    const SparseHandler* handler = handler_of(op);
    if (!handler) refuse_call(op, args);
    GradMode off(false);  // histories are recorded above
    if (handler->how != How::Own) {
      run_on_values(op, form, handler->how, args, results);
    } else if (form == Form::Inplace && handler->inplace) {
      handler->inplace(args, results);
      return results.set(args[0].tensor());
    } else {
      if (!handler->function) refuse_call(op, args);
      handler->function(args, results);
      if (form == Form::Inplace) put(op, args[0].mutable_tensor(), results.tensors[0]);
    }
    for (int i = 0; form == Form::Out && i < op.n_results; ++i)
      put(op, args[op.n_params + i].mutable_tensor(), results.tensors[static_cast<size_t>(i)]);
  }
};

}  // namespace

void op_calls::to_layout(const Value& layout, Results& made) {
  if (layout.is_none()) return;
  Tensor& t = made.tensors[0];
  const int64_t now = is_sparse(t) ? static_cast<int64_t>(sparse_parts(t).layout) : 0;
  if (now != layout.integer()) t = ops::_as_layout(t, layout.integer());
}

Backend& sparse_backend() {
  static SparseBackend& backend = *new SparseBackend;
  return backend;
}

}  // namespace msa
