// torch.UntypedStorage: the bytes behind tensors as a Python object.
#pragma once
#include "bindings/common.h"
#include "core/storage/storage.h"

namespace msa::py {

extern PyTypeObject storage_type;
PyObject* storage_object(
    const Ref<Storage>& storage);  // the one object of a storage, new reference
const Ref<Storage>& storage_value(PyObject* o);

PyObject* storage_is_shared(PyObject* self, PyObject*);  // in shared_memory.cpp
PyObject* storage_share_memory(PyObject* self, PyObject*);

void init_storage(PyObject* module);
void init_shared_memory(PyObject* module);

}  // namespace msa::py
