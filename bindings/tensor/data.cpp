// torch.tensor and torch.as_tensor: nested sequences walked twice, once for type and shape, once to
// fill.
#include "bindings/tensor/data.h"

#include <cmath>

#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/tensor/methods.h"
#include "bindings/tensor/numpy.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "generated/ops_create.h"

namespace msa::py {

namespace {

constexpr size_t kMaxDims = 128;

bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) ||
         (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o));
}

// --- shape and type
// ------------------------------------------------------------------------------------

// A table of pandas has a length, but no element 0.
Owned first_of(PyObject* sequence) {
  PyObject* first = PySequence_GetItem(sequence, 0);
  if (first) return Owned(first);
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
  PyErr_Clear();
  fail(ErrorKind::Value, "could not determine the shape of object type '",
       Py_TYPE(sequence)->tp_name, "'");
}

Dims sizes_of(PyObject* data) {
  Dims sizes;
  Owned at = Owned::borrow(data);
  while (is_sequence(at.get())) {
    Py_ssize_t n = checked(static_cast<int>(PySequence_Size(at.get())));
    sizes.push_back(n);
    MSA_REQUIRE(sizes.size() <= kMaxDims, Value, "too many dimensions '", Py_TYPE(data)->tp_name,
                "'");
    if (n == 0) break;
    at = first_of(at.get());
    MSA_REQUIRE(!PyUnicode_Check(at.get()), Value, "too many dimensions 'str'");
  }
  return sizes;
}

DType numpy_scalar_dtype(PyObject* o) { return from_buffer(o, "tensor", false).dtype(); }

// The dtype of one number; false for what is none.
bool leaf_dtype(PyObject* o, DType& out) {
  if (PyFloat_CheckExact(o))
    out = default_dtype();
  else if (PyBool_Check(o))
    out = DType::Bool;
  else if (PyLong_Check(o))
    out = DType::I64;
  else if (PyComplex_Check(o))
    out = to_complex(default_dtype());
  else if (is_tensor(o))
    out = tensor_of(o).dtype();
  else if (is_numpy_scalar(o))
    out = numpy_scalar_dtype(o);
  else if (PyFloat_Check(o))
    out = default_dtype();
  else
    return false;
  return true;
}

[[noreturn]] void refuse_leaf(PyObject* o) {
  if (PyUnicode_Check(o) || PyBytes_Check(o))
    fail(ErrorKind::Type, "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
  fail(ErrorKind::Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}

struct Inferred {
  bool any = false;
  DType dtype = DType::F32;

  void add(DType t) {
    dtype = any ? promote_types(dtype, t) : t;
    any = true;
  }
  void walk(PyObject* o) {
    DType t;
    if (leaf_dtype(o, t)) return add(t);
    if (!is_sequence(o)) refuse_leaf(o);
    if (is_numpy_array(o)) return add(from_buffer(o, "tensor", false).dtype());
    Owned items = checked(PySequence_Fast(o, "not a sequence"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      walk(PySequence_Fast_GET_ITEM(items.get(), i));
  }
};

DType infer_dtype(PyObject* data) {
  Inferred inferred;
  inferred.walk(data);
  return inferred.any ? inferred.dtype : default_dtype();
}

// --- filling
// ---------------------------------------------------------------------------------------------

// An int beyond 64 bits: dtypes that round take it as a float.
bool large_int(PyObject* o, DType dtype, Scalar& out) {
  int overflow = 0;
  if (PyLong_Check(o)) PyLong_AsLongLongAndOverflow(o, &overflow);
  if (!overflow) return false;
  MSA_REQUIRE(is_inexact(dtype), Value, "Overflow when unpacking long long: ", dtype,
              " cannot hold an int of more than 64 bits; give a floating dtype");
  out = Scalar(PyLong_AsDouble(o));
  if (PyErr_Occurred()) throw PythonError();
  return true;
}

Scalar leaf_value(PyObject* o, DType dtype) {
  Scalar v;
  if (PyLong_CheckExact(o) && dtype == DType::U64) {
    unsigned long long u = PyLong_AsUnsignedLongLong(o);
    if (u == ~0ull && PyErr_Occurred()) throw PythonError();
    return Scalar(static_cast<int64_t>(u));
  }
  if (large_int(o, dtype, v)) return v;
  if (is_tensor(o)) {
    require_one_element(tensor_of(o));
    v = item(tensor_of(o));
  } else if (!to_scalar(o, v)) {
    Owned number(is_floating(dtype) ? PyNumber_Float(o) : PyNumber_Index(o));
    PyErr_Clear();
    MSA_REQUIRE(number && to_scalar(number.get(), v), Type, "must be real number, not ",
                Py_TYPE(o)->tp_name);
  }
  MSA_REQUIRE(!v.is_complex() || is_complex(dtype) || dtype == DType::Bool, Type,
              "must be real number, not complex");
  return v;
}

// Whether an integer dtype holds the value; negative ints wrap into unsigned ones, as in PyTorch.
bool fits(DType dtype, const Scalar& v) {
  if (!is_integral(dtype) || dtype == DType::Bool || dtype == DType::U64 || v.is_bool())
    return true;
  double bits = 8.0 * static_cast<double>(size_bytes(dtype)), value = v.to_double();
  bool is_signed = info(dtype).is_signed;
  double high = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0));
  double low = is_signed || v.is_integral() ? -high : 0;
  return value >= low && (value < high || (v.is_integral() && bits == 64));
}

void store(char* at, DType dtype, const Scalar& v) {
  MSA_REQUIRE(fits(dtype, v), Runtime, "value cannot be converted to type ", dtype,
              " without overflow");
  store_scalar(v, dtype, at);
}

class Filler {
 public:
  explicit Filler(const Tensor& t) : sizes_(t.sizes()), dtype_(t.dtype()), at_(t.data<char>()) {}

  void fill(PyObject* o, size_t dim) {
    if (dim == sizes_.size()) {
      MSA_REQUIRE(!is_sequence(o), Type, "not a sequence");
      store(at_, dtype_, leaf_value(o, dtype_));
      at_ += size_bytes(dtype_);
      return;
    }
    MSA_REQUIRE(is_sequence(o), Type, "not a sequence: all items at dim ", dim,
                " must have length ", sizes_[dim]);
    Owned items = checked(PySequence_Fast(o, "not a sequence"));
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
    MSA_REQUIRE(n == sizes_[dim], Value, "expected sequence of length ", sizes_[dim], " at dim ",
                dim, " (got ", static_cast<long>(n), ")");
    for (Py_ssize_t i = 0; i < n; ++i) {
      MSA_REQUIRE(PySequence_Fast_GET_SIZE(items.get()) == n, Value, "tensor: the list at dim ",
                  dim,
                  " changed while it was read");  // by an item's __index__ or __float__
      fill(PySequence_Fast_GET_ITEM(items.get(), i), dim + 1);
    }
  }

 private:
  const Dims& sizes_;
  DType dtype_;
  char* at_;
};

Tensor from_sequence(PyObject* data, OptDType dtype) {
  if (!is_sequence(data)) {
    DType ignored;
    if (!leaf_dtype(data, ignored)) refuse_leaf(data);
  }
  Dims sizes = sizes_of(data);
  Tensor t = empty(sizes, dtype ? *dtype : infer_dtype(data));
  Filler(t).fill(data, 0);
  return t;
}

Tensor placed(const Tensor& t, OptDevice device) {
  Device target = device.value_or(default_device());
  if (target == t.device() || (target.is_cpu() && t.device().is_cpu())) return t;
  Tensor moved = empty(t.sizes(), t.dtype(), target);
  if (!target.is_meta()) ops::copy_(moved, t);
  return moved;
}

Tensor converted(const Tensor& t, OptDType dtype, bool copy) {
  if (dtype && *dtype != t.dtype()) return ops::_to_copy(t, *dtype);
  return copy ? ops::clone(t) : t;
}

// Memory that already is an array of numbers.
bool is_array(PyObject* o) { return is_numpy_array(o); }

// --- Python
// ------------------------------------------------------------------------------------------------

PyObject* tensor(const Arguments& given) {
  PyObject* slot[5];
  take_arguments("tensor", given, {"data", "dtype", "device", "requires_grad", "pin_memory"}, slot,
                 1);
  MSA_REQUIRE(slot[0], Type, "tensor() missing 1 required positional arguments: \"data\"");
  DataOptions o = data_options("tensor", slot[1], slot[2], slot[3]);
  if (is_tensor(slot[0])) {
    checked(PyErr_WarnEx(PyExc_UserWarning,
                         "To copy construct from a tensor, it is recommended to use "
                         "sourceTensor.detach().clone() or "
                         "sourceTensor.detach().clone().requires_grad_(True), rather than "
                         "torch.tensor(sourceTensor).",
                         1));
  }
  Tensor made = tensor_from_data(slot[0], o.dtype, o.device);
  if (o.requires_grad) set_requires_grad(made, true);
  return wrap(std::move(made));
}

PyObject* as_tensor(const Arguments& given) {
  PyObject* slot[3];
  take_arguments("as_tensor", given, {"data", "dtype", "device"}, slot);
  MSA_REQUIRE(slot[0], Type, "as_tensor() missing 1 required positional arguments: \"data\"");
  DataOptions o = data_options("as_tensor", slot[1], slot[2], nullptr);
  return wrap(tensor_sharing_data(slot[0], o.dtype, o.device));
}

PyMethodDef functions[] = {
    function<"tensor", tensor>("tensor(data, *, dtype=None, device=None, requires_grad=False): a "
                               "tensor holding a copy of data."),
    function<"as_tensor", as_tensor>(
        "as_tensor(data, dtype=None, device=None): like tensor(), sharing memory where it can."),
    {},
};

}  // namespace

DataOptions data_options(const char* who, PyObject* dtype, PyObject* device,
                         PyObject* requires_grad) {
  DataOptions o;
  DType t;
  Device d;
  if (dtype && dtype != Py_None) {
    MSA_REQUIRE(to_dtype(dtype, t), Type, who, "(): argument 'dtype' must be torch.dtype, not ",
                Py_TYPE(dtype)->tp_name);
    o.dtype = t;
  }
  if (device && device != Py_None) {
    MSA_REQUIRE(to_device(device, d), Type, who, "(): argument 'device' must be torch.device, not ",
                Py_TYPE(device)->tp_name);
    o.device = d;
  }
  MSA_REQUIRE(!requires_grad || to_bool(requires_grad, o.requires_grad), Type, who,
              "(): argument 'requires_grad' must be bool");
  return o;
}

Tensor tensor_from_data(PyObject* data, OptDType dtype, OptDevice device) {
  if (is_tensor(data)) {
    Tensor source = detach(tensor_of(data));
    return placed(converted(source, dtype, true), device.value_or(source.device()));
  }
  if (is_array(data))
    return placed(converted(from_buffer(data, "tensor", false), dtype, true), device);
  return placed(from_sequence(data, dtype), device);
}

Tensor tensor_sharing_data(PyObject* data, OptDType dtype, OptDevice device) {
  if (is_tensor(data))
    return placed(converted(tensor_of(data), dtype, false),
                  device.value_or(tensor_of(data).device()));
  if (is_array(data))
    return placed(converted(from_buffer(data, "as_tensor", true), dtype, false), device);
  return placed(from_sequence(data, dtype), device);
}

void init_data() { add_functions(functions); }

}  // namespace msa::py
