// Making tensors of a class: the constructor, _make_subclass, as_subclass.
#include "bindings/convert.h"
#include "bindings/tensor/data.h"
#include "bindings/tensor/methods.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "generated/ops_view.h"

namespace msa::py {

namespace {

PyTypeObject* tensor_class(const char* who, PyObject* o) {
  MSA_REQUIRE(PyType_Check(o) && PyType_IsSubtype(as_type(o), &tensor_base_type), Type, who,
              "(): the class must be a subclass of torch.Tensor");
  return as_type(o);
}

// Better no object than one whose hook is never asked.
void refuse_torch_dispatch(PyTypeObject* type) {
  if (type == tensor_type || type == parameter_type) return;
  static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
  MSA_REQUIRE(
      !_PyType_Lookup(type, name), NotImplemented, type->tp_name,
      " defines __torch_dispatch__, which is not supported yet: override __torch_function__ "
      "instead, which sees the calls as they are written");
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
    refuse_torch_dispatch(type);
    MSA_REQUIRE(is_tensor(slot[1]), Type, "cannot create a ", type->tp_name, " from a ",
                Py_TYPE(slot[1])->tp_name);
    Tensor t = detach(tensor_of(slot[1]));
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
  refuse_torch_dispatch(type);
  return wrap_as(type, ops::alias(tensor_of(self)));
}

PyMethodDef make_subclass_def = {
    "_make_subclass", fastcall(make_subclass), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
    "_make_subclass(cls, data, require_grad=False): the data as an object of cls."};

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
  refuse_torch_dispatch(type);
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    PyObject* device = PyDict_GetItemString(kwargs, "device");
    MSA_REQUIRE(device && PyDict_GET_SIZE(kwargs) == 1, Type,
                "new() got an unexpected keyword argument");
  }
  return wrap_as(type, legacy_tensor(args));
}

PyMethodDef tensor_subclass_methods[] = {
    method<"as_subclass", as_subclass>("as_subclass(cls): this tensor as an object of cls."),
    make_subclass_def,
    {},
};

}  // namespace msa::py
