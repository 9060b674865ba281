// Properties of tensors: shape, dtype, device, and their part in autograd.
#include "bindings/autograd/autograd.h"
#include "bindings/call.h"
#include "bindings/tensor/methods.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "core/base/warn.h"
#include "core/sparse/sparse.h"

namespace msa::py {

namespace {

const Tensor& of(PyObject* self) { return tensor_of(self); }

PyObject* shape(PyObject* self) { return size_object(of(self).sizes()); }
PyObject* dtype(PyObject* self) { return Py_NewRef(dtype_object(of(self).dtype())); }
PyObject* device(PyObject* self) { return device_object(true_device(of(self))); }
PyObject* layout(PyObject* self) {
  const Tensor& t = of(self);
  return Py_NewRef(layout_object(is_sparse(t) ? static_cast<int>(sparse_parts(t).layout) : 0));
}
PyObject* is_sparse_coo(PyObject* self) { return boolean(is_coo(of(self))); }
PyObject* is_sparse_csr(PyObject* self) {
  const Tensor& t = of(self);
  return boolean(is_sparse(t) && sparse_parts(t).layout == SparseLayout::Csr);
}
PyObject* ndim(PyObject* self) { return PyLong_FromLongLong(of(self).dim()); }
PyObject* itemsize(PyObject* self) { return PyLong_FromSize_t(of(self).item_bytes()); }
PyObject* nbytes(PyObject* self) {
  MSA_REQUIRE(!is_sparse(of(self)), Runtime,
              "nbytes is not defined for sparse tensors. Add up the nbytes of the indices and "
              "values instead.");
  return PyLong_FromLongLong(of(self).numel() * static_cast<int64_t>(of(self).item_bytes()));
}

template <DeviceKind kind>
PyObject* on_device(PyObject* self) {
  return boolean(true_device(of(self)).kind == kind);
}
PyObject* never(PyObject*) { return boolean(false); }

// --- autograd
// -------------------------------------------------------------------------------------

PyObject* requires_grad(PyObject* self) { return boolean(of(self).requires_grad()); }
void write_requires_grad(PyObject* self, PyObject* value) {
  MSA_REQUIRE(value && PyBool_Check(value), Type, "requires_grad must be a bool");
  set_requires_grad(tensor_of(self), value == Py_True);
}

// Asking for __dict__ itself would make one.
PyObject* has_attributes(PyObject* self) {
  PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
  return boolean(dict && PyDict_GET_SIZE(dict) > 0);
}
PyObject* is_leaf(PyObject* self) { return boolean(of(self).is_leaf()); }
PyObject* output_nr(PyObject* self) {
  const AutogradMeta* meta = of(self)->meta;
  return PyLong_FromLong(meta ? static_cast<long>(meta->output_nr) : 0);
}
PyObject* retains_grad(PyObject* self) {
  const AutogradMeta* meta = of(self)->meta;
  return boolean(meta && meta->retains_grad && !of(self).is_leaf());
}
PyObject* version(PyObject* self) { return PyLong_FromUnsignedLong(of(self).version()); }
PyObject* base(PyObject* self) {
  const Tensor& t = of(self);
  return is_view(t) ? wrap(Tensor(t->meta->base)) : none();
}

PyObject* read_grad_fn(PyObject* self) {
  const Tensor& t = of(self);
  if (!t->meta) return none();
  const Ref<Node>& node = grad_fn(t);
  return node ? wrap_node(node.get()) : none();
}

PyObject* read_grad(PyObject* self) {
  const Tensor& t = of(self);
  if (!t.is_leaf() && !t->meta->retains_grad && !t->meta->grad.defined()) {
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                     "Its .grad attribute "
                     "won't be populated during autograd.backward(). If you want it, call "
                     ".retain_grad() on the "
                     "non-leaf Tensor first.",
                     1) < 0)
      throw PythonError();
  }
  return t->meta ? wrap(t->meta->grad) : none();
}

void write_grad(PyObject* self, PyObject* value) {
  Tensor& t = tensor_of(self);
  if (!value || value == Py_None) {
    if (t->meta) Tensor old = std::move(t->meta->grad);
    return;
  }
  MSA_REQUIRE(is_tensor(value), Type,
              "assigned grad expected to be a Tensor or None but got grad of type ",
              Py_TYPE(value)->tp_name);
  const Tensor& grad = tensor_of(value);
  MSA_REQUIRE(value != self, Runtime, "can't assign Variable as its own grad");
  MSA_REQUIRE(grad.dtype() == t.dtype(), Runtime,
              "assigned grad has data of a different type: the tensor's is ", t.dtype(),
              ", the grad's ", grad.dtype());
  MSA_REQUIRE(true_device(grad) == true_device(t), Runtime,
              "assigned grad has data located on a different device");
  MSA_REQUIRE(grad.sizes() == t.sizes(), Runtime,
              "assigned grad has data of a different size: the tensor's is ", DimsView(t.sizes()),
              ", the grad's ", DimsView(grad.sizes()));
  Tensor old = std::exchange(ensure_meta(t.impl()).grad, grad);
}

PyObject* read_data(PyObject* self) { return wrap(data_alias(of(self))); }
void write_data(PyObject* self, PyObject* value) {
  MSA_REQUIRE(value && is_tensor(value), Type, "Variable data has to be a tensor, but got ",
              value ? Py_TYPE(value)->tp_name : "nothing");
  set_data(tensor_of(self), tensor_of(value));
}

// Hooks live in the graph; what old pickles carry here is an empty dict.
PyObject* read_hooks(PyObject* self) { return hooks_of(tensor_of(self)); }
void write_hooks(PyObject*, PyObject* value) {
  MSA_REQUIRE(!value || value == Py_None || PyObject_Size(value) == 0, NotImplemented,
              "_backward_hooks cannot be set: use register_hook()");
}

// --- properties that are operators
// ------------------------------------------------------------------

Owned call_row(const char* method, PyObject* self, std::initializer_list<PyObject*> args = {}) {
  return checked(call_method(require_method(method), self, args.begin(),
                             static_cast<Py_ssize_t>(args.size()), nullptr));
}

Owned swapped(PyObject* self, int64_t a, int64_t b) {
  Owned first = checked(PyLong_FromLongLong(a)), second = checked(PyLong_FromLongLong(b));
  return call_row("transpose", self, {first.get(), second.get()});
}

PyObject* matrix_transposed(PyObject* self) {
  MSA_REQUIRE(of(self).dim() >= 2, Runtime,
              "tensor.mT is only supported on matrices or batches of matrices. Got ",
              of(self).dim(), "-D tensor.");
  return swapped(self, -2, -1).release();
}
PyObject* matrix_adjoint(PyObject* self) {
  MSA_REQUIRE(of(self).dim() >= 2, Runtime,
              "tensor.mH is only supported on matrices or batches of matrices. Got ",
              of(self).dim(), "-D tensor.");
  return call_row("conj", swapped(self, -2, -1).get()).release();
}
PyObject* transposed(PyObject* self) {
  int64_t n = of(self).dim();
  if (n != 2 && n != 0)
    warn("Tensor.T of ", n,
         " dimensions: only matrices will have .T; use .mT for batches of them, ",
         "or .permute(*range(x.ndim - 1, -1, -1)) to reverse all dimensions");
  Owned dims = checked(PyTuple_New(n));
  for (int64_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(dims.get(), i, checked(PyLong_FromLongLong(n - 1 - i)).release());
  return call_row("permute", self, {dims.get()}).release();
}
PyObject* adjoint(PyObject* self) {
  MSA_REQUIRE(of(self).dim() == 0 || of(self).dim() == 2, Runtime,
              "tensor.H is only supported on matrices (2-D tensors). Got ", of(self).dim(),
              "-D tensor. For batches of matrices, consider using tensor.mH");
  return of(self).dim() == 0 ? call_row("conj", self).release() : matrix_adjoint(self);
}

PyObject* call_row_function(const char* name, PyObject* self) {
  return checked(call_function(require_function(name), &self, 1, nullptr)).release();
}
PyObject* real_part(PyObject* self) { return call_row_function("real", self); }
PyObject* imaginary_part(PyObject* self) { return call_row_function("imag", self); }
void write_part(PyObject* part, PyObject* value) {
  Owned view(part);
  call_row("copy_", view.get(), {value});
}
void write_real(PyObject* self, PyObject* value) { write_part(real_part(self), value); }
void write_imaginary(PyObject* self, PyObject* value) { write_part(imaginary_part(self), value); }

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict,
     "Attributes that were set on this object.", nullptr},
    property<"shape", shape>("The sizes of the dimensions."),
    property<"dtype", dtype>("The type of the elements."),
    property<"device", device>("Where the tensor lives."),
    property<"layout", layout>("How the elements are stored: torch.strided, torch.sparse_coo, ..."),
    property<"ndim", ndim>("The number of dimensions."),
    property<"itemsize", itemsize>("Bytes of one element."),
    property<"nbytes", nbytes>("Bytes of all elements."),
    property<"is_cpu", on_device<DeviceKind::Cpu>>(nullptr),
    property<"is_meta", on_device<DeviceKind::Meta>>(nullptr),
    property<"is_npu", on_device<DeviceKind::Npu>>(nullptr),
    property<"is_cuda", never>(nullptr),
    property<"is_xpu", never>(nullptr),
    property<"is_mps", never>(nullptr),
    property<"is_mkldnn", never>(nullptr),
    property<"is_sparse", is_sparse_coo>("Whether the layout is torch.sparse_coo."),
    property<"is_sparse_csr", is_sparse_csr>("Whether the layout is torch.sparse_csr."),
    property<"is_quantized", never>(nullptr),
    property<"is_nested", never>(nullptr),
    property<"requires_grad", requires_grad, write_requires_grad>(
        "Whether gradients flow to this tensor."),
    property<"_has_attributes", has_attributes>("Whether its __dict__ holds anything."),
    property<"is_leaf", is_leaf>("Whether no recorded operator made it."),
    property<"output_nr", output_nr>("Which output of grad_fn it is."),
    property<"retains_grad", retains_grad>("Whether a non-leaf keeps its grad."),
    property<"_version", version>("How often the memory was changed in place."),
    property<"_base", base>("What a view views, else None."),
    property<"grad_fn", read_grad_fn>("The node of the backward graph that made it."),
    property<"grad", read_grad, write_grad>("What backward accumulated, or None."),
    property<"_grad", read_grad, write_grad>(nullptr),
    property<"data", read_data, write_data>("The same memory without history."),
    property<"_backward_hooks", read_hooks, write_hooks>(
        "The functions of register_hook() by number, or None: a copy."),
    property<"T", transposed>("Dimensions in reverse order."),
    property<"mT", matrix_transposed>("The last two dimensions swapped."),
    property<"H", adjoint>("A matrix transposed and conjugated."),
    property<"mH", matrix_adjoint>("The last two dimensions swapped, conjugated."),
    property<"real", real_part, write_real>("The real parts, a view."),
    property<"imag", imaginary_part, write_imaginary>("The imaginary parts, a view."),
    {},
};

}  // namespace msa::py
