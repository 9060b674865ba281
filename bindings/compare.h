// _C.compare_elements, which ms_adapter.tools.compare rests on.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_compare(PyObject* module);

}  // namespace msa::py
