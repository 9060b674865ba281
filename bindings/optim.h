// What the optimizers and the CPU engine's set-up call directly.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_optim(PyObject* module);

}  // namespace msa::py
