// torch.memory_format and torch.layout: named constants compared by identity.
#include "bindings/types/types.h"

namespace msa::py {

namespace {

// In the order of MemoryFormat.
ConstantObject memory_formats[] = {
    {PyObject_HEAD_INIT(&memory_format_type) "contiguous_format", 0},
    {PyObject_HEAD_INIT(&memory_format_type) "preserve_format", 1},
    {PyObject_HEAD_INIT(&memory_format_type) "channels_last", 2},
    {PyObject_HEAD_INIT(&memory_format_type) "channels_last_3d", 3},
};
// Numbered as core/sparse numbers them; jagged tensors can be named and are refused.
ConstantObject layouts[] = {
    {PyObject_HEAD_INIT(&layout_type) "strided", 0},
    {PyObject_HEAD_INIT(&layout_type) "sparse_coo", 1},
    {PyObject_HEAD_INIT(&layout_type) "sparse_csr", 2},
    {PyObject_HEAD_INIT(&layout_type) "sparse_csc", 3},
    {PyObject_HEAD_INIT(&layout_type) "sparse_bsr", 4},
    {PyObject_HEAD_INIT(&layout_type) "sparse_bsc", 5},
    {PyObject_HEAD_INIT(&layout_type) "jagged", 6},
};

const char* name_of(PyObject* o) { return reinterpret_cast<ConstantObject*>(o)->name; }
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", name_of(self)); }
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name_of(self)); }
PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"__deepcopy__", copy, METH_O, nullptr},
    {},
};

PyTypeObject constant_type(const char* name, const char* doc) {
  PyTypeObject t = blank_type();
  t.tp_name = name;
  t.tp_basicsize = sizeof(ConstantObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_repr = repr;
  t.tp_methods = methods;
  t.tp_doc = doc;
  return t;
}

template <size_t N>
void add_constants(PyObject* module, PyTypeObject& type, const char* name,
                   ConstantObject (&constants)[N]) {
  checked(PyType_Ready(&type));
  checked(PyModule_AddObjectRef(module, name, as_object(&type)));
  Owned names = checked(PyDict_New());
  for (ConstantObject& c : constants)
    checked(PyDict_SetItemString(names.get(), c.name, as_object(&c)));
  checked(PyModule_AddObjectRef(module, cat(name, "s").c_str(), names.get()));
}

}  // namespace

PyTypeObject memory_format_type =
    constant_type("torch.memory_format", "How a tensor's dimensions lie in memory.");
PyTypeObject layout_type = constant_type("torch.layout", "How a tensor's elements are stored.");

PyObject* memory_format_object(MemoryFormat f) {
  return as_object(&memory_formats[static_cast<int>(f)]);
}
PyObject* layout_object(int number) { return as_object(&layouts[number]); }

void init_constants(PyObject* module) {
  add_constants(module, memory_format_type, "memory_format", memory_formats);
  add_constants(module, layout_type, "layout", layouts);
}

}  // namespace msa::py
