// Boxed arguments and results as Python objects: what backends and layers written in Python see.
#pragma once
#include "bindings/common.h"
#include "core/dispatch/layers.h"

namespace msa::py {

PyObject* value_object(const Value& value);  // new reference
// The row's arguments in order (its outputs after them for Form::Out), as a tuple.
Owned arguments_tuple(const OpInfo& op, Form form, const Value* args);
// A tensor, a number, None, or a tuple or list of tensors, as the results of `op`.
void read_results(const OpInfo& op, PyObject* given, Results& results);

}  // namespace msa::py
