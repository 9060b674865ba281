// Conversions between Python's numbers and sequences and the core's.
#include "bindings/convert.h"

#include "bindings/tensor/tensor.h"
#include "core/capture/watcher.h"
#include "core/dispatch/thread_state.h"
#include "core/sparse/sparse.h"
#include "core/transforms/batched.h"
#include "generated/ops_create.h"
#include "generated/ops_sparse.h"

namespace msa::py {

namespace {

// A class of an already loaded NumPy, looked up once; null while NumPy is not loaded.
PyObject* numpy_class(const char* name, PyObject*& cached) {
  if (cached) return cached;
  Owned key = checked(PyUnicode_FromString("numpy"));
  Owned numpy(PyImport_GetModule(key.get()));
  if (!numpy) {
    PyErr_Clear();
    return nullptr;
  }
  return cached = PyObject_GetAttrString(numpy.get(), name);
}

bool is_instance(PyObject* o, PyObject* cls) {
  return cls && PyType_IsSubtype(Py_TYPE(o), as_type(cls));
}

// A 0-d tensor that may stand for a number here.
bool is_number_tensor(PyObject* o) {
  if (!is_tensor(o)) return false;
  const Tensor& t = tensor_of(o);
  return t.dim() == 0 && !t.requires_grad();
}

int64_t long_value(PyObject* o, PyObject* error = PyExc_ValueError) {
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) {
    PyErr_SetString(error, "Overflow when unpacking long long: the int does not fit 64 bits");
    throw PythonError();
  }
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

bool numpy_scalar_value(PyObject* o, Scalar& out) {
  const char* name = Py_TYPE(o)->tp_name;
  if (std::string_view(name).starts_with("numpy.bool")) {
    out = Scalar(PyObject_IsTrue(o) == 1);
  } else if (PyIndex_Check(o) && Py_TYPE(o)->tp_as_number->nb_index) {
    Owned index(PyNumber_Index(o));
    if (!index) {  // every NumPy scalar has the slot, only integers answer
      PyErr_Clear();
      return false;
    }
    out = Scalar(long_value(index.get()));
  } else {
    return false;
  }
  return true;
}

bool inexact_numpy_scalar(PyObject* o, Scalar& out) {
  if (std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.complex")) {
    Py_complex c = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) throw PythonError();
    out = Scalar(c128(c.real, c.imag));
    return true;
  }
  double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  out = Scalar(v);
  return true;
}

}  // namespace

bool is_numpy_scalar(PyObject* o) {
  static PyObject* generic = nullptr;
  return is_instance(o, numpy_class("generic", generic));
}

bool is_numpy_array(PyObject* o) {
  static PyObject* ndarray = nullptr;
  return is_instance(o, numpy_class("ndarray", ndarray));
}

bool to_scalar(PyObject* o, Scalar& out) {
  if (PyFloat_Check(o)) {
    out = Scalar(PyFloat_AS_DOUBLE(o));
  } else if (PyBool_Check(o)) {
    out = Scalar(o == Py_True);
  } else if (PyLong_Check(o)) {
    out = Scalar(long_value(o, PyExc_OverflowError));
  } else if (PyComplex_Check(o)) {
    Py_complex c = PyComplex_AsCComplex(o);
    out = Scalar(c128(c.real, c.imag));
  } else if (is_tensor(o)) {
    if (!is_number_tensor(o)) return false;
    out = item(tensor_of(o));
  } else if (is_numpy_scalar(o)) {
    return numpy_scalar_value(o, out) || inexact_numpy_scalar(o, out);
  } else {
    return false;
  }
  return true;
}

bool to_int(PyObject* o, int64_t& out) {
  if (PyLong_CheckExact(o)) {
    out = long_value(o);
    return true;
  }
  if (PyBool_Check(o) || !PyIndex_Check(o)) return false;
  if (is_tensor(o) && (!is_number_tensor(o) || !is_integral(tensor_of(o).dtype()) ||
                       tensor_of(o).dtype() == DType::Bool))
    return false;
  Owned index(PyNumber_Index(o));
  if (!index) {
    PyErr_Clear();
    return false;
  }
  out = long_value(index.get());
  return true;
}

bool to_list_int(PyObject* o, int64_t& out) {
  if (to_int(o, out)) return true;
  if (!is_tensor(o)) return false;
  const Tensor& t = tensor_of(o);
  if (t.numel() != 1 || !is_integral(t.dtype()) || t.dtype() == DType::Bool) return false;
  out = item(t).to_int();
  return true;
}

bool to_real(PyObject* o, double& out) {
  if (PyFloat_CheckExact(o)) {
    out = PyFloat_AS_DOUBLE(o);
    return true;
  }
  Scalar s;
  if (!to_scalar(o, s) || s.is_complex()) return false;
  out = s.to_double();
  return true;
}

bool to_bool(PyObject* o, bool& out) {
  if (PyBool_Check(o)) {
    out = o == Py_True;
    return true;
  }
  Scalar s;
  if (!is_numpy_scalar(o) || !to_scalar(o, s) || !s.is_bool()) return false;
  out = s.to<bool>();
  return true;
}

bool to_dims(PyObject* const* items, Py_ssize_t n, Dims& out) {
  out.resize(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!to_list_int(items[i], out[static_cast<size_t>(i)])) return false;
  return true;
}

bool to_dims(PyObject* o, Dims& out) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  return to_dims(PySequence_Fast_ITEMS(o), Py_SIZE(o), out);
}

bool to_reals(PyObject* o, std::vector<double>& out) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  out.resize(static_cast<size_t>(Py_SIZE(o)));
  for (size_t i = 0; i < out.size(); ++i)
    if (!to_real(PySequence_Fast_ITEMS(o)[i], out[i])) return false;
  return true;
}

PyObject* scalar_object(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return boolean(s.to<bool>());
    case Scalar::Kind::Int:
      return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::Float:
      return PyFloat_FromDouble(s.to_double());
    case Scalar::Kind::Complex:
      break;
  }
  c128 c = s.to_complex();
  return PyComplex_FromDoubles(c.real(), c.imag());
}

PyObject* element_object(const void* p, DType t) {
  if (t == DType::F32)
    return PyFloat_FromDouble(static_cast<double>(*static_cast<const float*>(p)));
  if (t == DType::U64) return PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(p));
  return scalar_object(load_scalar(t, p));
}

Tensor on_host(const Tensor& t) {
  if (t.device().is_cpu()) return t;
  refuse_reading(t);
  MSA_REQUIRE(!is_sparse(t), Runtime,
              "Cannot access data pointer of Tensor that doesn't have storage: a sparse tensor's "
              "elements are read after to_dense()");
  MSA_REQUIRE(
      !t.device().is_meta(), Runtime,
      "a meta tensor has no data: Tensor.item(), tolist() and numpy() cannot be called on it");
  Tensor host = empty(t.sizes(), t.dtype());
  GradMode off(false);
  ops::copy_(host, t);
  return host;
}

namespace {
Tensor single_element(const Tensor& t) {
  MSA_REQUIRE(t.numel() == 1, Runtime, "a Tensor with ", t.numel(),
              " elements cannot be converted to Scalar");
  return on_host(ops::to_dense(t));
}
}  // namespace

Scalar item(const Tensor& t) {
  capture::tell_read(t, "item()");
  Tensor host = single_element(t);
  return load_scalar(host.dtype(), host.data());
}

PyObject* item_object(const Tensor& t) {
  capture::tell_read(t, "item()");
  if (__builtin_expect(t.numel() == 1 && t.device().is_cpu(), 1))
    return element_object(t.data(), t.dtype());
  Tensor host = single_element(t);
  return element_object(host.data(), host.dtype());
}

}  // namespace msa::py
