// Making tensors of a class: the constructor, _make_subclass, as_subclass.
#include "bindings/convert.h"
#include "bindings/tensor/data.h"
#include "bindings/tensor/methods.h"
#include "bindings/torch_dispatch.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "core/dispatch/opaque.h"
#include "generated/ops_view.h"

namespace msa::py {

namespace {

PyTypeObject* tensor_class(const char* who, PyObject* o) {
  MSA_REQUIRE(PyType_Check(o) && PyType_IsSubtype(as_type(o), &tensor_base_type), Type, who,
              "(): the class must be a subclass of torch.Tensor");
  return as_type(o);
}

bool flag(PyObject* o) { return o && checked(PyObject_IsTrue(o)); }

// _make_subclass(cls, data, require_grad=False): shares the memory, has no history.
PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    PyObject* slot[5];
    take_arguments(
        "_make_subclass", {nullptr, args, n, kwnames},
        {"cls", "data", "require_grad", "dispatch_sizes_strides_policy", "dispatch_device"}, slot);
    MSA_REQUIRE(slot[0] && slot[1], Type, "_make_subclass() takes a class and a tensor");
    PyTypeObject* type = tensor_class("_make_subclass", slot[0]);
    MSA_REQUIRE(is_tensor(slot[1]), Type, "cannot create a ", type->tp_name, " from a ",
                Py_TYPE(slot[1])->tp_name);
    Tensor t = detach(tensor_of(slot[1]));
    if (has_torch_dispatch(type)) t = dispatched(std::move(t));
    if (flag(slot[2])) set_requires_grad(t, true);
    return wrap_as(type, std::move(t));
  });
}

// The same tensor (history included) as an object of another class.
PyObject* as_subclass(PyObject* self, const Arguments& given) {
  PyObject* cls;
  take_arguments("as_subclass", given, {"cls"}, &cls);
  MSA_REQUIRE(cls, Type, "as_subclass() missing 1 required positional argument: \"cls\"");
  PyTypeObject* type = tensor_class("as_subclass", cls);
  const Tensor& t = tensor_of(self);
  if (is_python(t) && python_parts(t).data.defined() && !has_torch_dispatch(type))
    return wrap_as(type, detach(python_parts(t).data));
  MSA_REQUIRE(!has_torch_dispatch(type) || !t.requires_grad(), NotImplemented,
              "as_subclass: ", type->tp_name,
              " has __torch_dispatch__, and the tensor has a history; detach it first");
  return wrap_as(type, has_torch_dispatch(type) ? dispatched(detach(t)) : ops::alias(t));
}

PyMethodDef make_subclass_def = {
    "_make_subclass", fastcall(make_subclass), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
    "_make_subclass(cls, data, require_grad=False): the data as an object of cls."};

Dims dims_argument(PyObject* o) {
  Dims dims;
  MSA_REQUIRE(to_dims(o, dims), Type, "_make_wrapper_subclass(): sizes and strides are ints");
  return dims;
}

// _make_wrapper_subclass(cls, size, *, strides, storage_offset, memory_format, dtype, layout,
// device, pin_memory, requires_grad, ...): a tensor without data, all of whose operators go to
// __torch_dispatch__.
PyObject* make_wrapper_subclass(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    enum {
      Cls,
      Size,
      Strides,
      Offset,
      Format,
      DType_,
      Layout_,
      Device_,
      Pin,
      Grad,
      Policy,
      N = 15
    };
    PyObject* slot[N];
    take_arguments("_make_wrapper_subclass", {nullptr, args, n, kwnames},
                   {"cls", "size", "strides", "storage_offset", "memory_format", "dtype", "layout",
                    "device", "pin_memory", "requires_grad", "dispatch_sizes_strides_policy",
                    "dispatch_device", "dispatch_layout", "_extra_dispatch_keys", "storage_size"},
                   slot, Strides);
    MSA_REQUIRE(slot[Cls] && slot[Size], Type, "_make_wrapper_subclass() takes a class and a size");
    PyTypeObject* type = tensor_class("_make_wrapper_subclass", slot[Cls]);
    MSA_REQUIRE(has_torch_dispatch(type), Runtime, type->tp_name,
                " must define __torch_dispatch__ to be made by _make_wrapper_subclass");
    auto given = [&](int i) { return slot[i] && slot[i] != Py_None; };
    MSA_REQUIRE(!given(Policy), NotImplemented, "_make_wrapper_subclass(): dispatch_sizes_strides_",
                "policy is not supported; give the sizes and strides that the tensor shall show");
    Layout layout;
    layout.sizes = dims_argument(slot[Size]);
    layout.strides =
        given(Strides) ? dims_argument(slot[Strides]) : contiguous_strides(layout.sizes);
    if (given(Offset)) to_int(slot[Offset], layout.offset);
    DType dtype = default_dtype();
    MSA_REQUIRE(!given(DType_) || to_dtype(slot[DType_], dtype), Type,
                "_make_wrapper_subclass(): dtype must be a torch.dtype");
    Device device;
    if (given(Device_)) to_device(slot[Device_], device);
    Tensor t = dispatched_wrapper(layout, dtype, device);
    if (flag(slot[Grad])) set_requires_grad(t, true);
    return wrap_as(type, std::move(t));
  });
}

PyMethodDef make_wrapper_subclass_def = {"_make_wrapper_subclass", fastcall(make_wrapper_subclass),
                                         METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
                                         "_make_wrapper_subclass(cls, size, *, dtype, device, "
                                         "...): a tensor whose operators are cls's."};

Tensor sized(const Dims& sizes) { return empty(sizes, default_dtype()); }

// The legacy constructor's tensor: of sizes, of a sequence's values, of another tensor.
Tensor legacy_tensor(PyObject* args) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  Dims dims;
  if (n == 0) return sized(Dims{0});
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (n == 1 && is_tensor(first)) return detach(tensor_of(first));
  if (n == 1 && Py_IS_TYPE(first, &size_type)) {
    to_dims(first, dims);
    return sized(dims);
  }
  if (to_dims(PySequence_Fast_ITEMS(args), n, dims)) return sized(dims);
  MSA_REQUIRE(n == 1, Type,
              "new(): torch.Tensor takes sizes as ints, one sequence of values, or one tensor");
  return tensor_from_data(first, default_dtype(), Device{});
}

}  // namespace

PyObject* legacy_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  MSA_REQUIRE(type != &tensor_base_type, Runtime,
              "Cannot directly construct TensorBase; subclass it and then construct that");
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    PyObject* device = PyDict_GetItemString(kwargs, "device");
    MSA_REQUIRE(device && PyDict_GET_SIZE(kwargs) == 1, Type,
                "new() got an unexpected keyword argument");
  }
  Tensor made = legacy_tensor(args);
  return wrap_as(type, has_torch_dispatch(type) ? dispatched(std::move(made)) : std::move(made));
}

PyMethodDef tensor_subclass_methods[] = {
    method<"as_subclass", as_subclass>("as_subclass(cls): this tensor as an object of cls."),
    make_subclass_def,
    make_wrapper_subclass_def,
    {},
};

}  // namespace msa::py
