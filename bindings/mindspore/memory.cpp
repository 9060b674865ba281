// Storages in memory that MindSpore shares, and the MindSpore tensors that are kept with them.
#include "bindings/mindspore/memory.h"

#include <memory>

#include "bindings/tensor/tensor.h"

namespace msa::py {

namespace {

// What such a storage holds: the one that owns the memory, and the MindSpore tensor asked for last.
struct Held {
  Ref<Storage> host;  // the owner where it is one of ours
  Owned handle;       // the owner where it is MindSpore's; else what was made of `host`
  Layout layout;      // of the handle
  DType dtype = DType::F32;
};

void release(void* context) { delete static_cast<Held*>(context); }

Held* held_by(const Storage& storage) {
  return storage.deleter == release ? static_cast<Held*>(storage.context) : nullptr;
}

bool fits(const Held& held, const Tensor& t) {
  return held.handle && held.dtype == t.dtype() && held.layout.offset == t.offset() &&
         held.layout.sizes == t.sizes() && held.layout.strides == t.strides();
}

Ref<Storage> kept_storage(const Ref<Storage>& of, Device device) {
  auto* kept = new Ref<Storage>(of);
  auto let_go = [](void* context) { delete static_cast<Ref<Storage>*>(context); };
  return Storage::wrap(of->data, of->bytes, device, let_go, kept);
}

Dims dims_of(PyObject* numbers) {
  Owned items = checked(PySequence_Fast(numbers, "MindSpore's shape is no sequence"));
  Dims dims;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    dims.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (dims.back() == -1 && PyErr_Occurred()) throw PythonError();
  }
  return dims;
}

size_t bytes_of(const Layout& layout, DType dtype) {
  int64_t last = 0;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] == 0) return 0;
    last += (layout.sizes[d] - 1) * layout.strides[d];
  }
  return static_cast<size_t>(last + 1) * size_bytes(dtype);
}

PyObject* interned(const char* text) { return checked(PyUnicode_InternFromString(text)).release(); }

Owned asked(PyObject* object, PyObject* method) {
  return checked(PyObject_CallMethodNoArgs(object, method));
}

}  // namespace

DType DTypeNames::ours(PyObject* theirs) const {
  for (int i = 0; i < kDTypes; ++i)  // as a rule there is one object for each
    if (from_dtype[i].get() == theirs) return static_cast<DType>(i);
  for (int i = 0; i < kDTypes; ++i)
    if (from_dtype[i] && checked(PyObject_RichCompareBool(from_dtype[i].get(), theirs, Py_EQ)))
      return static_cast<DType>(i);
  fail(ErrorKind::Type, "MindSpore gave a dtype that tensors here do not have");
}

Tensor on_cpu(const Tensor& t) {
  if (t.device().is_cpu()) return t;
  const Held* held = held_by(*t->storage);
  Ref<Storage> host = held && held->host ? held->host : kept_storage(t->storage, Device{});
  return from_storage(std::move(host), t.layout(), t.dtype());
}

Tensor on_shared(const Tensor& cpu, Device device) {
  auto* held = new Held;
  held->host = cpu->storage;
  Ref<Storage> storage =
      Storage::wrap(cpu->storage->data, cpu->storage->bytes, {device.kind}, release, held);
  storage->resizable = true;
  return from_storage(std::move(storage), cpu.layout(), cpu.dtype());
}

Owned handle_of(const Tensor& t, PyObject* make, bool keep) {
  Held* held = keep ? held_by(*t->storage) : nullptr;
  if (held && fits(*held, t)) return held->handle;
  Owned cpu = checked(wrap(on_cpu(t)));
  Owned handle = checked(PyObject_CallOneArg(make, cpu.get()));
  if (held && held->host) {  // else the handle would keep alive what keeps it
    held->handle = handle;
    held->layout = t.layout();
    held->dtype = t.dtype();
  }
  return handle;
}

Tensor taken(PyObject* tensor, Device device, const DTypeNames& names) {
  static PyObject *const shape = interned("shape"), *const stride = interned("stride"),
                         *const dtype = interned("dtype");
  Layout layout;
  layout.sizes = dims_of(checked(PyObject_GetAttr(tensor, shape)).get());
  layout.strides = dims_of(asked(tensor, stride).get());
  Owned kind = checked(PyObject_GetAttr(tensor, dtype));
  return taken_as(tensor, device, layout, names.ours(kind.get()));
}

Tensor taken_as(PyObject* tensor, Device device, const Layout& layout, DType dtype) {
  static PyObject* const data_ptr = interned("data_ptr");
  Owned address = asked(tensor, data_ptr);
  void* data = PyLong_AsVoidPtr(address.get());
  if (!data && PyErr_Occurred()) throw PythonError();
  auto held = std::make_unique<Held>();
  held->layout = layout;
  held->dtype = dtype;
  held->handle = Owned::borrow(tensor);
  const size_t bytes = bytes_of(layout, dtype);
  Ref<Storage> storage = Storage::wrap(data, bytes, {device.kind}, release, held.release());
  storage->resizable = true;
  return from_storage(std::move(storage), layout, dtype);
}

}  // namespace msa::py
