// torch.UntypedStorage, and the tensor methods that reach for storages.
#include "bindings/tensor/storage.h"

#include <cstring>

#include "bindings/convert.h"
#include "bindings/tensor/methods.h"
#include "bindings/tensor/storage_parts.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"

namespace msa::py {

namespace {

struct StorageObject {
  PyObject_HEAD Ref<Storage> storage;
};

Storage& of(PyObject* self) { return *storage_value(self); }

PyObject* construct(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"size", "device", nullptr};
    Py_ssize_t bytes = 0;
    PyObject* where = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|nO:UntypedStorage", const_cast<char**>(names),
                                     &bytes, &where))
      return nullptr;
    MSA_REQUIRE(bytes >= 0, Runtime, "UntypedStorage: the size must not be negative, got ",
                static_cast<long>(bytes));
    Device device;
    MSA_REQUIRE(!where || where == Py_None || to_device(where, device), Type,
                "UntypedStorage: device must be torch.device, not ", Py_TYPE(where)->tp_name);
    return storage_object(Storage::make(static_cast<size_t>(bytes), device));
  });
}

void destroy(PyObject* self) {
  auto* o = reinterpret_cast<StorageObject*>(self);
  if (o->storage) o->storage->python = nullptr;
  o->storage.~Ref();
  Py_TYPE(self)->tp_free(self);
}

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(of(self).bytes); }
PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(of(self).bytes); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(of(self).data); }
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* resizable(PyObject* self, PyObject*) { return boolean(of(self).resizable); }

PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&] {
    int64_t bytes;
    MSA_REQUIRE(to_int(size, bytes) && bytes >= 0, Type,
                "resize_(): the size must be a non-negative int");
    of(self).resize(static_cast<size_t>(bytes));
    return Py_NewRef(self);
  });
}

void require_memory(PyObject* self, const char* who) {
  MSA_REQUIRE(of(self).device.is_cpu(), NotImplemented, who, ": the storage is on ",
              of(self).device, ", not in host memory");
}

PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    require_memory(self, "UntypedStorage.clone");
    Ref<Storage> copy = Storage::make(of(self).bytes, of(self).device);
    if (copy->bytes) std::memcpy(copy->data, of(self).data, copy->bytes);
    return storage_object(copy);
  });
}

PyObject* copy_from(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    MSA_REQUIRE(n >= 1 && Py_IS_TYPE(args[0], &storage_type), Type,
                "copy_() takes an UntypedStorage");
    require_memory(self, "UntypedStorage.copy_");
    require_memory(args[0], "UntypedStorage.copy_");
    MSA_REQUIRE(of(self).bytes == of(args[0]).bytes, Runtime, "copy_: the storages have ",
                of(self).bytes, " and ", of(args[0]).bytes, " bytes; resize_ one first");
    if (of(self).bytes) std::memcpy(of(self).data, of(args[0]).data, of(self).bytes);
    return Py_NewRef(self);
  });
}

PyObject* get_byte(PyObject* self, Py_ssize_t i) {
  return guarded([&] {
    require_memory(self, "UntypedStorage");
    MSA_REQUIRE(i >= 0 && i < length(self), Index, "index ", static_cast<long>(i),
                " out of range for storage of size ", static_cast<long>(length(self)));
    return PyLong_FromLong(static_cast<unsigned char*>(of(self).data)[i]);
  });
}

PyObject* subscript(PyObject* self, PyObject* index) {
  if (PySlice_Check(index)) return storage_slice(self, index);
  Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  return get_byte(self, i < 0 ? i + length(self) : i);
}

PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }

// With the bytes, by which sys.getsizeof (model summaries) says what a tensor takes.
PyObject* size_in_memory(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(static_cast<size_t>(Py_TYPE(self)->tp_basicsize) + of(self).bytes);
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    std::string text;
    if (of(self).device.is_cpu())
      for (size_t i = 0; i < of(self).bytes; ++i)
        text +=
            cat(' ', static_cast<int>(static_cast<const unsigned char*>(of(self).data)[i]), '\n');
    text += cat("[torch.storage.UntypedStorage(device=", of(self).device, ") of size ",
                of(self).bytes, ']');
    return PyUnicode_FromString(text.c_str());
  });
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded([&] {
    require_memory(self, "UntypedStorage");
    static char nothing;
    Storage& s = of(self);
    return PyBuffer_FillInfo(view, self, s.bytes ? s.data : &nothing,
                             static_cast<Py_ssize_t>(s.bytes), 0, flags);
  });
}

PyMethodDef storage_methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
    {"size", nbytes, METH_NOARGS, "The number of bytes."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
    {"element_size", element_size, METH_NOARGS, "One: its elements are bytes."},
    {"resize_", resize, METH_O, "Changes the number of bytes, keeping the contents."},
    {"resizable", resizable, METH_NOARGS, "Whether resize_ is possible."},
    {"clone", clone, METH_NOARGS, "A copy."},
    {"copy_", fastcall(copy_from), METH_FASTCALL,
     "Copies another storage of the same size into this one."},
    {"is_shared", storage_is_shared, METH_NOARGS, "Whether other processes can map the bytes."},
    {"share_memory_", storage_share_memory, METH_NOARGS,
     "Moves the bytes to memory that other processes can map; tensors over them follow."},
    {"untyped", itself, METH_NOARGS, "Itself."},
    {"__sizeof__", size_in_memory, METH_NOARGS, "The object's bytes and those it holds."},
    {"tolist", tolist, METH_NOARGS, "The bytes as a list of ints."},
    {"from_file", keywords(storage_from_file), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_file(filename, shared=False, nbytes=0): the mapped bytes of a file; shared: changes go "
     "to "
     "the file."},
    {},
};
PyGetSetDef storage_getters[] = {
    {"device", [](PyObject* s, void*) { return device_object(of(s).device); }, nullptr, nullptr,
     nullptr},
    {"_cdata", [](PyObject* s, void*) { return PyLong_FromVoidPtr(&of(s)); }, nullptr, nullptr,
     nullptr},
    {"is_cuda", [](PyObject*, void*) { return boolean(false); }, nullptr, nullptr, nullptr},
    {},
};
PySequenceMethods storage_sequence = [] {
  PySequenceMethods m = {};
  m.sq_length = length;
  m.sq_item = get_byte;
  return m;
}();
PyMappingMethods storage_mapping = {length, subscript, nullptr};
PyBufferProcs storage_buffer = {get_buffer, nullptr};

// --- on tensors
// ---------------------------------------------------------------------------------------

PyObject* untyped_storage(PyObject* self, const Arguments& given) {
  take_no_arguments("untyped_storage", given);
  MSA_REQUIRE(
      !is_opaque(tensor_of(self)), NotImplemented,
      "Cannot access storage of a sparse tensor (its indices and values have theirs), or of a "
      "class with __torch_dispatch__");
  return storage_object(tensor_of(self)->storage);
}

Ref<Storage> source_storage(PyObject* o) {
  if (Py_IS_TYPE(o, &storage_type)) return storage_value(o);
  Owned untyped(PyObject_GetAttrString(o, "_untyped_storage"));  // of a TypedStorage
  PyErr_Clear();
  MSA_REQUIRE(untyped && Py_IS_TYPE(untyped.get(), &storage_type), Type,
              "set_(): the source must be a Tensor or a storage, not ", Py_TYPE(o)->tp_name);
  return storage_value(untyped.get());
}

struct SetSource {
  Ref<Storage> storage;
  Layout layout;
};

SetSource set_source(const Tensor& self, PyObject* const* slot) {
  if (!slot[0]) return {Storage::make(0, self.device()), {Dims{0}, Dims{1}, 0}};
  if (is_tensor(slot[0]) && !slot[1])
    return {tensor_of(slot[0])->storage, tensor_of(slot[0]).layout()};
  SetSource s{is_tensor(slot[0]) ? tensor_of(slot[0])->storage : source_storage(slot[0]), {}};
  if (!slot[1]) {
    s.layout = {Dims{static_cast<int64_t>(s.storage->bytes / self.item_bytes())}, Dims{1}, 0};
    return s;
  }
  MSA_REQUIRE(to_int(slot[1], s.layout.offset), Type,
              "set_(): argument 'storage_offset' must be int");
  MSA_REQUIRE(slot[2] && to_dims(slot[2], s.layout.sizes), Type,
              "set_(): argument 'size' must be tuple of ints");
  s.layout.strides = contiguous_strides(s.layout.sizes);
  MSA_REQUIRE(!slot[3] || to_dims(slot[3], s.layout.strides), Type,
              "set_(): argument 'stride' must be tuple of ints");
  MSA_REQUIRE(s.layout.sizes.size() == s.layout.strides.size(), Runtime,
              "set_: size and stride have ", s.layout.sizes.size(), " and ",
              s.layout.strides.size(), " entries; they must match");
  return s;
}

PyObject* set(PyObject* self, const Arguments& given) {
  PyObject* slot[4];
  take_arguments("set_", given, {"source", "storage_offset", "size", "stride"}, slot);
  Tensor& t = tensor_of(self);
  check_inplace("set_", t, must_record(t));
  SetSource s = set_source(t, slot);
  MSA_REQUIRE(!slot[0] || !is_tensor(slot[0]) || tensor_of(slot[0]).dtype() == t.dtype(), Runtime,
              "set_: could not set a tensor of type ", tensor_of(slot[0]).dtype(),
              " to a tensor of type ", t.dtype(), "; convert the source with .to() first");
  MSA_REQUIRE(s.storage->device == t.device(), Runtime,
              "set_: attempted to set the storage of a tensor on device ", t.device(),
              " to a storage on ", s.storage->device, "; the devices must match");
  Tensor checked_view =
      from_storage(s.storage, s.layout, t.dtype());  // raises where it does not fit
  t->storage = std::move(s.storage);
  set_layout(*t.impl(), s.layout);
  t.bump_version();
  return Py_NewRef(self);
}

void resize_to(Tensor& t, const Dims& sizes) {
  if (is_sparse(t)) sparse::refuse("resize_", t, "use sparse_resize_ or sparse_resize_and_clear_");
  MSA_REQUIRE(!t.requires_grad(), Runtime, "cannot resize variables that require grad");
  set_layout(*t.impl(), {sizes, contiguous_strides(sizes), t.offset()});
}

PyObject* resize_tensor(PyObject* self, const Arguments& given) {
  Dims sizes;
  bool list = given.n == 1 && to_dims(given.args[0], sizes);
  MSA_REQUIRE((list || to_dims(given.args, given.n, sizes)) && given.n_keywords() == 0, Type,
              "resize_() takes the new sizes, as ints or one tuple of ints");
  resize_to(tensor_of(self), sizes);
  return Py_NewRef(self);
}

PyObject* resize_as(PyObject* self, const Arguments& given) {
  PyObject* other;
  take_arguments("resize_as_", given, {"the_template"}, &other);
  MSA_REQUIRE(other && is_tensor(other), Type,
              "resize_as_(): argument 'the_template' must be Tensor");
  resize_to(tensor_of(self), tensor_of(other).sizes());
  return Py_NewRef(self);
}

}  // namespace

PyMethodDef tensor_storage_methods[] = {
    method<"untyped_storage", untyped_storage>("The bytes behind the tensor, shared by its views."),
    method<"resize_", resize_tensor>(
        "resize_(*sizes): new sizes over the same storage, which grows if it must."),
    method<"resize_as_", resize_as>("resize_as_(other): resize_ to the sizes of another tensor."),
    method<"set_", set>(
        "set_(source, storage_offset, size, stride): makes this tensor a view of the source."),
    {},
};

PyTypeObject storage_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch.UntypedStorage";
  t.tp_basicsize = sizeof(StorageObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_dealloc = destroy;
  t.tp_new = construct;
  t.tp_repr = repr;
  t.tp_as_sequence = &storage_sequence;
  t.tp_as_mapping = &storage_mapping;
  t.tp_as_buffer = &storage_buffer;
  t.tp_methods = storage_methods;
  t.tp_getset = storage_getters;
  t.tp_doc = "UntypedStorage(size=0, *, device='cpu'): bytes that tensors are views of.";
  return t;
}();

const Ref<Storage>& storage_value(PyObject* o) {
  return reinterpret_cast<StorageObject*>(o)->storage;
}

PyObject* storage_object(const Ref<Storage>& storage) {
  if (storage->python) return Py_NewRef(static_cast<PyObject*>(storage->python));
  auto* o = PyObject_New(StorageObject, &storage_type);
  if (!o) throw PythonError();
  new (&o->storage) Ref<Storage>(storage);
  storage->python = o;
  return as_object(o);
}

void init_storage(PyObject* module) {
  checked(PyType_Ready(&storage_type));
  checked(PyModule_AddObjectRef(module, "UntypedStorage", as_object(&storage_type)));
}

}  // namespace msa::py
