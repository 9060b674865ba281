// Functions of the module that are written by hand: their entry points, and where they are
// published.
#pragma once
#include "bindings/tensor/native.h"

namespace msa::py {

PyObject* call_function_override(const char* name, const Arguments& given);

// A PyCFunction (METH_FASTCALL | METH_KEYWORDS) that active modes see; arguments have no say.
template <Name name, PyObject* (*body)(const Arguments&)>
PyObject* function_entry(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Arguments given{nullptr, args, n, kwnames};
  return guarded([&] {
    if (modes_active()) return call_function_override(name.text, given);
    return body(given);
  });
}
template <Name name, PyObject* (*body)(const Arguments&)>
PyMethodDef function(const char* doc) {
  return {name.text, fastcall(function_entry<name, body>), METH_FASTCALL | METH_KEYWORDS, doc};
}

// Adds the functions of a null-terminated table to `_C`.
void add_functions(PyMethodDef* table);
// Adds the submodule `_C.<name>` with these functions.
void add_submodule(PyObject* module, const char* name, PyMethodDef* table);

}  // namespace msa::py
