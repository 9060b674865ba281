// Process-wide settings: default dtype and device, threads, and questions about dtypes.
#include "bindings/defaults.h"

#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/types/types.h"
#include "core/dispatch/elementwise.h"
#include "core/dispatch/options.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/threads.h"

namespace msa::py {

namespace {

PyObject* capability(const Arguments& given) {
  constexpr const char* kNames[] = {"DEFAULT", "AVX2", "AVX512"};  // in the order of cpu::Isa
  take_no_arguments("cpu_capability", given);
  return PyUnicode_FromString(kNames[static_cast<int>(cpu::isa())]);
}

DType dtype_argument(const char* who, PyObject* o) {
  DType t;
  MSA_REQUIRE(o && to_dtype(o, t), Type, who, "(): expected a torch.dtype, not ",
              o ? Py_TYPE(o)->tp_name : "nothing");
  return t;
}

PyObject* get_default_dtype(const Arguments& given) {
  take_no_arguments("get_default_dtype", given);
  return Py_NewRef(dtype_object(default_dtype()));
}

PyObject* set_default(const Arguments& given) {
  PyObject* d;
  take_arguments("set_default_dtype", given, {"d"}, &d);
  DType t = dtype_argument("set_default_dtype", d);
  MSA_REQUIRE(is_floating(t), Type,
              "only floating-point types are supported as the default type, not torch.", t);
  MSA_REQUIRE(t < DType::C32, Type, "couldn't find storage object ", info(t).scalar_name,
              "Storage: torch.", t, " cannot be the default type");
  set_default_dtype(t);
  return none();
}

PyObject* get_device(const Arguments& given) {
  take_no_arguments("get_default_device", given);
  return device_object(default_device());
}

PyObject* set_device(const Arguments& given) {
  PyObject* device;
  take_arguments("set_default_device", given, {"device"}, &device);
  Device d;
  MSA_REQUIRE(device && (device == Py_None || to_device(device, d)), Type,
              "set_default_device(): expected a torch.device");
  set_default_device(d);
  return none();
}

PyObject* get_threads(const Arguments& given) {
  take_no_arguments("get_num_threads", given);
  return PyLong_FromLong(cpu::get_num_threads());
}

PyObject* set_threads(const Arguments& given) {
  PyObject* n;
  take_arguments("set_num_threads", given, {"int"}, &n);
  int64_t threads;
  MSA_REQUIRE(n && to_int(n, threads), Runtime, "set_num_threads expects an int, but got ",
              n ? Py_TYPE(n)->tp_name : "nothing");
  MSA_REQUIRE(threads > 0, Runtime, "set_num_threads expects a positive integer, not ", threads);
  cpu::set_num_threads(static_cast<int>(threads));
  return none();
}

PyObject* promote(const Arguments& given) {
  PyObject* slot[2];
  take_arguments("promote_types", given, {"type1", "type2"}, slot);
  return Py_NewRef(dtype_object(promote_types(dtype_argument("promote_types", slot[0]),
                                              dtype_argument("promote_types", slot[1]))));
}

PyObject* castable(const Arguments& given) {
  PyObject* slot[2];
  take_arguments("can_cast", given, {"from_", "to"}, slot);
  return boolean(
      can_cast(dtype_argument("can_cast", slot[0]), dtype_argument("can_cast", slot[1])));
}

Tensor operand(PyObject* o) {
  if (o && is_tensor(o)) return tensor_of(o);
  Scalar s;
  MSA_REQUIRE(o && to_scalar(o, s), Type, "result_type(): expected Tensors or numbers, not ",
              o ? Py_TYPE(o)->tp_name : "nothing");
  return wrapped_number(s);
}

PyObject* common_type(const Arguments& given) {
  PyObject* slot[2];
  take_arguments("result_type", given, {"tensor1", "tensor2"}, slot);
  Tensor a = operand(slot[0]), b = operand(slot[1]);
  const Tensor* both[] = {&a, &b};
  return Py_NewRef(dtype_object(result_type(both)));
}

PyMethodDef functions[] = {
    function<"get_default_dtype", get_default_dtype>("The dtype of new floating tensors."),
    function<"set_default_dtype", set_default>(
        "set_default_dtype(d): the dtype of new floating tensors."),
    function<"get_default_device", get_device>("Where new tensors go."),
    function<"set_default_device", set_device>("set_default_device(device): where new tensors go."),
    function<"get_num_threads", get_threads>("Threads that kernels use."),
    function<"set_num_threads", set_threads>("set_num_threads(int): threads that kernels use."),
    function<"cpu_capability", capability>("The instruction set that kernels use."),
    function<"promote_types", promote>(
        "promote_types(type1, type2): the smallest dtype that holds both."),
    function<"can_cast", castable>(
        "can_cast(from_, to): whether out= of dtype `to` may take `from_`."),
    function<"result_type", common_type>(
        "result_type(tensor1, tensor2): the dtype that arithmetic on both gives."),
    {},
};

}  // namespace

void init_defaults() { add_functions(functions); }

}  // namespace msa::py
