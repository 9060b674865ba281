// The exception types that are ours, for those who raise or test for them.
#pragma once
#include "bindings/common.h"

namespace msa::py {

extern PyObject* out_of_memory_error;  // torch.OutOfMemoryError
extern PyObject* linalg_error;         // torch.linalg.LinAlgError

void init_errors(PyObject* module);

}  // namespace msa::py
