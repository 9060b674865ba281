// Custom operators: rows that Python adds, with a body in Python or in a user's library.
#pragma once
#include "bindings/common.h"
#include "core/dispatch/layers.h"

namespace msa::py {

// Lets a row run in C++ where nothing needs Python: no gradient is recorded, and no argument is of
// a class with __torch_dispatch__.
using NativeBody = void (*)(const OpInfo& op, const Value* args, Results& results);
void set_native_body(const OpInfo& op, NativeBody body);

void init_custom(PyObject* module);

}  // namespace msa::py
