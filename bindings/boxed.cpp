// Turns boxed values into Python objects and back.
#include "bindings/boxed.h"

#include "bindings/convert.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/dispatch/arguments.h"

namespace msa::py {

namespace {

PyObject* dims_object(const Dims& dims) {
  Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLongLong(dims[i])).release());
  return tuple.release();
}

PyObject* floats_object(const std::vector<double>& values) {
  Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, checked(PyFloat_FromDouble(values[i])).release());
  return tuple.release();
}

}  // namespace

PyObject* value_object(const Value& v) {
  switch (v.tag()) {
    case Value::Tag::None:
      return none();
    case Value::Tag::Tensor:
      return checked(wrap(v.tensor())).release();
    case Value::Tag::Tensors:
      return checked(wrap_tuple(v.tensors())).release();
    case Value::Tag::Int:
    case Value::Tag::Float:
    case Value::Tag::Bool:
    case Value::Tag::Complex:
      return checked(scalar_object(v.scalar())).release();
    case Value::Tag::Dims:
      return dims_object(v.dims());
    case Value::Tag::Floats:
      return floats_object(v.floats());
    case Value::Tag::Str:
      return checked(PyUnicode_FromStringAndSize(v.str().data(),
                                                 static_cast<Py_ssize_t>(v.str().size())))
          .release();
    case Value::Tag::DType:
      return Py_NewRef(dtype_object(v.dtype()));
    case Value::Tag::Device:
      return checked(device_object(v.device())).release();
    case Value::Tag::Format:
      return Py_NewRef(memory_format_object(v.format()));
    case Value::Tag::Generator:
      return none();  // only the core's own kernels draw from one
  }
  __builtin_unreachable();
}

Owned arguments_tuple(const OpInfo& op, Form form, const Value* args) {
  Py_ssize_t n = argument_count(op, form);
  Owned tuple = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, value_object(args[i]));
  return tuple;
}

void read_results(const OpInfo& op, PyObject* given, Results& results) {
  if (given == Py_None) return;
  if (is_tensor(given)) return results.set(tensor_of(given));
  if (PyTuple_Check(given) || PyList_Check(given)) {
    results.kind = PyTuple_Check(given) ? Results::Kind::Tuple : Results::Kind::List;
    Owned items = checked(PySequence_Fast(given, "results"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      MSA_REQUIRE(is_tensor(item), Type, op.name, ": result ", i,
                  " of the Python handler is no Tensor but ", Py_TYPE(item)->tp_name);
      results.tensors.push_back(tensor_of(item));
    }
    return;
  }
  Scalar number;
  MSA_REQUIRE(to_scalar(given, number), Type, op.name, ": the Python handler returned ",
              Py_TYPE(given)->tp_name, "; wanted a Tensor, a number, None, or a tuple of tensors");
  results.set(number);
}

}  // namespace msa::py
