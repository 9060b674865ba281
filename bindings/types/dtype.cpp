// torch.dtype: one immortal object for each element type.
#include <cstddef>

#include "bindings/types/types.h"

namespace msa::py {

namespace {

DTypeObject objects[kDTypes];

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", info(dtype_value(self)).name.data());
}

// Pickled by name: "torch.float32".
PyObject* reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(info(dtype_value(self)).name.data());
}

PyObject* to_real_method(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(to_real(dtype_value(self))));
}
PyObject* to_complex_method(PyObject* self, PyObject*) {
  return guarded([&] {
    DType t = dtype_value(self);
    MSA_REQUIRE(is_inexact(t) && t <= DType::C32, Runtime, "Unknown Complex ScalarType for ",
                info(t).scalar_name, ": torch.", t,
                " has no complex counterpart; convert to a float first");
    return Py_NewRef(dtype_object(to_complex(t)));
  });
}

PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"__deepcopy__", copy, METH_O, nullptr},
    {"to_real", to_real_method, METH_NOARGS, "The real dtype of the same precision."},
    {"to_complex", to_complex_method, METH_NOARGS, "The complex dtype of the same precision."},
    {},
};

const DTypeInfo& info_of(PyObject* self) { return info(dtype_value(self)); }
PyObject* is_signed(PyObject* self, void*) {
  return guarded([&] {
    MSA_REQUIRE(!is_bits(dtype_value(self)), Runtime, "Bits types are undefined");
    return boolean(info_of(self).is_signed);
  });
}
PyGetSetDef getters[] = {
    {"is_floating_point", [](PyObject* s, void*) { return boolean(info_of(s).is_floating); },
     nullptr, nullptr, nullptr},
    {"is_complex", [](PyObject* s, void*) { return boolean(info_of(s).is_complex); }, nullptr,
     nullptr, nullptr},
    {"is_signed", is_signed, nullptr, nullptr, nullptr},
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromLong(info_of(s).size_bytes); }, nullptr,
     nullptr, nullptr},
    {},
};

}  // namespace

PyTypeObject dtype_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch.dtype";
  t.tp_basicsize = sizeof(DTypeObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_repr = repr;
  t.tp_methods = methods;
  t.tp_getset = getters;
  t.tp_doc = "The type of a tensor's elements.";
  return t;
}();

PyObject* dtype_object(DType t) { return as_object(&objects[static_cast<int>(t)]); }

bool to_dtype(PyObject* o, DType& out) {
  if (is_dtype(o)) {
    out = dtype_value(o);
  } else if (o == as_object(&PyFloat_Type)) {
    out = DType::F64;
  } else if (o == as_object(&PyLong_Type)) {
    out = DType::I64;
  } else if (o == as_object(&PyBool_Type)) {
    out = DType::Bool;
  } else if (o == as_object(&PyComplex_Type)) {
    out = DType::C128;
  } else {
    return false;
  }
  return true;
}

void init_dtype(PyObject* module) {
  checked(PyType_Ready(&dtype_type));
  checked(PyModule_AddObjectRef(module, "dtype", as_object(&dtype_type)));
  Owned names = checked(PyDict_New());
  for (int i = 0; i < kDTypes; ++i) {
    PyObject_Init(as_object(&objects[i]), &dtype_type);
    objects[i].value = static_cast<DType>(i);
    checked(PyDict_SetItemString(names.get(), dtype_infos[i].name.data(), as_object(&objects[i])));
  }
  checked(PyModule_AddObjectRef(module, "dtypes", names.get()));
}

}  // namespace msa::py
