// Adds the submodule `_C.timeline`: the times of this thread's operator calls.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_timeline(PyObject* module);

}  // namespace msa::py
