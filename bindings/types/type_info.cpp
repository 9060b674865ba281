// torch.finfo and torch.iinfo: the numeric limits of a dtype.
#include <cstddef>
#include <cstring>
#include <limits>

#include "bindings/types/types.h"

namespace msa::py {

namespace {

struct FloatLimits {
  double max, eps, smallest_normal, resolution;
  double min = -max;
};

FloatLimits float_limits(DType t) {
  switch (t) {
    case DType::F16:
    case DType::C32:
      return {65504.0, 0x1p-10, 0x1p-14, 1e-3};
    case DType::BF16:
      return {0x1.fep127, 0x1p-7, 0x1p-126, 1e-2};
    case DType::F64:
    case DType::C128:
      return {std::numeric_limits<double>::max(), 0x1p-52, 0x1p-1022, 1e-15};
    case DType::F8E4M3FN:
      return {448.0, 0x1p-3, 0x1p-6, 1.0};
    case DType::F8E4M3FNUZ:
      return {240.0, 0x1p-3, 0x1p-7, 1.0};
    case DType::F8E5M2:
      return {57344.0, 0x1p-2, 0x1p-14, 1.0};
    case DType::F8E5M2FNUZ:
      return {57344.0, 0x1p-3, 0x1p-15, 1.0};
    case DType::F8E8M0FNU:
      return {0x1p127, 1.0, 0x1p-127, 1.0, 0x1p-127};
    default:
      return {std::numeric_limits<float>::max(), 0x1p-23, 0x1p-126, 1e-6};
  }
}

DType parse_dtype(PyObject* args, PyObject* kwargs, const char* who, bool optional) {
  static const char* names[] = {"type", nullptr};
  std::string format = cat(optional ? "|O:" : "O:", who);
  PyObject* given = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format.c_str(), const_cast<char**>(names), &given))
    throw PythonError();
  DType t = default_dtype();
  MSA_REQUIRE(!given || to_dtype(given, t), Type, who, ": type must be a torch.dtype, not ",
              Py_TYPE(given)->tp_name);
  return t;
}

PyObject* make(PyTypeObject* type, DType t) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) reinterpret_cast<DTypeObject*>(self)->value = t;
  return self;
}

PyObject* new_finfo(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    DType t = parse_dtype(args, kwargs, "finfo", true);
    MSA_REQUIRE(
        is_inexact(t) && !is_opaque(t), Type,
        "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.", t,
        "'");
    return make(type, t);
  });
}

PyObject* new_iinfo(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    DType t = parse_dtype(args, kwargs, "iinfo", false);
    MSA_REQUIRE(is_integral(t), Type,
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.",
                t, "'");
    MSA_REQUIRE(t != DType::Bool, Type, "torch.bool is not supported by torch.iinfo");
    return make(type, t);
  });
}

FloatLimits limits_of(PyObject* self) { return float_limits(dtype_value(self)); }
PyObject* bits(PyObject* self, void*) {
  DType t = to_real(dtype_value(self));
  return PyLong_FromSize_t(size_bytes(t) * 8);
}
PyObject* dtype_name(PyObject* self, void*) {
  return PyUnicode_FromString(info(to_real(dtype_value(self))).name.data());
}
PyObject* float_max(PyObject* self, void*) { return PyFloat_FromDouble(limits_of(self).max); }
PyObject* float_min(PyObject* self, void*) { return PyFloat_FromDouble(limits_of(self).min); }
PyObject* eps(PyObject* self, void*) { return PyFloat_FromDouble(limits_of(self).eps); }
PyObject* tiny(PyObject* self, void*) {
  return PyFloat_FromDouble(limits_of(self).smallest_normal);
}
PyObject* resolution(PyObject* self, void*) {
  return PyFloat_FromDouble(limits_of(self).resolution);
}

PyObject* int_max(PyObject* self, void*) {
  const DTypeInfo& d = info(dtype_value(self));
  return PyLong_FromUnsignedLongLong(~0ull >> (64 - 8 * d.size_bytes + (d.is_signed ? 1 : 0)));
}
PyObject* int_min(PyObject* self, void*) {
  const DTypeInfo& d = info(dtype_value(self));
  return PyLong_FromLongLong(
      d.is_signed ? -(static_cast<long long>(~0ull >> (65 - 8 * d.size_bytes))) - 1 : 0);
}

PyObject* finfo_repr(PyObject* self) {
  FloatLimits l = limits_of(self);
  char text[320];
  snprintf(text, sizeof text,
           "finfo(resolution=%g, min=%g, max=%g, eps=%g, smallest_normal=%g, tiny=%g, dtype=%s)",
           l.resolution, l.min, l.max, l.eps, l.smallest_normal, l.smallest_normal,
           info(to_real(dtype_value(self))).name.data());
  return PyUnicode_FromString(text);
}

PyObject* iinfo_repr(PyObject* self) {
  Owned low(int_min(self, nullptr)), high(int_max(self, nullptr));
  char text[120];
  snprintf(text, sizeof text, "iinfo(min=%g, max=%g, dtype=%s)", PyLong_AsDouble(low.get()),
           PyLong_AsDouble(high.get()), info(dtype_value(self)).name.data());
  return PyUnicode_FromString(text);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return boolean((dtype_value(a) == dtype_value(b)) == (op == Py_EQ));
}

PyGetSetDef finfo_getters[] = {
    {"bits", bits, nullptr, nullptr, nullptr},
    {"eps", eps, nullptr, nullptr, nullptr},
    {"max", float_max, nullptr, nullptr, nullptr},
    {"min", float_min, nullptr, nullptr, nullptr},
    {"tiny", tiny, nullptr, nullptr, nullptr},
    {"smallest_normal", tiny, nullptr, nullptr, nullptr},
    {"resolution", resolution, nullptr, nullptr, nullptr},
    {"dtype", dtype_name, nullptr, nullptr, nullptr},
    {},
};
PyGetSetDef iinfo_getters[] = {
    {"bits", bits, nullptr, nullptr, nullptr},
    {"max", int_max, nullptr, nullptr, nullptr},
    {"min", int_min, nullptr, nullptr, nullptr},
    {"dtype", dtype_name, nullptr, nullptr, nullptr},
    {},
};

PyTypeObject info_type(const char* name, newfunc construct, reprfunc repr, PyGetSetDef* getters,
                       const char* doc) {
  PyTypeObject t = blank_type();
  t.tp_name = name;
  t.tp_basicsize = sizeof(DTypeObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = construct;
  t.tp_repr = t.tp_str = repr;
  t.tp_getset = getters;
  t.tp_richcompare = compare;
  t.tp_hash = PyObject_HashNotImplemented;
  t.tp_doc = doc;
  return t;
}

PyTypeObject finfo_type =
    info_type("torch.finfo", new_finfo, finfo_repr, finfo_getters, "Limits of a floating dtype.");
PyTypeObject iinfo_type =
    info_type("torch.iinfo", new_iinfo, iinfo_repr, iinfo_getters, "Limits of an integer dtype.");

}  // namespace

void init_type_info(PyObject* module) {
  for (PyTypeObject* type : {&finfo_type, &iinfo_type}) {
    checked(PyType_Ready(type));
    checked(PyModule_AddObjectRef(module, std::strrchr(type->tp_name, '.') + 1, as_object(type)));
  }
}

}  // namespace msa::py
