// x[...] and x[...] = value.
#pragma once
#include "bindings/common.h"

namespace msa::py {

PyObject* get_item(PyObject* self, PyObject* index);
int set_item(PyObject* self, PyObject* index, PyObject* value);  // a null value: del

}  // namespace msa::py
