// Operators of users' own in C++: libraries built against ms_adapter/kernel.h.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_kernel_library(PyObject* module);

}  // namespace msa::py
