// Moves the arguments of a boxed call to another device, runs it there, and brings the results
// home.
#include "bindings/mindspore/host_call.h"

#include <vector>

#include "bindings/mindspore/memory.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/saving.h"
#include "generated/ops_create.h"

namespace msa::py {

namespace {

// The arguments with their tensors and devices replaced; keeps what the values point to.
class Moved {
 public:
  template <class F>
  Moved(const OpInfo& op, Form form, const Value* args, Device to, const F& move)
      : values_(args, args + argument_count(op, form)) {
    tensors_.reserve(values_.size());
    lists_.reserve(values_.size());
    for (size_t i = 0; i < op.n_params; ++i)  // none given would be the default device
      if (op.params[i].type == ArgType::Device &&
          (values_[i].is_none() || to.is_meta() || values_[i].device().kind > DeviceKind::Meta))
        values_[i] = Value(to);
    for (Value& v : values_) {
      if (v.tag() == Value::Tag::Tensor) v = Value(tensors_.emplace_back(move(v.tensor())));
      if (v.tag() != Value::Tag::Tensors) continue;
      TensorList& list = lists_.emplace_back();
      for (const Tensor& t : v.tensors()) list.push_back(t.defined() ? move(t) : t);
      v = Value(list);
    }
  }
  const Value* values() const { return values_.data(); }

 private:
  std::vector<Value> values_;
  std::vector<Tensor> tensors_;
  std::vector<TensorList> lists_;
};

// A number stays one with a value: rules look at it (negative exponents).
Tensor meta_like(const Tensor& t) {
  if (t->wrapped_number) {
    Tensor number = on_cpu(t);
    number->wrapped_number = true;
    return number;
  }
  return empty_strided(t.sizes(), t.strides(), t.dtype(), {DeviceKind::Meta});
}

// Where new tensors belong: a device argument says so, else where the inputs are.
Device wanted_device(const OpInfo& op, const Value* args, Device home) {
  for (int i = 0; i < op.n_params; ++i)
    if (args[i].tag() == Value::Tag::Device) return args[i].device();
  return home;
}

}  // namespace

void call_on_cpu(const OpInfo& op, Form form, const Value* args, Device home, Results& results) {
  Moved moved(op, form, args, Device{},
              [](const Tensor& t) { return t.device().is_meta() ? t : on_cpu(t); });
  const SavingRow* saving = form == Form::Function ? saving_row(op) : nullptr;
  Results found;
  (saving ? *saving->call : boxed(op, form))(moved.values(), found);
  if (form == Form::Inplace) return results.set(args[0].tensor());
  const bool back = wanted_device(op, args, home).kind == home.kind;
  for (Tensor& t : found.tensors)
    if (back && t.defined() && t.device().is_cpu()) t = on_shared(t, home);
  results = std::move(found);
}

void call_on_meta(const OpInfo& op, Form form, const Value* args, Results& results) {
  Moved moved(op, form, args, {DeviceKind::Meta}, meta_like);
  boxed(op, form)(moved.values(), results);
}

void check_outputs(const OpInfo& op, const Value* args, const Results& results) {
  std::vector<Value> values(args, args + op.n_params);
  std::vector<Tensor> outs;
  for (int i = 0; i < op.n_results; ++i) {
    DType dtype = args[op.n_params + i].tensor().dtype();
    const Dims& sizes = results.tensors[static_cast<size_t>(i)].sizes();
    outs.push_back(empty(sizes, dtype, {DeviceKind::Meta}));
  }
  for (const Tensor& out : outs) values.push_back(Value(out));
  Results ignored;
  try {
    call_on_meta(op, Form::Out, values.data(), ignored);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::NotImplemented) throw;  // its shape depends on data
  }
}

Tensor copied(const Tensor& t) { return ops::clone(t, MemoryFormat::Contiguous); }

void on_cpu_copy(const Tensor& target, const Tensor& value) {
  GradMode off(false);
  Tensor to = on_cpu(target);
  ops::copy_(to, on_cpu(value));
}

}  // namespace msa::py
