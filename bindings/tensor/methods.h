// The hand-written parts of torch.Tensor, put on the type by bindings/tensor/type.cpp.
#pragma once
#include "bindings/tensor/native.h"

namespace msa::py {

// Tables that end with a null entry.
extern PyGetSetDef tensor_properties[];
extern PyMethodDef tensor_methods[];        // sizes, strides, memory, autograd flags
extern PyMethodDef tensor_value_methods[];  // item, tolist, numpy
extern PyMethodDef tensor_subclass_methods[];
extern PyMethodDef tensor_storage_methods[];
extern PyMethodDef tensor_dlpack_methods[];
extern PyMethodDef tensor_make_methods[];

extern PyNumberMethods tensor_number;
extern PyMappingMethods tensor_mapping;
PyObject* compare_tensors(PyObject* a, PyObject* b, int op);

// What int(), float() and complex() take: ValueError for any other number of elements.
void require_one_element(const Tensor& t);

// torch.Tensor(...), the old constructor: sizes, a sequence, or nothing.
PyObject* legacy_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);

void init_dlpack();
// Methods that PyTorch also has as functions of the tensor: torch.numel(x).
void init_query_functions(PyObject* module);
// Fetches what the operator slots call; after the generated methods are in place.
void init_operators();

}  // namespace msa::py
