// Storages over memory that is not their own: mapped files, and parts of other storages.
#pragma once
#include "bindings/common.h"

namespace msa::py {

// UntypedStorage.from_file(filename, shared=False, nbytes=0)
PyObject* storage_from_file(PyObject*, PyObject* args, PyObject* kwargs);

// storage[start:stop], which shares the bytes.
PyObject* storage_slice(PyObject* self, PyObject* slice);

}  // namespace msa::py
