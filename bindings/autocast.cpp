// The thread's autocast settings for Python; torch.amp puts PyTorch's names on them.
#include "bindings/autocast.h"

#include "bindings/autograd/autograd.h"
#include "bindings/native_function.h"
#include "bindings/types/types.h"
#include "core/dispatch/autocast.h"

namespace msa::py {

namespace {

DeviceKind device_argument(const char* who, PyObject* o) {
  if (PyUnicode_Check(o))  // itself, also where another device stands in for it
    return parse_device(PyUnicode_AsUTF8(o)).kind;
  Device device;
  MSA_REQUIRE(to_device(o, device), Type, who, "(): expected a device type, not ",
              Py_TYPE(o)->tp_name);
  return device.kind;
}

// (enabled, dtype)
PyObject* get(PyObject* const* args, Py_ssize_t n) {
  require_args("get", n, 1, 1);
  const AutocastDevice& of = autocast_of(device_argument("get", args[0]));
  return Py_BuildValue("OO", of.enabled ? Py_True : Py_False, dtype_object(of.dtype));
}

PyObject* set_enabled(PyObject* const* args, Py_ssize_t n) {
  require_args("set_enabled", n, 2, 2);
  set_autocast_enabled(device_argument("set_enabled", args[0]),
                       checked(PyObject_IsTrue(args[1])) != 0);
  return none();
}

PyObject* set_dtype(PyObject* const* args, Py_ssize_t n) {
  require_args("set_dtype", n, 2, 2);
  DType dtype;
  MSA_REQUIRE(to_dtype(args[1], dtype), Type, "set_autocast_dtype(): expected a torch.dtype, not ",
              Py_TYPE(args[1])->tp_name);
  autocast_of(device_argument("set_dtype", args[0])).dtype = dtype;
  return none();
}

PyObject* keeps_weights(PyObject* const* args, Py_ssize_t n) {
  require_args("keeps_weights", n, 0, 1);
  if (n == 1) autocast_keeps_weights() = checked(PyObject_IsTrue(args[0])) != 0;
  return boolean(autocast_keeps_weights());
}

template <int by>
PyObject* change_nesting(PyObject* const*, Py_ssize_t) {
  return PyLong_FromLong(autocast_nesting() += by);
}

PyObject* clear_cache(PyObject* const*, Py_ssize_t) {
  clear_autocast_cache();
  return none();
}

PyMethodDef functions[] = {
    function<get>("get", "get(device_type) -> (enabled, dtype)"),
    function<set_enabled>("set_enabled", "set_enabled(device_type, bool)"),
    function<set_dtype>("set_dtype", "set_dtype(device_type, dtype)"),
    function<keeps_weights>("keeps_weights",
                            "keeps_weights([bool]) -> whether casts of weights are kept"),
    function<change_nesting<1>>("enter", "One more region is entered; returns how many are."),
    function<change_nesting<-1>>("leave",
                                 "One region is left; returns how many still are entered."),
    function<clear_cache>("clear_cache", "Forgets the kept casts of weights."),
    {},
};

}  // namespace

void init_autocast(PyObject* module) { add_submodule(module, "autocast", functions); }

}  // namespace msa::py
