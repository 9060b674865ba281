// What the generator tells the Python parser about each public name: which rows it may call, in
// order.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "core/dispatch/layers.h"
#include "core/dispatch/op_info.h"

namespace msa::py {

// What the face keeps with each row, for the life of the process.
struct OpFace {
  std::vector<PyObject*> param_names;   // interned
  PyTypeObject* result_type = nullptr;  // of torch.return_types
};
inline OpFace& face_of(const OpInfo& op) {
  if (!op.face) op.face = new OpFace;
  return *static_cast<OpFace*>(op.face);
}

// One row under a public name. `Inplace`: the name is `add_`, the first argument is changed.
// `Out` never stands here: out= is a keyword of every `Function` row that has `call_out`.
struct Overload {
  const OpInfo* op;
  Form form;
};

// A public name, "add", "nn.functional.linear"; a method's bare name, "add_".
struct Binding {
  const char* name;
  const Overload* overloads;  // tried in order
  uint8_t n_overloads;
};

// Parse, call, wrap. For methods `self` is the first parameter of every overload.
PyObject* call_function(const Binding& binding, PyObject* const* args, Py_ssize_t n,
                        PyObject* kwnames);
PyObject* call_method(const Binding& binding, PyObject* self, PyObject* const* args, Py_ssize_t n,
                      PyObject* kwnames);

// Generated. The PyMethodDef at `i` (METH_FASTCALL | METH_KEYWORDS, bare last part of the name as
// ml_name) calls the binding at `i`; both def arrays end with a null entry.
extern const Binding function_bindings[];
extern const Binding method_bindings[];
extern const size_t n_function_bindings;
extern const size_t n_method_bindings;
extern PyMethodDef function_defs[];
extern PyMethodDef method_defs[];

}  // namespace msa::py
