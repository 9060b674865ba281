// NumPy without its C API: arrays through __array_interface__, tensors through the buffer protocol.
#include "bindings/tensor/numpy.h"

#include <memory>

#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/tensor/tensor.h"
#include "core/autograd/meta.h"
#include "core/capture/watcher.h"
#include "core/sparse/sparse.h"

namespace msa::py {

namespace {

// --- tensor to array: an object that NumPy asks for its memory and keeps as the array's base
// ---------

struct ExportObject {
  PyObject_HEAD Tensor tensor;
};

const char* type_string(DType t) {
  switch (t) {
    case DType::Bool:
      return "|b1";
    case DType::U8:
      return "|u1";
    case DType::I8:
      return "|i1";
    case DType::U16:
      return "<u2";
    case DType::I16:
      return "<i2";
    case DType::U32:
      return "<u4";
    case DType::I32:
      return "<i4";
    case DType::U64:
      return "<u8";
    case DType::I64:
      return "<i8";
    case DType::F16:
      return "<f2";
    case DType::F32:
      return "<f4";
    case DType::F64:
      return "<f8";
    case DType::C64:
      return "<c8";
    case DType::C128:
      return "<c16";
    default:
      fail(ErrorKind::Type, "Got unsupported ScalarType ", info(t).scalar_name,
           ": NumPy has no such type; use .float() first");
  }
}

Owned int_tuple(DimsView values, int64_t factor) {
  Owned tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     checked(PyLong_FromLongLong(values[i] * factor)).release());
  return tuple;
}

PyObject* array_interface(PyObject* self, void*) {
  return guarded([&] {
    static char nothing[16];  // NumPy refuses null even where there are no elements
    const Tensor& t = reinterpret_cast<ExportObject*>(self)->tensor;
    void* data = t.numel() ? t.data() : nothing;
    return Py_BuildValue(
        "{sNsss(NO)sNsi}", "shape", int_tuple(t.sizes(), 1).release(), "typestr",
        type_string(t.dtype()), "data", PyLong_FromVoidPtr(data), Py_False, "strides",
        int_tuple(t.strides(), static_cast<int64_t>(t.item_bytes())).release(), "version", 3);
  });
}

PyGetSetDef export_getters[] = {{"__array_interface__", array_interface, nullptr, nullptr, nullptr},
                                {}};

void free_export(PyObject* self) {
  reinterpret_cast<ExportObject*>(self)->tensor.~Tensor();
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject export_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch._C.TensorMemory";
  t.tp_basicsize = sizeof(ExportObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_dealloc = free_export;
  t.tp_getset = export_getters;
  t.tp_doc = "Keeps a tensor's memory alive for a NumPy array.";
  return t;
}();

Owned numpy_function(const char* name) {
  Owned numpy = checked(PyImport_ImportModule("numpy"));
  return checked(PyObject_GetAttrString(numpy.get(), name));
}

// --- array to tensor
// -----------------------------------------------------------------------------------

struct Buffer {
  Py_buffer view;
  ~Buffer() { PyBuffer_Release(&view); }
  static void drop(void* b) { delete static_cast<Buffer*>(b); }
};

[[noreturn]] void refuse_type(PyObject* object, const char* type) {
  fail(ErrorKind::Type, "can't convert ", Py_TYPE(object)->tp_name, " of type ", type,
       ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
       "int32, int16, int8, "
       "uint64, uint32, uint16, uint8, and bool.");
}

DType integer_type(bool is_signed, Py_ssize_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::I8 : DType::U8;
    case 2:
      return is_signed ? DType::I16 : DType::U16;
    case 4:
      return is_signed ? DType::I32 : DType::U32;
    default:
      return is_signed ? DType::I64 : DType::U64;
  }
}

DType dtype_of_format(PyObject* object, const char* format, Py_ssize_t item_bytes) {
  std::string_view code = format ? format : "B";
  MSA_REQUIRE(code[0] != '>' && code[0] != '!', Value,
              "given numpy array has byte order different from the native byte order. Conversion "
              "between byte orders is "
              "currently not supported: use array.astype(array.dtype.newbyteorder('=')).");
  if (code[0] == '<' || code[0] == '=' || code[0] == '@') code.remove_prefix(1);
  if (code == "?") return DType::Bool;
  if (code == "e") return DType::F16;
  if (code == "f") return DType::F32;
  if (code == "d") return DType::F64;
  if (code == "Zf") return DType::C64;
  if (code == "Zd") return DType::C128;
  if (code.size() == 1 && std::string_view("bhilq").find(code) != std::string_view::npos)
    return integer_type(true, item_bytes);
  if (code.size() == 1 && std::string_view("BHILQ").find(code) != std::string_view::npos)
    return integer_type(false, item_bytes);
  refuse_type(object, format);
}

Layout layout_of(const Py_buffer& view) {
  Layout layout;
  for (int d = 0; d < view.ndim; ++d) {
    MSA_REQUIRE(view.strides[d] >= 0 || view.shape[d] < 2, Value,
                "At least one stride in the given numpy array is negative, and tensors with "
                "negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your "
                "array with array.copy().)");
    MSA_REQUIRE(view.strides[d] % view.itemsize == 0 || view.shape[d] < 2, Value,
                "given numpy array strides not a multiple of the element byte size. Copy the numpy "
                "array to reallocate "
                "the memory.");
    layout.sizes.push_back(view.shape[d]);
    layout.strides.push_back(view.shape[d] < 2
                                 ? std::max<int64_t>(view.strides[d] / view.itemsize, 1)
                                 : view.strides[d] / view.itemsize);
  }
  return layout;
}

size_t reach_bytes(const Layout& layout, size_t item_bytes) {
  int64_t last = 0;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] == 0) return 0;
    last += (layout.sizes[d] - 1) * layout.strides[d];
  }
  return static_cast<size_t>(last + 1) * item_bytes;
}

void warn_about_writes() {
  static bool said = false;
  if (std::exchange(said, true)) return;
  checked(PyErr_WarnEx(
      PyExc_UserWarning,
      "from_numpy: the array is not writable (array.flags.writeable is False), the tensor over its "
      "memory is; writing to it is undefined. Copy the array first, or make it writable.",
      1));
}

PyObject* from_numpy(const Arguments& given) {
  PyObject* array;
  take_arguments("from_numpy", given, {"ndarray"}, &array);
  MSA_REQUIRE(array && is_numpy_array(array), Type, "expected np.ndarray (got ",
              array ? Py_TYPE(array)->tp_name : "nothing", ")");
  return wrap(from_buffer(array, "from_numpy", true));
}

PyMethodDef functions[] = {
    function<"from_numpy", from_numpy>("from_numpy(ndarray): a tensor over the array's memory."),
    {}};

}  // namespace

PyObject* numpy_array(const Tensor& t, bool force) {
  MSA_REQUIRE(
      force || !t.requires_grad(), Runtime,
      "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  MSA_REQUIRE(!is_sparse(t), Type,
              "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.");
  MSA_REQUIRE(!is_python(t), Runtime,
              ".numpy() is not supported for tensor subclasses with __torch_dispatch__.");
  MSA_REQUIRE(
      force || t.device().is_cpu(), Type, "can't convert ", t.device(),
      " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  type_string(t.dtype());  // refuses before anything is made
  capture::tell_read(t, "numpy()");
  auto* holder = PyObject_New(ExportObject, &export_type);
  if (!holder) throw PythonError();
  new (&holder->tensor) Tensor(detach(on_host(t)));
  Owned exporter(as_object(holder));
  static PyObject* asarray = numpy_function("asarray").release();
  Owned array = checked(PyObject_CallOneArg(asarray, exporter.get()));
  holder->tensor->storage->resizable = false;  // the array points at this memory from now on
  return array.release();
}

Tensor from_buffer(PyObject* object, const char* who, bool warn_read_only) {
  auto buffer = std::make_unique<Buffer>();
  if (PyObject_GetBuffer(object, &buffer->view, PyBUF_RECORDS_RO) < 0) {
    buffer->view = {};
    PyErr_Clear();
    Owned dtype(PyObject_GetAttrString(object, "dtype"));
    PyErr_Clear();
    Owned text(dtype ? PyObject_Str(dtype.get()) : nullptr);
    refuse_type(object, text ? PyUnicode_AsUTF8(text.get()) : who);
  }
  const Py_buffer& view = buffer->view;
  DType dtype = dtype_of_format(object, view.format, view.itemsize);
  Layout layout = layout_of(view);
  if (warn_read_only && view.readonly) warn_about_writes();
  size_t bytes = reach_bytes(layout, size_bytes(dtype));
  void* data = view.buf;
  Ref<Storage> storage = Storage::wrap(data, bytes, Device{}, Buffer::drop, buffer.release());
  return from_storage(std::move(storage), layout, dtype);
}

void init_numpy() {
  checked(PyType_Ready(&export_type));
  add_functions(functions);
}

}  // namespace msa::py
