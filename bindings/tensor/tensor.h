// The Python object of a tensor: identity, lifetime and the two directions of conversion.
//
// A tensor and its Python object find each other through TensorObject::tensor and
// TensorImpl::python. As a rule the object keeps the impl alive. When the object's last reference
// goes while others still hold the impl, and the object has something to lose (a __dict__, weak
// references, a subclass), it is revived and the impl owns it from then on
// (TensorImpl::owns_python).
#pragma once
#include "bindings/common.h"
#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace msa::py {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject tensor_base_type;  // torch._C.TensorBase, immutable
extern PyTypeObject tensor_meta_type;  // torch._C._TensorMeta
extern PyTypeObject* tensor_type;      // torch.Tensor
extern PyTypeObject* parameter_type;   // torch.nn.Parameter once Python has made it

inline bool is_tensor(PyObject* o) {
  return Py_IS_TYPE(o, tensor_type) || PyObject_TypeCheck(o, &tensor_base_type);
}
// Of a type that never overrides anything.
inline bool is_plain_tensor(PyObject* o) {
  return Py_IS_TYPE(o, tensor_type) || Py_IS_TYPE(o, parameter_type);
}
inline Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }

// The tensor's object, made when there is none; None for an undefined tensor. New reference.
PyObject* wrap(Tensor t);
// A new object of `type` for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, Tensor t);
PyObject* wrap_tuple(TensorsView list);

// Set by the autograd bindings: a node's Python object (new reference).
extern PyObject* (*wrap_node)(Node* node);
// The parts of a backward graph that the garbage collector may pass through; set by the autograd
// bindings. Visits what `node` alone keeps alive.
extern int (*visit_node)(Node* node, visitproc visit, void* arg);

void init_tensor_type(PyObject* module);

}  // namespace msa::py
