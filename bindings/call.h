// Runs a parsed call and shows its results to Python.
#pragma once
#include "bindings/parser.h"

namespace msa::py {

// The results as Python sees them: a tensor, a (named) tuple, a number. New reference.
PyObject* wrap_results(const OpInfo& op, Results& results);

// A binding by its public name; null when there is none.
const Binding* find_method(const char* name);
const Binding* find_function(const char* name);
// The same; NotImplementedError when the registry lacks the row.
const Binding& require_method(const char* name);
const Binding& require_function(const char* name);

// NotImplemented instead of a TypeError when no overload takes the arguments.
PyObject* call_operator(const Binding& binding, PyObject* self, PyObject* other);

void init_calls(PyObject* m);

}  // namespace msa::py
