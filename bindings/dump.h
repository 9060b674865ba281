// _C.dump: what ms_adapter.tools.dump rests on.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_dump(PyObject* module);

}  // namespace msa::py
