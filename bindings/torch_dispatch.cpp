// The stack of TorchDispatchModes, and the backend of classes with __torch_dispatch__.
#include "bindings/torch_dispatch.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings/overloads.h"
#include "bindings/owned_by_thread.h"
#include "bindings/tensor/tensor.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/opaque.h"
#include "core/dispatch/saving.h"

namespace msa::py {

namespace {

PyObject* hook_name = nullptr;      // "__torch_dispatch__"
PyObject* disabled_hook = nullptr;  // _disabled_torch_dispatch_impl
thread_local int switched_off = 0;  // _DisableTorchDispatch

// The classes with the hook among the arguments: subclasses before their bases, else in order.
std::vector<PyTypeObject*> classes_of(const OpInfo& op, Form form, const Value* args) {
  std::vector<PyTypeObject*> found;
  each_tensor(args, argument_count(op, form), [&](const Tensor& t) {
    if (!is_python(t)) return;
    Owned object(wrap(t));
    PyTypeObject* type = Py_TYPE(object.get());
    if (!has_torch_dispatch(type)) return;
    auto at = found.end();
    for (auto i = found.begin(); i != found.end(); ++i) {
      if (*i == type) return;
      if (at == found.end() && PyType_IsSubtype(type, *i)) at = i;
    }
    found.insert(at, type);
  });
  return found;
}

Owned types_tuple(const std::vector<PyTypeObject*>& classes) {
  Owned types = checked(PyTuple_New(static_cast<Py_ssize_t>(classes.size())));
  for (size_t i = 0; i < classes.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i), Py_NewRef(as_object(classes[i])));
  return types;
}

Owned ask(PyObject* owner, const ShownCall& call, PyObject* types) {
  Owned hook = checked(PyObject_GetAttr(owner, hook_name));
  return checked(PyObject_CallFunctionObjArgs(hook.get(), call.func.get(), types, call.args.get(),
                                              call.kwargs.get(), nullptr));
}

// --- modes ---------------------------------------------------------------------------------------

class Mode;
struct ModeStack {
  std::vector<std::unique_ptr<Mode>> modes;
  size_t visible = 0;  // a mode that is asked does not see what it calls itself
};
thread_local ModeStack stack;

class Mode final : public Layer {
 public:
  explicit Mode(PyObject* object) : object_(object) {}
  PyObject* object() const { return object_.get(); }

  void call(LayerCall& call) override {
    Hidden hidden(this);
    ShownCall shown = show_call(call.op, call.form, call.args);
    Owned types = types_tuple(classes_of(call.op, call.form, call.args));
    Owned given = ask(object_.get(), shown, types.get());
    if (given.get() == Py_NotImplemented) return call.proceed();
    take_results(call.op, call.form, call.args, given.get(), call.results);
  }

 private:
  class Hidden {
   public:
    explicit Hidden(const Mode* mode) : before_(stack.visible) {
      while (stack.modes[--stack.visible].get() != mode) {
      }
    }
    ~Hidden() { stack.visible = before_; }

   private:
    size_t before_;
  };
  OwnedByThread object_;
};

PyObject* push_mode(PyObject*, PyObject* object) {
  return guarded([&] {
    auto mode = std::make_unique<Mode>(object);
    push_layer(mode.get());
    auto at = stack.modes.begin() + static_cast<std::ptrdiff_t>(stack.visible++);
    stack.modes.insert(at, std::move(mode));
    return none();
  });
}

PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    MSA_REQUIRE(stack.visible > 0, Runtime, "the stack of TorchDispatchModes is empty");
    auto at = stack.modes.begin() + static_cast<std::ptrdiff_t>(stack.visible - 1);
    pop_layer(at->get());
    PyObject* object = Py_NewRef((*at)->object());
    stack.modes.erase(at);
    --stack.visible;
    return object;
  });
}

PyObject* count_modes(PyObject*, PyObject*) { return PyLong_FromSize_t(stack.visible); }

PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&] {
    size_t i = PyLong_AsSize_t(index);
    MSA_REQUIRE(!PyErr_Occurred() && i < stack.visible, Index, "no TorchDispatchMode at ", i);
    return Py_NewRef(stack.modes[i]->object());
  });
}

// --- classes -------------------------------------------------------------------------------------

// Runs the operator on the data behind the tensors, as if their classes had no hook.
void call_on_data(const OpInfo& op, Form form, const Value* args, Results& results) {
  const int n = argument_count(op, form);
  std::vector<Value> plain(args, args + n);
  std::vector<Tensor> kept;
  std::vector<TensorList> lists;
  kept.reserve(static_cast<size_t>(n));
  lists.reserve(static_cast<size_t>(n));
  auto data_of = [&](const Tensor& t) {
    if (!t.defined() || !is_python(t)) return t;
    MSA_REQUIRE(python_parts(t).data.defined(), NotImplemented, op.name,
                ": a wrapper subclass has no data of its own; unwrap it in __torch_dispatch__");
    return python_parts(t).data;
  };
  for (Value& v : plain) {
    if (v.tag() == Value::Tag::Device) v = Value(claimed_device(v.device()));
    if (v.tag() == Value::Tag::Tensor) v = Value(kept.emplace_back(data_of(v.tensor())));
    if (v.tag() != Value::Tag::Tensors) continue;
    TensorList& list = lists.emplace_back();
    for (const Tensor& t : v.tensors()) list.push_back(data_of(t));
    v = Value(list);
  }
  boxed(op, form)(plain.data(), results);
}

bool any_requires_grad(const OpInfo& op, Form form, const Value* args) {
  return thread_state.grad_enabled && any_tensor(args, argument_count(op, form),
                                                 [](const Tensor& t) { return t.requires_grad(); });
}

// What Python returns is what it sees; the caller expects what backward would need as well.
void add_left_values(const OpInfo& op, bool recorded, Results& results) {
  if (!saving_row(op)) return;
  MSA_REQUIRE(!recorded, NotImplemented, op.name,
              ": gradients through a class with __torch_dispatch__ are not supported for this "
              "operator, whose kernel leaves values for backward that Python does not see; compose "
              "it of other operators, or compute under torch.no_grad()");
  constexpr int kMostLeft = 4;
  for (int i = 0; i < kMostLeft; ++i) results.tensors.push_back(Tensor());
}

class ClassBackend final : public Backend {
 public:
  void call(const OpInfo& op, Form form, const Value* args, Results& results) override {
    const bool recorded = any_requires_grad(op, form, args);
    GradMode off(false);  // histories are recorded above
    std::vector<PyTypeObject*> classes = classes_of(op, form, args);
    if (switched_off || classes.empty()) {
      call_on_data(op, form, args, results);
      return add_left_values(op, recorded, results);
    }
    ShownCall shown = show_call(op, form, args);
    Owned types = types_tuple(classes);
    for (PyTypeObject* type : classes) {
      Owned given = ask(as_object(type), shown, types.get());
      if (given.get() == Py_NotImplemented) continue;
      take_results(op, form, args, given.get(), results);
      return add_left_values(op, recorded, results);
    }
    PyErr_Format(PyExc_TypeError,
                 "Multiple dispatch failed for '%R'; all __torch_dispatch__ handlers returned "
                 "NotImplemented: %R",
                 shown.func.get(), types.get());
    throw PythonError();
  }
};

// super().__torch_dispatch__, and classes that say they want none: below all hooks.
PyObject* disabled_impl(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *given = nullptr, *named = nullptr;
    if (!PyArg_ParseTuple(args, "OO|OO:_disabled_torch_dispatch_impl", &function, &types, &given,
                          &named))
      return nullptr;
    struct Off {
      Off() { ++switched_off; }
      ~Off() { --switched_off; }
    } off;
    Owned positional = given ? checked(PySequence_Tuple(given)) : checked(PyTuple_New(0));
    return PyObject_Call(function, positional.get(), named == Py_None ? nullptr : named);
  });
}

PyObject* switch_off(PyObject*, PyObject* off) {
  switched_off += PyObject_IsTrue(off) ? 1 : -1;
  return none();
}

PyMethodDef functions[] = {
    {"_push_on_torch_dispatch_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", pop_mode, METH_VARARGS, nullptr},
    {"_len_torch_dispatch_stack", count_modes, METH_NOARGS, nullptr},
    {"_get_dispatch_stack_at", mode_at, METH_O, nullptr},
    {"_disabled_torch_dispatch_impl", disabled_impl, METH_VARARGS,
     "Runs an operator on the data behind its tensors."},
    {"_switch_torch_dispatch_off", switch_off, METH_O, nullptr},
    {},
};

Tensor make_python(PythonParts parts, const Layout& layout, DType dtype) {
  int64_t last = layout.offset;  // nothing is there, but no place may be out of bounds
  for (size_t d = 0; d < layout.sizes.size(); ++d)
    last += std::max<int64_t>(0, layout.sizes[d] - 1) * layout.strides[d];
  const Device device{kPythonKind, static_cast<int8_t>(parts.device.kind)};
  auto* kept = new PythonParts(std::move(parts));
  Ref<Storage> storage = Storage::wrap(
      nullptr, static_cast<size_t>(last + 1) * size_bytes(dtype), device,
      [](void* p) { delete static_cast<PythonParts*>(p); }, kept);
  return from_storage(std::move(storage), layout, dtype);
}

}  // namespace

bool has_torch_dispatch(PyTypeObject* type) {
  if (type == tensor_type || type == parameter_type) return false;
  PyObject* hook = _PyType_Lookup(type, hook_name);
  return hook && hook != disabled_hook;
}

Tensor dispatched(Tensor data) {
  if (is_python(data)) return data;
  Layout layout = data.layout();
  DType dtype = data.dtype();
  Device device = data.device();
  return make_python({device, std::move(data)}, layout, dtype);
}

Tensor dispatched_wrapper(const Layout& layout, DType dtype, Device device) {
  return make_python({device, Tensor()}, layout, dtype);
}

void init_torch_dispatch(PyObject* module) {
  hook_name = PyUnicode_InternFromString("__torch_dispatch__");
  checked(PyModule_AddFunctions(module, functions));
  disabled_hook =
      checked(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl")).release();
  static ClassBackend& backend = *new ClassBackend;
  set_python_backend(&backend);
}

}  // namespace msa::py
