// Custom operators: rows that Python adds, with a body in Python or in a user's library.
#pragma once
#include "bindings/common.h"

namespace msa::py {

void init_custom(PyObject* module);

}  // namespace msa::py
