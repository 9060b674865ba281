// Lets a Python package be the backend of a device, and moves tensors' memory between devices that
// share it.
#include "bindings/backend.h"

#include <algorithm>

#include "bindings/boxed.h"
#include "bindings/call.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types/types.h"
#include "core/dispatch/arguments.h"
#include "core/storage/host_memory.h"
#include "core/storage/stand_in.h"

namespace msa::py {

namespace {

const char* const kForms[] = {"function", "inplace", "out"};

// handler(name, overload, form, args, n_given, callables) -> results. `form` is "function",
// "inplace" or "out"; `callables` are the row's MindSpore names, best first.
class PythonBackend final : public Backend {
 public:
  explicit PythonBackend(PyObject* handler) : handler_(Owned::borrow(handler)) {}

  void call(const OpInfo& op, Form form, const Value* args, Results& results) override {
    Owned arguments = arguments_tuple(op, form, args);
    Owned callables = callables_of(op);
    Owned given = checked(PyObject_CallFunction(handler_.get(), "sssOiO", op.name, op.overload,
                                                kForms[static_cast<int>(form)], arguments.get(),
                                                given_count(op, args), callables.get()));
    read_results(op, given.get(), results);
  }

 private:
  static Owned callables_of(const OpInfo& op) {
    Owned list = checked(PyList_New(0));
    for (const char* const* name = op.ms; name && *name; ++name)
      checked(PyList_Append(list.get(), checked(PyUnicode_FromString(*name)).get()));
    return checked(PyList_AsTuple(list.get()));
  }
  Owned handler_;
};

DeviceKind kind_argument(PyObject* o) {
  Device device;
  MSA_REQUIRE(to_device(o, device), Type, "a device is wanted, got ", Py_TYPE(o)->tp_name);
  return device.kind;
}

// The device of that very name, also where another stands in for it so far.
DeviceKind named_kind(PyObject* o) {
  return PyUnicode_Check(o) ? parse_device(PyUnicode_AsUTF8(o)).kind : kind_argument(o);
}

// _C.set_accelerator(device): what "cuda" means from here on, and "npu" unless there is one; "cpu":
// there is none.
PyObject* set_accelerator_device(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    set_accelerator(Device{kind_argument(o)});
    return none();
  });
}

// _C.set_backend(device, handler, in_host_memory); None as the handler takes the device away.
PyObject* set_python_backend(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *device, *handler;
    int in_host_memory;
    if (!PyArg_ParseTuple(args, "OOp", &device, &handler, &in_host_memory)) throw PythonError();
    // What a handler was given to lives as long as the process: calls may be under way.
    DeviceKind kind = named_kind(device);
    set_backend(kind, handler == Py_None ? nullptr : new PythonBackend(handler));
    set_device_present(kind, handler != Py_None);
    set_host_memory(kind, in_host_memory != 0);
    return none();
  });
}

// What ms_adapter.mindspore.ascend says of a machine without an Ascend accelerator.
std::string npu_refusal() {
  Owned module = checked(PyImport_ImportModule("ms_adapter.mindspore.ascend"));
  Owned text = checked(PyObject_CallMethod(module.get(), "why_not", nullptr));
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  if (!utf8) throw PythonError();
  return utf8;
}

PyObject* accelerator_device(PyObject*, PyObject*) { return device_object(accelerator()); }

// _C.on_device(tensor, device): the same memory as a tensor of another device. For backends whose
// devices share host memory; nothing is copied and no history is kept.
PyObject* on_device(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *given, *where;
    if (!PyArg_ParseTuple(args, "OO", &given, &where)) throw PythonError();
    MSA_REQUIRE(is_tensor(given), Type, "on_device takes a Tensor, got ", Py_TYPE(given)->tp_name);
    Device device;
    MSA_REQUIRE(to_device(where, device), Type, "on_device takes a device, got ",
                Py_TYPE(where)->tp_name);
    const Tensor& t = tensor_of(given);
    auto* kept = new Ref<Storage>(t->storage);
    Ref<Storage> shared = Storage::wrap(
        t->storage->data, t->storage->bytes, device,
        [](void* context) { delete static_cast<Ref<Storage>*>(context); }, kept);
    return wrap(from_storage(std::move(shared), t.layout(), t.dtype()));
  });
}

// Runs one row with an object for each of its parameters (and outputs): keyword-only ones by name.
PyObject* call_row(const OpInfo& op, Form form, PyObject* const* args, Py_ssize_t n) {
  Py_ssize_t n_params = std::min<Py_ssize_t>(n, op.n_params), n_outputs = n - n_params;
  Py_ssize_t n_named = std::max<Py_ssize_t>(n_params - op.n_positional, 0);
  std::vector<PyObject*> values(args, args + n_params);
  Owned names = checked(PyTuple_New(n_named + (n_outputs > 0)));
  for (Py_ssize_t i = 0; i < n_named; ++i)
    PyTuple_SET_ITEM(
        names.get(), i,
        checked(PyUnicode_InternFromString(op.params[op.n_positional + i].name)).release());
  Owned outputs;
  if (n_outputs > 0) {
    outputs = n_outputs == 1 ? Owned::borrow(args[n_params]) : checked(PyTuple_New(n_outputs));
    for (Py_ssize_t i = 0; n_outputs > 1 && i < n_outputs; ++i)
      PyTuple_SET_ITEM(outputs.get(), i, Py_NewRef(args[n_params + i]));
    PyTuple_SET_ITEM(names.get(), n_named, checked(PyUnicode_InternFromString("out")).release());
    values.push_back(outputs.get());
  }
  Overload overload{&op, form == Form::Inplace ? Form::Inplace : Form::Function};
  Call call;
  Arguments given{nullptr, values.data(), n_params - n_named, names.get()};
  MSA_REQUIRE(call.match(overload, given), Type, "call_operator: the arguments do not fit ",
              op.schema);
  Results results;
  boxed(op, call.form())(call.values(), results);
  return wrap_results(op, results);
}

// _C.call_operator(name, overload, form, *args): one row by its own name, with tensors, numbers and
// lists in the order of its parameters (all of them, in-place target first, outputs last).
PyObject* call_operator_by_name(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    MSA_REQUIRE(n >= 3, Type, "call_operator(name, overload, form, *args)");
    auto text = [&](Py_ssize_t i) {
      const char* s = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, i));
      if (!s) throw PythonError();
      return std::string_view(s);
    };
    const OpInfo* op = find_op(text(0), text(1));
    MSA_REQUIRE(op, Runtime, "call_operator: the registry has no row ", text(0), ".", text(1));
    Form form = text(2) == "function"  ? Form::Function
                : text(2) == "inplace" ? Form::Inplace
                                       : Form::Out;
    return call_row(*op, form, &PyTuple_GET_ITEM(args, 3), n - 3);
  });
}

PyMethodDef functions[] = {
    {"call_operator", call_operator_by_name, METH_VARARGS,
     "Calls one row of the registry by its own name."},
    {"set_backend", set_python_backend, METH_VARARGS,
     "Makes a Python callable the backend of a device."},
    {"set_accelerator", set_accelerator_device, METH_O,
     "Says which device 'cuda' means from here on."},
    {"accelerator", accelerator_device, METH_NOARGS,
     "The device that 'cuda' means, said to nobody."},
    {"on_device", on_device, METH_VARARGS, "The same memory as a tensor of another device."},
    {},
};

}  // namespace

void init_backend(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  set_npu_refusal(npu_refusal);
}

}  // namespace msa::py
