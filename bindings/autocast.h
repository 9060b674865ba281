// Adds the submodule `_C.autocast`: this thread's mixed-precision settings.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_autocast(PyObject* module);

}  // namespace msa::py
