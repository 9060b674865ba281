// _C.overridable: a Python function behind the test whether an argument or a mode takes it over.
//
// A test in Python would cost each call more than many of these functions do themselves.
#include "bindings/overridable.h"

#include <cstddef>

#include "bindings/torch_function.h"

namespace msa::py {

namespace {

struct OverridableObject {
  PyObject_HEAD PyObject* function;
  PyObject* dict;
  PyObject* weakrefs;
  vectorcallfunc vectorcall;
};
OverridableObject* object_of(PyObject* o) { return reinterpret_cast<OverridableObject*>(o); }
extern PyTypeObject overridable_type;

bool overrides(PyObject* o) {
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return overrides_torch_function(o);
  for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
    if (overrides_torch_function(PySequence_Fast_ITEMS(o)[i])) return true;
  return false;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  bool taken = modes_active();
  const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (Py_ssize_t i = 0; i < all && !taken; ++i) taken = overrides(args[i]);
  if (__builtin_expect(!taken, 1))
    return PyObject_Vectorcall(object_of(self)->function, args, nargsf, kwnames);
  return guarded([&] { return dispatch_torch_function(self, {nullptr, args, n, kwnames}); });
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* function;
  if (!PyArg_ParseTuple(args, "O:overridable", &function)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  OverridableObject* o = object_of(self);
  o->function = Py_NewRef(function);
  o->dict = PyDict_New();
  o->vectorcall = call;
  return self;
}

// What the wrapper has not, the function has: __code__, __defaults__, __annotations__.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(object_of(self)->function, name);
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(object_of(self)->function);
  Py_VISIT(object_of(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->function);
  Py_CLEAR(object_of(self)->dict);
  return 0;
}
void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (object_of(self)->weakrefs) PyObject_ClearWeakRefs(self);
  clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, "Pickles by name."}, {}};
PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyTypeObject overridable_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "ms_adapter._C.overridable";
  t.tp_basicsize = sizeof(OverridableObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  t.tp_vectorcall_offset = offsetof(OverridableObject, vectorcall);
  t.tp_dictoffset = offsetof(OverridableObject, dict);
  t.tp_weaklistoffset = offsetof(OverridableObject, weakrefs);
  t.tp_new = make;
  t.tp_call = PyVectorcall_Call;
  t.tp_getattro = get_attribute;
  t.tp_descr_get = bind;
  t.tp_repr = [](PyObject* self) { return PyObject_Repr(object_of(self)->function); };
  t.tp_traverse = traverse;
  t.tp_clear = clear;
  t.tp_dealloc = destroy;
  t.tp_methods = methods;
  t.tp_getset = properties;
  return t;
}();

}  // namespace

void init_overridable(PyObject* module) {
  checked(PyType_Ready(&overridable_type));
  checked(PyModule_AddObjectRef(module, "overridable", as_object(&overridable_type)));
}

}  // namespace msa::py
