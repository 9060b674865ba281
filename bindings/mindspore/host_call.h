// One call moved to another device: to cpu over the same memory, or to meta for its rules alone.
#pragma once
#include "core/dispatch/layers.h"

namespace msa::py {

// Runs the operator on cpu copies of nothing: the tensors there share their memory with the given.
// What lives on `home` comes back there, with all that the kernel leaves for backward.
void call_on_cpu(const OpInfo& op, Form form, const Value* args, Device home, Results& results);

// Runs the row's rules: results without memory. Raises as the operator would.
void call_on_meta(const OpInfo& op, Form form, const Value* args, Results& results);
// The same for the outputs of an out= form, which have the results' shapes already.
void check_outputs(const OpInfo& op, const Value* args, const Results& results);

Tensor copied(const Tensor& t);
// target.copy_(value), over the memory of both.
void on_cpu_copy(const Tensor& target, const Tensor& value);

}  // namespace msa::py
