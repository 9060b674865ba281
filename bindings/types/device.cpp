// torch.device: a value type, also a context manager that sets where new tensors go.
#include <vector>

#include "bindings/types/types.h"
#include "core/dispatch/options.h"
#include "core/storage/stand_in.h"

namespace msa::py {

namespace {

// A torch.device that a script may have made of "cuda" without any: a library makes such a one as
// the default of an argument, so that it is the first use which is told of.
struct NamedDevice {
  DeviceObject device;
  bool stands_in;
};
bool& stands_in(PyObject* o) { return reinterpret_cast<NamedDevice*>(o)->stands_in; }

thread_local std::vector<Device> entered;  // defaults to restore, innermost last

std::string text_of(Device d) { return cat(d); }

PyObject* repr(PyObject* self) {
  Device d = device_value(self);
  std::string name(device_name(d.kind));
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", name.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", name.c_str(), d.index);
}

PyObject* str(PyObject* self) { return PyUnicode_FromString(text_of(device_value(self)).c_str()); }

Py_hash_t hash(PyObject* self) {
  Device d = device_value(self);
  return static_cast<int>(d.kind) * 257 + d.index + 1;
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!is_device(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return boolean((device_value(a) == device_value(b)) == (op == Py_EQ));
}

Device with_index(Device d, PyObject* index) {
  MSA_REQUIRE(
      d.index < 0, Runtime,
      "type (string) must not include an index because index was passed explicitly: ", text_of(d));
  long i = PyLong_AsLong(index);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  MSA_REQUIRE(i >= 0 && i < 128, Runtime, "device: index ", i, " is not between 0 and 127");
  d.index = static_cast<int8_t>(i);
  return d;
}

// As to_device, for devices of other machines, too; and whether it stands for an accelerator not
// here.
bool to_any_device(PyObject* o, Device& out, bool& for_another) {
  if (is_device(o)) {
    out = device_value(o);
    for_another = stands_in(o);
  } else if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    const char* text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) throw PythonError();
    out = meant_device_of_any_machine({text, static_cast<size_t>(n)});
    for_another = is_absent_accelerator({text, static_cast<size_t>(n)});
  } else if (PyLong_Check(o) && !PyBool_Check(o)) {
    with_index({}, o);
    out = accelerator();  // a bare index names an accelerator, as in PyTorch
    for_another = true;
  } else {
    return false;
  }
  return true;
}

PyObject* construct(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *kind = nullptr, *index = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &kind,
                                     &index))
      return nullptr;
    Device d;
    bool for_another;
    MSA_REQUIRE(to_any_device(kind, d, for_another), Type,
                "device: type must be a string, an index or a torch.device, not ",
                Py_TYPE(kind)->tp_name);
    if (index && index != Py_None) {
      Device numbered = with_index(d, index);
      if (!for_another) d = numbered;  // "cuda" is one device here, whatever the index
    }
    PyObject* made = device_object(d);
    if (made) stands_in(made) = for_another;
    return made;
  });
}

PyObject* reduce(PyObject* self, PyObject*) {
  Device d = device_value(self);
  std::string name(device_name(d.kind));
  if (d.index < 0) return Py_BuildValue("O(s)", &device_type, name.c_str());
  return Py_BuildValue("O(si)", &device_type, name.c_str(), d.index);
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    Device device;
    to_device(self, device);
    entered.push_back(default_device());
    set_default_device(device);
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject*, PyObject*) {
  return guarded([&] {
    MSA_REQUIRE(!entered.empty(), Runtime, "device: left a context that was not entered");
    set_default_device(entered.back());
    entered.pop_back();
    return none();
  });
}

PyObject* get_type(PyObject* self, void*) {
  std::string_view name = device_name(device_value(self).kind);
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* get_index(PyObject* self, void*) {
  Device d = device_value(self);
  return d.index < 0 ? none() : PyLong_FromLong(d.index);
}

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", leave, METH_VARARGS, nullptr},
    {},
};
PyGetSetDef getters[] = {
    {"type", get_type, nullptr, nullptr, nullptr},
    {"index", get_index, nullptr, nullptr, nullptr},
    {},
};

}  // namespace

PyTypeObject device_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch.device";
  t.tp_basicsize = sizeof(NamedDevice);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_repr = repr;
  t.tp_str = str;
  t.tp_hash = hash;
  t.tp_richcompare = compare;
  t.tp_new = construct;
  t.tp_methods = methods;
  t.tp_getset = getters;
  t.tp_doc = "Where a tensor lives: device('cpu'), device('mindspore', 0).";
  return t;
}();

PyObject* device_object(Device d) {
  PyObject* o = PyType_GenericAlloc(&device_type, 0);
  if (o) reinterpret_cast<DeviceObject*>(o)->value = d;
  return o;
}

bool to_device(PyObject* o, Device& out) {
  bool for_another;
  if (!to_any_device(o, out, for_another)) return false;
  require_here(out);
  if (for_another) say_stand_in();
  return true;
}

void init_device(PyObject* module) {
  checked(PyType_Ready(&device_type));
  checked(PyModule_AddObjectRef(module, "device", as_object(&device_type)));
}

}  // namespace msa::py
