// DLPack both ways: tensors shared with other libraries without a copy.
#include <memory>

#include "bindings/native_function.h"
#include "bindings/tensor/methods.h"
#include "core/autograd/meta.h"
#include "core/capture/watcher.h"

namespace msa::py {

namespace {

// --- the exchange format, as its specification lays it out (version 0 capsules, "dltensor")
// ---------
struct DLDevice {
  int32_t type;  // 1: CPU
  int32_t id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: contiguous
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

enum Code : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14
};

DLDataType to_dl(DType t) {
  MSA_REQUIRE(!is_opaque(t), Type, info(t).scalar_name, " types are not supported by dlpack");
  if (is_float8(t)) {
    constexpr Code codes[] = {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ,
                              kFloat8E8M0FNU};
    return {codes[static_cast<int>(t) - static_cast<int>(DType::F8E4M3FN)], 8, 1};
  }
  auto bits = static_cast<uint8_t>(8 * size_bytes(t));
  if (t == DType::Bool) return {kBool, 8, 1};
  if (t == DType::BF16) return {kBfloat, 16, 1};
  if (is_complex(t)) return {kComplex, bits, 1};
  if (is_floating(t)) return {kFloat, bits, 1};
  return {info(t).is_signed ? kInt : kUInt, bits, 1};
}

DType from_dl(DLDataType d) {
  MSA_REQUIRE(d.lanes == 1, Runtime, "from_dlpack: vector types (", static_cast<int>(d.lanes),
              " lanes) are not supported");
  for (int i = 0; !is_opaque(static_cast<DType>(i)); ++i) {
    DLDataType candidate = to_dl(static_cast<DType>(i));
    if (candidate.code == d.code && candidate.bits == d.bits) return static_cast<DType>(i);
  }
  fail(ErrorKind::Runtime, "from_dlpack: no dtype has DLPack's code ", static_cast<int>(d.code),
       " with ", static_cast<int>(d.bits), " bits");
}

// --- giving
// -------------------------------------------------------------------------------------------

struct Given {
  DLManagedTensor managed;
  Tensor tensor;
  Dims sizes, strides;
};

void free_given(DLManagedTensor* m) {
  PyGILState_STATE lock = PyGILState_Ensure();  // the receiver may be on a thread of its own
  delete static_cast<Given*>(m->context);
  PyGILState_Release(lock);
}

void free_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // someone took it over
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  m->deleter(m);
}

PyObject* give(const Tensor& t) {
  MSA_REQUIRE(!t.requires_grad(), Runtime,
              "Can't export tensors that require gradient, use tensor.detach()");
  MSA_REQUIRE(t.device().is_cpu(), Runtime, "__dlpack__: tensors on ", t.device(),
              " cannot be shared; use .cpu() first");
  capture::tell_read(t, "__dlpack__()");
  auto given = std::make_unique<Given>();
  given->tensor = detach(t);
  given->sizes = t.sizes();
  given->strides = t.strides();
  for (size_t d = 0; d < given->sizes.size(); ++d)
    if (given->sizes[d] < 2)
      given->strides[d] = 1;  // some readers check even strides that do not matter
  given->managed = {{t.numel() ? t.data() : nullptr,
                     {1, 0},
                     static_cast<int32_t>(t.dim()),
                     to_dl(t.dtype()),
                     given->sizes.data(),
                     given->strides.data(),
                     0},
                    given.get(),
                    free_given};
  PyObject* capsule = PyCapsule_New(&given->managed, "dltensor", free_capsule);
  if (capsule) given.release();
  return capsule;
}

PyObject* dlpack(PyObject* self, const Arguments& given) {
  PyObject* slot[4];
  take_arguments("__dlpack__", given, {"stream", "max_version", "dl_device", "copy"}, slot);
  bool copy = slot[3] && slot[3] == Py_True;
  if (!copy) return give(tensor_of(self));
  Owned clone = checked(PyObject_CallMethod(self, "clone", nullptr));
  return give(tensor_of(clone.get()));
}

PyObject* dlpack_device(PyObject* self, const Arguments& given) {
  take_no_arguments("__dlpack_device__", given);
  MSA_REQUIRE(tensor_of(self).device().is_cpu(), Runtime,
              "__dlpack_device__: DLPack has no number for device ", tensor_of(self).device());
  return Py_BuildValue("(ii)", 1, 0);
}

// --- taking
// -------------------------------------------------------------------------------------------

void free_taken(void* context) {
  auto* m = static_cast<DLManagedTensor*>(context);
  if (m->deleter) m->deleter(m);
}

Layout layout_of(const DLTensor& t) {
  Layout layout;
  layout.sizes.assign(t.shape, static_cast<size_t>(t.ndim));
  if (t.strides)
    layout.strides.assign(t.strides, static_cast<size_t>(t.ndim));
  else
    layout.strides = contiguous_strides(layout.sizes);
  return layout;
}

size_t elements_reached(const Layout& layout) {
  int64_t last = 0;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] == 0) return 0;
    MSA_REQUIRE(layout.strides[d] >= 0, Runtime,
                "from_dlpack: negative strides are not supported; copy the array first");
    last += (layout.sizes[d] - 1) * layout.strides[d];
  }
  return static_cast<size_t>(last) + 1;
}

Tensor take(PyObject* capsule) {
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (!m) throw PythonError();
  const DLTensor& t = m->tensor;
  MSA_REQUIRE(t.device.type == 1, Runtime,
              "from_dlpack: only CPU memory can be shared, not device type ", t.device.type);
  DType dtype = from_dl(t.dtype);
  Layout layout = layout_of(t);
  size_t bytes = elements_reached(layout) * size_bytes(dtype);
  Ref<Storage> storage =
      Storage::wrap(static_cast<char*>(t.data) + t.byte_offset, bytes, Device{}, free_taken, m);
  checked(PyCapsule_SetName(capsule, "used_dltensor"));
  return from_storage(std::move(storage), layout, dtype);
}

PyObject* from_dlpack(const Arguments& given) {
  PyObject* slot[3];
  take_arguments("from_dlpack", given, {"ext_tensor", "device", "copy"}, slot);
  MSA_REQUIRE(slot[0], Type,
              "from_dlpack() missing 1 required positional argument: \"ext_tensor\"");
  bool is_capsule = PyCapsule_CheckExact(slot[0]);
  Owned capsule = is_capsule ? Owned::borrow(slot[0])
                             : checked(PyObject_CallMethod(slot[0], "__dlpack__", nullptr));
  Owned shared(wrap(take(capsule.get())));
  if (slot[2] != Py_True) return shared.release();
  return PyObject_CallMethod(shared.get(), "clone", nullptr);
}

PyObject* to_dlpack(const Arguments& given) {
  PyObject* tensor;
  take_arguments("to_dlpack", given, {"tensor"}, &tensor);
  MSA_REQUIRE(tensor && is_tensor(tensor), Type, "to_dlpack(): expected a Tensor");
  return give(tensor_of(tensor));
}

PyMethodDef functions[] = {
    function<"from_dlpack", from_dlpack>(
        "from_dlpack(ext_tensor): a tensor over another library's memory."),
    function<"to_dlpack", to_dlpack>(
        "to_dlpack(tensor): a DLPack capsule over the tensor's memory."),
    {},
};

}  // namespace

PyMethodDef tensor_dlpack_methods[] = {
    method<"__dlpack__", dlpack>("A DLPack capsule over the tensor's memory."),
    method<"__dlpack_device__", dlpack_device>("DLPack's numbers for the device."),
    {},
};

void init_dlpack() { add_functions(functions); }

}  // namespace msa::py
