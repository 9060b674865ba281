// Functions that are written in Python, which __torch_function__ may take over as it does ours.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_overridable(PyObject* module);

}  // namespace msa::py
