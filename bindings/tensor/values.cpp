// Element values as Python sees them: item(), tolist(), complex().
#include "bindings/convert.h"
#include "bindings/tensor/methods.h"
#include "bindings/tensor/numpy.h"
#include "core/capture/watcher.h"

namespace msa::py {

void require_one_element(const Tensor& t) {
  MSA_REQUIRE(t.numel() == 1, Value,
              "only one element tensors can be converted to Python scalars, this one has ",
              t.numel());
}

namespace {

PyObject* item_method(PyObject* self, const Arguments& given) {
  take_no_arguments("item", given);
  return item_object(tensor_of(self));
}

Owned list_of(const Tensor& t, size_t dim, const char* at) {
  if (dim == t.sizes().size()) return checked(element_object(at, t.dtype()));
  int64_t n = t.sizes()[dim], step = t.strides()[dim] * static_cast<int64_t>(t.item_bytes());
  Owned list = checked(PyList_New(n));
  for (int64_t i = 0; i < n; ++i)
    PyList_SET_ITEM(list.get(), i, list_of(t, dim + 1, at + i * step).release());
  return list;
}

PyObject* tolist(PyObject* self, const Arguments& given) {
  take_no_arguments("tolist", given);
  capture::tell_read(tensor_of(self), "tolist()");
  Tensor t = on_host(tensor_of(self));
  return list_of(t, 0, t.numel() ? t.data<char>() : nullptr).release();
}

PyObject* to_python_complex(PyObject* self, const Arguments& given) {
  take_no_arguments("__complex__", given);
  require_one_element(tensor_of(self));
  c128 v = item(tensor_of(self)).to_complex();
  return PyComplex_FromDoubles(v.real(), v.imag());
}

PyObject* to_numpy(PyObject* self, const Arguments& given) {
  PyObject* force;
  take_arguments("numpy", given, {"force"}, &force, 0);
  bool forced = false;
  MSA_REQUIRE(!force || to_bool(force, forced), Type, "numpy(): argument 'force' must be bool");
  return numpy_array(tensor_of(self), forced);
}

}  // namespace

PyMethodDef tensor_value_methods[] = {
    method<"item", item_method>("The one element as a Python number."),
    method<"tolist", tolist>("The elements as nested lists; a number for 0-d."),
    method<"numpy", to_numpy>("numpy(*, force=False): a NumPy array over the same memory."),
    method<"__complex__", to_python_complex>(nullptr),
    {},
};

}  // namespace msa::py
