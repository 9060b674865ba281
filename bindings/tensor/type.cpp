// Birth, death and garbage collection of tensor objects, and the classes torch.Tensor rests on.
#include <cstddef>

#include "bindings/common.h"
//
#include <structmember.h>

#include "bindings/tensor/methods.h"
#include "bindings/tensor/tensor.h"
#include "core/autograd/accumulate.h"

namespace msa::py {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* parameter_type = nullptr;
PyObject* (*wrap_node)(Node*) = nullptr;
int (*visit_node)(Node*, visitproc, void*) = nullptr;

namespace {

// --- free list: dead objects of exactly torch.Tensor, keeping their reference to the type --------
constexpr int kFreeCap = 4096;
TensorObject* free_objects[kFreeCap];
int n_free = 0;

TensorObject* object_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

TensorObject* new_object(PyTypeObject* type) {
  if (type == tensor_type && n_free > 0) {
    TensorObject* o = free_objects[--n_free];
    Py_SET_REFCNT(as_object(o), 1);
    PyObject_GC_Track(o);
    return o;
  }
  PyObject* o = type->tp_alloc(type, 0);  // zeroed, tracked
  if (!o) throw PythonError();
  return object_of(o);
}

void free_object(TensorObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_type && n_free < kFreeCap) {
    free_objects[n_free++] = o;
    return;
  }
  type->tp_free(o);
  Py_DECREF(type);
}

// --- death ---------------------------------------------------------------------------------------

// True when the object lives on, owned by its impl.
bool revive(TensorObject* o) {
  TensorImpl* impl = o->tensor.impl();
  if (!impl || impl->refs == 1) return false;
  if (Py_IS_TYPE(o, tensor_type) && !o->dict && !o->weakrefs) return false;
  Py_SET_REFCNT(as_object(o), 1);
  impl->owns_python = true;
  --impl->refs;  // ours; `tensor` keeps pointing at the impl that now owns us
  return true;
}

// Takes the impl out of the object. A null impl: never initialized.
void let_go(TensorObject* o) {
  if (TensorImpl* impl = o->tensor.impl()) impl->python = nullptr;
  o->tensor = Tensor();
}

// The attributes that subclasses declared in __slots__.
void clear_slots(PyTypeObject* type, PyObject* self) {
  for (; type != tensor_type && type != &tensor_base_type; type = type->tp_base) {
    Py_ssize_t n = Py_SIZE(type);
    auto* member =
        reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(type) + Py_TYPE(type)->tp_basicsize);
    for (Py_ssize_t i = 0; i < n; ++i, ++member) {
      if (member->type != T_OBJECT_EX || (member->flags & READONLY)) continue;
      auto** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + member->offset);
      Py_CLEAR(*slot);
    }
  }
}

void destroy_object(PyObject* self) {
  TensorObject* o = object_of(self);
  if (revive(o)) return;
  PyTypeObject* type = Py_TYPE(self);
  if (type != tensor_type && type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0)
    return;
  PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  if (type != tensor_type) clear_slots(type, self);
  Py_CLEAR(o->dict);
  let_go(o);
  free_object(o);
}

// The impl dies and owns the object: the object owns the impl again, and dies by its own rules.
void release_owned(TensorImpl* impl) {
  impl->owns_python = false;
  impl->refs = 1;
  Py_DECREF(static_cast<PyObject*>(impl->python));
}

// --- garbage collection --------------------------------------------------------------------------

int visit_impl(TensorImpl* impl, visitproc visit, void* arg);

int visit_tensor(const Tensor& t, visitproc visit, void* arg) {
  TensorImpl* impl = t.impl();
  if (!impl || impl->refs != 1) return 0;
  if (impl->owns_python) Py_VISIT(static_cast<PyObject*>(impl->python));
  return visit_impl(impl, visit, arg);
}

// What a solely owned impl keeps alive.
int visit_impl(TensorImpl* impl, visitproc visit, void* arg) {
  AutogradMeta* meta = impl->meta;
  if (!meta) return 0;
  if (int stop = visit_tensor(meta->grad, visit, arg)) return stop;
  if (!visit_node) return 0;
  if (Node* node = meta->grad_fn.get(); node && node->refs == 1)
    return visit_node(node, visit, arg);
  if (Node* node = meta->accumulator; node && node->refs == 0) return visit_node(node, visit, arg);
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  TensorObject* o = object_of(self);
  Py_VISIT(o->dict);
  TensorImpl* impl = o->tensor.impl();
  bool owner = impl && !impl->owns_python && impl->refs == 1;
  return owner ? visit_impl(impl, visit, arg) : 0;
}

int clear(PyObject* self) {
  TensorObject* o = object_of(self);
  Py_CLEAR(o->dict);
  TensorImpl* impl = o->tensor.impl();
  if (impl && !impl->owns_python && impl->refs == 1 && impl->meta) {
    Tensor grad = std::move(impl->meta->grad);
    Ref<Node> node = impl->meta->exchange_history({}, 0);
    std::unique_ptr<NodeHooks> hooks;
    if (AccumulateGrad* leaf = impl->meta->accumulator; leaf && leaf->refs == 0)
      hooks = std::move(leaf->hooks);
  }
  return 0;
}

// --- the metaclass: gives every subclass our own deallocation ------------------------------------

// Python's subtype_dealloc clears the __dict__ before we could revive the object.
int init_class(PyObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyType_Type.tp_init(cls, args, kwargs) < 0) return -1;
  as_type(cls)->tp_dealloc = destroy_object;
  return 0;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] { return legacy_new(type, args, kwargs); });
}

}  // namespace

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  TensorObject* o = new_object(type);
  t->python = o;
  o->tensor = std::move(t);
  return as_object(o);
}

PyObject* wrap(Tensor t) {
  if (!t.defined()) return none();
  TensorImpl* impl = t.impl();
  if (__builtin_expect(!impl->python, 1)) return wrap_as(tensor_type, std::move(t));
  auto* o = static_cast<PyObject*>(impl->python);
  if (!impl->owns_python) return Py_NewRef(o);
  impl->owns_python = false;  // the reference that the impl held is now the caller's
  ++impl->refs;               // and the object's count on the impl is back
  return o;
}

PyObject* wrap_tuple(TensorsView list) {
  Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple.release();
}

PyTypeObject tensor_meta_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch._C._TensorMeta";
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_init = init_class;
  t.tp_doc = "The class of tensor classes.";
  return t;
}();

PyTypeObject tensor_base_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch._C.TensorBase";
  t.tp_basicsize = sizeof(TensorObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_dealloc = destroy_object;
  t.tp_traverse = traverse;
  t.tp_clear = clear;
  t.tp_dictoffset = offsetof(TensorObject, dict);
  t.tp_weaklistoffset = offsetof(TensorObject, weakrefs);
  t.tp_new = tensor_new;
  t.tp_hash = [](PyObject* self) { return _Py_HashPointer(self); };
  t.tp_as_number = &tensor_number;
  t.tp_as_mapping = &tensor_mapping;
  t.tp_richcompare = compare_tensors;
  t.tp_getset = tensor_properties;
  t.tp_methods = tensor_methods;
  t.tp_doc = "The native part of torch.Tensor.";
  return t;
}();

namespace {
void add_methods(PyMethodDef* table) {
  for (; table->ml_name; ++table) {
    bool is_static = table->ml_flags & METH_STATIC;
    Owned made;
    if (is_static) {
      PyMethodDef* plain = new PyMethodDef(*table);
      plain->ml_flags &= ~METH_STATIC;
      Owned function = checked(PyCFunction_New(plain, nullptr));
      made = checked(PyStaticMethod_New(function.get()));
    } else {
      made = checked(PyDescr_NewMethod(&tensor_base_type, table));
    }
    checked(PyDict_SetItemString(tensor_base_type.tp_dict, table->ml_name, made.get()));
  }
}
}  // namespace

void init_tensor_type(PyObject* module) {
  release_python = release_owned;
  tensor_meta_type.tp_base = &PyType_Type;
  checked(PyType_Ready(&tensor_meta_type));
  Py_SET_TYPE(as_object(&tensor_base_type), &tensor_meta_type);
  checked(PyType_Ready(&tensor_base_type));
  for (PyMethodDef* table : {tensor_value_methods, tensor_subclass_methods, tensor_storage_methods,
                             tensor_dlpack_methods, tensor_make_methods})
    add_methods(table);
  Owned cls = checked(PyObject_CallFunction(as_object(&tensor_meta_type), "s(O){ss}", "Tensor",
                                            &tensor_base_type, "__module__", "torch"));
  tensor_type = as_type(Py_NewRef(cls.get()));
  checked(PyModule_AddObjectRef(module, "_TensorMeta", as_object(&tensor_meta_type)));
  checked(PyModule_AddObjectRef(module, "TensorBase", as_object(&tensor_base_type)));
  checked(PyModule_AddObjectRef(module, "Tensor", cls.get()));
}

}  // namespace msa::py
