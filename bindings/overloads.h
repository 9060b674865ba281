// Rows as objects of Python, torch.ops.aten's overloads: how one is called, and how a call that a
// layer or a backend sees is shown as one.
#pragma once
#include "bindings/boxed.h"
#include "bindings/parser.h"

namespace msa::py {

// A boxed call as __torch_dispatch__ gets it: (overload, args, kwargs).
struct ShownCall {
  Owned func, args, kwargs;
};
ShownCall show_call(const OpInfo& op, Form form, const Value* args);

// The results of a handler written in Python. A call in place gives its first argument, whatever
// the handler returned.
void take_results(const OpInfo& op, Form form, const Value* args, PyObject* given,
                  Results& results);

// A row as Python holds it.
Owned row_object(const OpInfo& op);
const OpInfo& row_of(PyObject* capsule);
// A value, lists as lists and wrapped numbers as plain ones.
Owned shown_value(const Value& v);

// Parses a tuple and a dict of arguments for a row and hands the call to `use`, or to the
// arguments'
// __torch_function__.
using UseCall = Owned (*)(const OpInfo& op, Call& call);
Owned call_parsed(PyObject* overload, const OpInfo& op, Form form, PyObject* args, PyObject* kwargs,
                  UseCall use);

void init_overloads(PyObject* module);

}  // namespace msa::py
