// The rarer ways to make a tensor of data: asarray, frombuffer, new_tensor.
#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/tensor/data.h"
#include "bindings/tensor/methods.h"
#include "bindings/tensor/numpy.h"
#include "bindings/types/types.h"
#include "core/autograd/meta.h"
#include "core/base/warn.h"

namespace msa::py {

namespace {

PyObject* finished(Tensor t, const DataOptions& o) {
  if (o.requires_grad) set_requires_grad(t, true);
  return wrap(std::move(t));
}

PyObject* asarray(const Arguments& given) {
  PyObject* slot[5];
  take_arguments("asarray", given, {"obj", "dtype", "device", "copy", "requires_grad"}, slot, 1);
  MSA_REQUIRE(slot[0], Type, "asarray() missing 1 required positional argument: \"obj\"");
  DataOptions o = data_options("asarray", slot[1], slot[2], slot[4]);
  bool copy = slot[3] == Py_True;
  Tensor t = copy ? tensor_from_data(slot[0], o.dtype, o.device)
                  : tensor_sharing_data(slot[0], o.dtype, o.device);
  bool shares = is_tensor(slot[0]) ? t.same_storage(tensor_of(slot[0])) : is_numpy_array(slot[0]);
  MSA_REQUIRE(slot[3] != Py_False || shares, Value, "asarray: copy=False, but a ",
              Py_TYPE(slot[0])->tp_name, " cannot become this tensor without a copy");
  if (is_tensor(slot[0]) && !o.requires_grad) return wrap(std::move(t));
  return finished(detach(t), o);
}

// The bytes of any buffer, seen as elements of a dtype.
Tensor elements_of(const Tensor& bytes, DType dtype, int64_t count, int64_t offset) {
  int64_t item = static_cast<int64_t>(size_bytes(dtype)), total = bytes.numel();
  MSA_REQUIRE(total > 0 && count != 0, Value, "both buffer length (", total, ") and count (", count,
              ") must not be 0");
  MSA_REQUIRE(offset >= 0 && offset < total, Value, "offset (", offset,
              " bytes) must be non-negative and no greater than buffer length (", total,
              " bytes) minus 1");
  MSA_REQUIRE(count > 0 || (total - offset) % item == 0, Value, "buffer length (", total - offset,
              " bytes) after offset (", offset, " bytes) must be a multiple of element size (",
              item, ")");
  int64_t n = count > 0 ? count : (total - offset) / item;
  MSA_REQUIRE(offset + n * item <= total, Value, "requested buffer length (", n, " * ", item,
              " bytes) after offset (", offset,
              " bytes) must not be greater than actual buffer length (", total, " bytes)");
  char* start = bytes.data<char>() + offset;
  auto* keep = new Tensor(bytes);
  Ref<Storage> storage = Storage::wrap(
      start, static_cast<size_t>(n * item), Device{},
      [](void* t) { delete static_cast<Tensor*>(t); }, keep);
  return from_storage(std::move(storage), {Dims{n}, Dims{1}, 0}, dtype);
}

PyObject* frombuffer(const Arguments& given) {
  PyObject* slot[5];
  take_arguments("frombuffer", given, {"buffer", "dtype", "count", "offset", "requires_grad"}, slot,
                 1);
  MSA_REQUIRE(slot[0] && slot[1], Type, "frombuffer() needs a buffer and dtype=");
  DataOptions o = data_options("frombuffer", slot[1], nullptr, slot[4]);
  int64_t count = -1, offset = 0;
  MSA_REQUIRE(!slot[2] || to_int(slot[2], count), Type,
              "frombuffer(): argument 'count' must be int");
  MSA_REQUIRE(!slot[3] || to_int(slot[3], offset), Type,
              "frombuffer(): argument 'offset' must be int");
  MSA_REQUIRE(PyObject_CheckBuffer(slot[0]), Value,
              "object does not implement Python buffer protocol.");
  Owned view = checked(PyMemoryView_FromObject(slot[0]));
  Owned plain = checked(PyObject_CallMethod(view.get(), "cast", "s", "B"));
  return finished(
      elements_of(from_buffer(plain.get(), "frombuffer", true), *o.dtype, count, offset), o);
}

PyObject* new_tensor(PyObject* self, const Arguments& given) {
  PyObject* slot[5];
  take_arguments("new_tensor", given, {"data", "dtype", "device", "requires_grad", "pin_memory"},
                 slot, 1);
  MSA_REQUIRE(slot[0], Type, "new_tensor() missing 1 required positional argument: \"data\"");
  DataOptions o = data_options("new_tensor", slot[1], slot[2], slot[3]);
  const Tensor& like = tensor_of(self);
  if (is_tensor(slot[0]))
    warn(
        "new_tensor: to copy a tensor use .detach().clone(), which says what becomes of its graph");
  return finished(
      tensor_from_data(slot[0], o.dtype.value_or(like.dtype()), o.device.value_or(like.device())),
      o);
}

PyMethodDef functions[] = {
    function<"asarray", asarray>("asarray(obj, *, dtype=None, device=None, copy=None, "
                                 "requires_grad=False): a tensor of obj, "
                                 "sharing memory unless copy=True."),
    function<"frombuffer", frombuffer>("frombuffer(buffer, *, dtype, count=-1, offset=0, "
                                       "requires_grad=False): a 1-d tensor over a "
                                       "buffer's memory."),
    {},
};

}  // namespace

PyMethodDef tensor_make_methods[] = {
    method<"new_tensor", new_tensor>("new_tensor(data, *, dtype=None, device=None, "
                                     "requires_grad=False): data as a tensor like this one."),
    {},
};

void init_make() { add_functions(functions); }

}  // namespace msa::py
