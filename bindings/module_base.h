// The native base of nn.Module.
#pragma once
#include "bindings/common.h"

namespace msa::py {
void init_module_base(PyObject* module);
}
