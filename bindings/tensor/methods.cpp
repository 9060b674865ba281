// Methods of tensors that are no operators: sizes, strides, memory, autograd flags.
#include "bindings/tensor/methods.h"

#include "bindings/convert.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"
#include "core/transforms/batched.h"

namespace msa::py {

namespace {

Tensor& of(PyObject* self) { return tensor_of(self); }

int64_t int_argument(const char* who, PyObject* o) {
  int64_t v;
  MSA_REQUIRE(to_int(o, v), Type, who, "(): argument 'dim' must be int, not ", Py_TYPE(o)->tp_name);
  return v;
}

PyObject* size(PyObject* self, const Arguments& given) {
  PyObject* dim;
  take_arguments("size", given, {"dim"}, &dim);
  if (!dim || dim == Py_None) return size_object(of(self).sizes());
  return PyLong_FromLongLong(of(self).size(int_argument("size", dim)));
}

PyObject* stride(PyObject* self, const Arguments& given) {
  PyObject* dim;
  take_arguments("stride", given, {"dim"}, &dim);
  const Tensor& t = of(self);
  MSA_REQUIRE(!is_sparse(t) || is_coo(t), Runtime, layout_name(t), " tensors do not have strides");
  if (dim && dim != Py_None) return PyLong_FromLongLong(t.stride(int_argument("stride", dim)));
  Owned all = checked(PyTuple_New(t.dim()));
  for (int64_t i = 0; i < t.dim(); ++i)
    PyTuple_SET_ITEM(all.get(), i,
                     checked(PyLong_FromLongLong(t.strides()[static_cast<size_t>(i)])).release());
  return all.release();
}

// A method without arguments.
using Plain = PyObject* (*)(const Tensor&);
template <Name name, Plain body>
PyObject* plain(PyObject* self, const Arguments& given) {
  take_no_arguments(name.text, given);
  return body(of(self));
}
template <Name name, Plain body>
PyMethodDef plain_method(const char* doc) {
  return method<name, plain<name, body>>(doc);
}

PyObject* dim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* numel(const Tensor& t) { return PyLong_FromLongLong(t.numel()); }
PyObject* element_size(const Tensor& t) { return PyLong_FromSize_t(t.item_bytes()); }
PyObject* storage_offset(const Tensor& t) { return PyLong_FromLongLong(t.offset()); }
PyObject* data_ptr(const Tensor& t) {
  MSA_REQUIRE(
      !is_opaque(t), Runtime,
      "Cannot access data pointer of Tensor that doesn't have storage: it is sparse, or its "
      "class has __torch_dispatch__");
  return PyLong_FromVoidPtr(t.numel() == 0 || t.device().is_meta() ? nullptr : t.data());
}
PyObject* is_floating_point(const Tensor& t) { return boolean(is_floating(t.dtype())); }
PyObject* is_complex_number(const Tensor& t) { return boolean(is_complex(t.dtype())); }
PyObject* is_signed(const Tensor& t) { return boolean(info(t.dtype()).is_signed); }
PyObject* is_inference(const Tensor& t) { return boolean(t->inference); }
PyObject* is_a_view(const Tensor& t) { return boolean(is_view(t)); }
PyObject* never(const Tensor&) { return boolean(false); }
PyObject* get_device(const Tensor& t) {
  Device d = true_device(t);
  return PyLong_FromLong(d.is_cpu() ? -1 : std::max<int>(0, d.index));
}
// Under vmap from the graphs outside it too.
Tensor fully_detached(const Tensor& t) {
  if (!is_batched(t)) return detach(t);
  const BatchedParts& parts = batched_parts(t);
  return make_batched(fully_detached(parts.value), parts.dim, parts.level);
}
PyObject* detached(const Tensor& t) { return wrap(fully_detached(t)); }

PyObject* is_contiguous(PyObject* self, const Arguments& given) {
  PyObject* format;
  take_arguments("is_contiguous", given, {"memory_format"}, &format, 0);
  if (!format) return boolean(of(self).is_contiguous());
  MSA_REQUIRE(is_memory_format(format), Type,
              "is_contiguous(): argument 'memory_format' must be torch.memory_format, not ",
              Py_TYPE(format)->tp_name);
  return boolean(of(self).is_contiguous(memory_format_value(format)));
}

PyObject* detach_in_place(PyObject* self, const Arguments& given) {
  take_no_arguments("detach_", given);
  detach_(of(self));
  return Py_NewRef(self);
}

PyObject* keep_grad(PyObject* self, const Arguments& given) {
  take_no_arguments("retain_grad", given);
  retain_grad(of(self));
  return none();
}

PyObject* requires_grad_in_place(PyObject* self, const Arguments& given) {
  PyObject* value;
  take_arguments("requires_grad_", given, {"requires_grad"}, &value);
  bool wanted = true;
  MSA_REQUIRE(!value || to_bool(value, wanted), Type,
              "requires_grad_(): argument 'requires_grad' must be bool, not ",
              Py_TYPE(value)->tp_name);
  set_requires_grad(of(self), wanted);
  return Py_NewRef(self);
}

PyObject* is_set_to(PyObject* self, const Arguments& given) {
  PyObject* other;
  take_arguments("is_set_to", given, {"tensor"}, &other);
  MSA_REQUIRE(other && is_tensor(other), Type, "is_set_to(): argument 'tensor' must be Tensor");
  const Tensor &a = of(self), &b = of(other);
  return boolean(a.same_storage(b) && a.offset() == b.offset() && a.sizes() == b.sizes() &&
                 a.strides() == b.strides());
}

PyObject* is_same_size(PyObject* self, const Arguments& given) {
  PyObject* other;
  take_arguments("is_same_size", given, {"other"}, &other);
  MSA_REQUIRE(other && is_tensor(other), Type, "is_same_size(): argument 'other' must be Tensor");
  return boolean(of(self).sizes() == of(other).sizes());
}

PyObject* is_nonzero(const Tensor& t) {
  MSA_REQUIRE(t.numel() == 1, Runtime, "Boolean value of Tensor with ",
              t.numel() ? "more than one value" : "no values", " is ambiguous");
  return boolean(item(t).to<bool>());
}

// Conjugation and negation are never pending, so there is nothing to resolve.
PyObject* itself(PyObject* self, const Arguments& given) {
  take_no_arguments("resolve_conj", given);
  return Py_NewRef(self);
}

PyObject* record_stream(PyObject*, const Arguments&) { return none(); }

}  // namespace

PyMethodDef tensor_methods[] = {
    method<"size", size>("size(dim=None): the torch.Size, or the size of one dimension."),
    method<"stride", stride>("stride(dim=None): steps in elements, for each dimension or one."),
    plain_method<"dim", dim>("The number of dimensions."),
    plain_method<"ndimension", dim>("The number of dimensions."),
    plain_method<"numel", numel>("The number of elements."),
    plain_method<"nelement", numel>("The number of elements."),
    plain_method<"element_size", element_size>("Bytes of one element."),
    plain_method<"storage_offset", storage_offset>("Elements before the first one in the storage."),
    plain_method<"data_ptr", data_ptr>("The address of the first element."),
    plain_method<"is_floating_point", is_floating_point>(
        "Whether the dtype is a real floating one."),
    plain_method<"is_complex", is_complex_number>("Whether the dtype is complex."),
    plain_method<"is_signed", is_signed>("Whether the dtype has a sign."),
    plain_method<"is_inference", is_inference>("Whether it was made under inference_mode."),
    plain_method<"is_conj", never>("Conjugation is never pending here."),
    plain_method<"is_neg", never>("Negation is never pending here."),
    plain_method<"is_pinned", never>("Pinned memory does not exist here."),
    plain_method<"has_names", never>("Dimensions have no names here."),
    plain_method<"_is_view", is_a_view>("Whether it is a tracked view."),
    plain_method<"get_device", get_device>("The device's index, -1 on cpu."),
    plain_method<"detach", detached>("The same memory, outside the graph."),
    method<"detach_", detach_in_place>("Leaves the graph."),
    method<"retain_grad", keep_grad>("Makes backward fill .grad of this non-leaf."),
    method<"requires_grad_", requires_grad_in_place>(
        "requires_grad_(requires_grad=True): sets the flag, returns self."),
    method<"is_contiguous", is_contiguous>(
        "is_contiguous(memory_format=...): whether elements lie in order."),
    method<"is_set_to", is_set_to>("Whether both tensors are the same view of one storage."),
    plain_method<"is_nonzero", is_nonzero>("Whether the one element is not zero."),
    method<"is_same_size", is_same_size>("is_same_size(other): whether the sizes are equal."),
    method<"resolve_conj", itself>("The tensor itself."),
    method<"resolve_neg", itself>("The tensor itself."),
    method<"record_stream", record_stream>("Does nothing: there are no streams here."),
    {},
};

void init_query_functions(PyObject* module) {
  constexpr const char* kNames[] = {
      "numel",        "is_floating_point", "is_complex",   "is_signed",  "is_conj",
      "is_neg",       "is_inference",      "is_nonzero",   "get_device", "detach",
      "is_same_size", "detach_",           "resolve_conj", "resolve_neg"};
  for (const char* name : kNames)
    checked(
        PyModule_AddObjectRef(module, name, PyDict_GetItemString(tensor_base_type.tp_dict, name)));
}

}  // namespace msa::py
