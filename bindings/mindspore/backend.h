// Devices whose operators are another package's callables.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_package_backend(PyObject* module);

}  // namespace msa::py
