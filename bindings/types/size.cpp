// torch.Size: a tuple of ints that stays one under slicing, `+` and `*`.
#include "bindings/types/types.h"

namespace msa::py {

namespace {

PyObject* repr(PyObject* self) {
  std::string text = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    if (i) text += ", ";
    Owned item(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    if (!item) return nullptr;
    text += PyUnicode_AsUTF8(item.get());
  }
  return PyUnicode_FromString((text + "])").c_str());
}

// A Size from any iterable of things with __index__.
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Owned self(PyTuple_Type.tp_new(type, args, kwargs));
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self.get(), i);
    if (PyLong_CheckExact(item)) continue;
    PyObject* number = PyNumber_Index(item);
    if (!number) {
      return PyErr_Format(PyExc_TypeError,
                          "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                          Py_TYPE(item)->tp_name);
    }
    PyTuple_SET_ITEM(self.get(), i, number);
    Py_DECREF(item);
  }
  return self.release();
}

PyObject* as_size(Owned tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple.get())) return tuple.release();
  return PyObject_CallOneArg(as_object(&size_type), tuple.get());
}

PyObject* concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(b)) {
    return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size",
                        Py_TYPE(b)->tp_name);
  }
  return as_size(Owned(PyTuple_Type.tp_as_sequence->sq_concat(a, b)));
}
// nb_add, so that (1, 2) + Size gives a Size too.
PyObject* add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return concat(a, b);
}
PyObject* repeat(PyObject* a, Py_ssize_t n) {
  return as_size(Owned(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)));
}
PyObject* subscript(PyObject* a, PyObject* key) {
  return as_size(Owned(PyTuple_Type.tp_as_mapping->mp_subscript(a, key)));
}

PyObject* numel(PyObject* self, PyObject*) {
  int64_t n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
    n *= PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(n);
}

PyObject* reduce(PyObject* self, PyObject*) {
  Owned items(PySequence_List(self));
  return items ? Py_BuildValue("O(N)", &size_type, PyList_AsTuple(items.get())) : nullptr;
}

PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "The number of elements of a tensor of this size."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};
PyNumberMethods number = [] {
  PyNumberMethods m = {};
  m.nb_add = add;
  return m;
}();
PySequenceMethods sequence = [] {
  PySequenceMethods m = {};
  m.sq_concat = concat;
  m.sq_repeat = repeat;
  return m;
}();
PyMappingMethods mapping = [] {
  PyMappingMethods m = {};
  m.mp_subscript = subscript;
  return m;
}();

}  // namespace

PyTypeObject size_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch.Size";
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_repr = repr;
  t.tp_new = construct;
  t.tp_as_number = &number;
  t.tp_as_sequence = &sequence;
  t.tp_as_mapping = &mapping;
  t.tp_methods = methods;
  t.tp_doc = "The sizes of a tensor's dimensions: a tuple of ints.";
  return t;
}();

PyObject* size_object(DimsView dims) {
  PyObject* o = size_type.tp_alloc(&size_type, static_cast<Py_ssize_t>(dims.size()));
  if (!o) return nullptr;
  for (size_t i = 0; i < dims.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (!item) {
      Py_DECREF(o);
      return nullptr;
    }
    PyTuple_SET_ITEM(o, static_cast<Py_ssize_t>(i), item);
  }
  return o;
}

void init_size(PyObject* module) {
  size_type.tp_base = &PyTuple_Type;
  checked(PyType_Ready(&size_type));
  checked(PyModule_AddObjectRef(module, "Size", as_object(&size_type)));
}

}  // namespace msa::py
