// Devices whose operators are run by a Python package (MindSpore).
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_backend(PyObject* module);

}  // namespace msa::py
