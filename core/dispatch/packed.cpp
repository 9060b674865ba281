// Finds the backend that a boxed call belongs to: the device of its first tensor or its device
// argument.
#include "core/dispatch/packed.h"

#include "core/dispatch/arguments.h"
#include "core/sparse/sparse.h"
#include "core/transforms/batched.h"

namespace msa {

namespace {
bool of_python(const Value& v) {
  return any_tensor(&v, 1, [](const Tensor& t) { return is_python(t); }) ||
         (v.tag() == Value::Tag::Device && v.device().kind == kPythonKind);
}

bool touches_batched(const Value& v) {
  switch (v.tag()) {
    case Value::Tag::Tensor:
      return is_batched(v.tensor());
    case Value::Tag::Tensors:
      return is_batched(v.tensors());
    case Value::Tag::Device:
      return v.device().kind == kBatchedKind;
    default:
      return false;
  }
}
}  // namespace

Backend& backend_for(const Value* args, size_t n) {
  auto foreign = [](Device d) { return !d.is_cpu() && !d.is_meta(); };
  for (size_t i = 0; i < n; ++i)  // a batched tensor decides before all others
    if (touches_batched(args[i])) return batch_backend();
  for (size_t i = 0; i < n; ++i)  // Python's classes decide about all that they meet
    if (of_python(args[i])) return python_backend();
  for (size_t i = 0; i < n; ++i) {  // a sparse tensor decides, wherever its parts are
    const Value& v = args[i];
    if ((v.tag() == Value::Tag::Tensor && is_sparse(v.tensor())) ||
        (v.tag() == Value::Tag::Tensors && is_sparse(v.tensors())) ||
        (v.tag() == Value::Tag::Device && v.device().kind == kSparseKind))
      return sparse_backend();
  }
  for (size_t i = 0; i < n; ++i) {
    const Value& v = args[i];
    if (v.tag() == Value::Tag::Tensor && foreign(v.tensor().device()))
      return backend_of(v.tensor().device().kind);
    if (v.tag() == Value::Tag::Device && foreign(v.device())) return backend_of(v.device().kind);
    if (v.tag() == Value::Tag::Tensors)
      for (const Tensor& t : v.tensors())
        if (t.defined() && foreign(t.device())) return backend_of(t.device().kind);
  }
  return backend_of(default_device().kind);
}

void complete_results(const OpInfo& op, const Value* args, size_t wanted, Results& results) {
  if (results.tensors.size() >= wanted) return;
  const bool recorded =
      thread_state.grad_enabled &&
      any_tensor(args, op.n_params, [](const Tensor& t) { return t.requires_grad(); });
  MSA_REQUIRE(!recorded, NotImplemented, op.name,
              ": its device leaves nothing for backward; move the inputs to 'cpu' for this call.");
  while (results.tensors.size() < wanted) results.tensors.push_back(Tensor());
}

}  // namespace msa
