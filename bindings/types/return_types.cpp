// torch.return_types: the named tuples that rows with several named results return.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "bindings/binding.h"
#include "bindings/types/types.h"
//
#include <structmember.h>

namespace msa::py {

namespace {

// torch.return_types.max(
// values=tensor(...),
// indices=tensor(...))
PyObject* repr(PyObject* self) {
  std::string text = cat(Py_TYPE(self)->tp_name, "(\n");
  const PyMemberDef* fields = Py_TYPE(self)->tp_members;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Owned item(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    if (!item) return nullptr;
    if (i) text += ",\n";
    text += cat(fields[i].name, "=", PyUnicode_AsUTF8(item.get()));
  }
  return PyUnicode_FromString((text + ")").c_str());
}

PyTypeObject* make_type(const OpInfo& op) {
  // The descriptor's texts are kept by the type, so they live as long as the process.
  auto* name = new std::string(cat("torch.return_types.", op.name));
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (int i = 0; op.result_names[i]; ++i) fields->push_back({op.result_names[i], nullptr});
  int n = static_cast<int>(fields->size());
  fields->push_back({});
  PyStructSequence_Desc description = {name->c_str(), "Results by name.", fields->data(), n};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw PythonError();
  type->tp_repr = repr;
  return type;
}

}  // namespace

PyTypeObject* result_type_of(const OpInfo& op) { return face_of(op).result_type; }

void init_return_types(PyObject* module) {
  Owned types = checked(PyDict_New());
  std::map<std::string, PyTypeObject*> by_names;
  for (size_t i = 0; i < op_count; ++i) {
    const OpInfo& op = *op_table[i];
    if (!op.result_names) continue;
    std::string key = op.name;  // overloads with the same names share their type
    for (int f = 0; op.result_names[f]; ++f) key += cat(' ', op.result_names[f]);
    PyTypeObject*& type = by_names[key];
    if (!type) type = make_type(op);
    face_of(op).result_type = type;
    checked(PyDict_SetItemString(types.get(), op.name, as_object(type)));
  }
  checked(PyModule_AddObjectRef(module, "return_types", types.get()));
}

}  // namespace msa::py
