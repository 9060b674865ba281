// What layers and backends ask of a call's boxed arguments: how many there are, and the tensors
// among them.
#pragma once
#include "core/dispatch/layers.h"

namespace msa {

// The row's parameters, and for Form::Out its outputs after them.
inline int argument_count(const OpInfo& op, Form form) {
  return op.n_params + (form == Form::Out ? op.n_results : 0);
}

// How many leading arguments say something: those after are at their defaults.
inline int given_count(const OpInfo& op, const Value* args) {
  int n = op.n_params;
  while (n > 0 && op.params[n - 1].has_default &&
         args[n - 1].same_plain(op.params[n - 1].default_value))
    --n;
  return n;
}

// Whether `holds` is true of a tensor among the values, in lists too; those after it are not asked.
template <class F>
bool any_tensor(const Value* values, int n, const F& holds) {
  for (int i = 0; i < n; ++i) {
    if (values[i].tag() == Value::Tag::Tensor && holds(values[i].tensor())) return true;
    if (values[i].tag() != Value::Tag::Tensors) continue;
    for (const Tensor& t : values[i].tensors())
      if (t.defined() && holds(t)) return true;
  }
  return false;
}

// Calls `use` with every tensor among the values, in lists too.
template <class F>
void each_tensor(const Value* values, int n, const F& use) {
  any_tensor(values, n, [&](const Tensor& t) {
    use(t);
    return false;
  });
}

}  // namespace msa
