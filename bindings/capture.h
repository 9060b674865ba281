// _C.capture: recordings and graphs in Python.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_capture(PyObject* module);

}  // namespace msa::py
