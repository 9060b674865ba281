// __torch_function__: who overrides, in which order they are asked, and the modes on the stack.
#include "bindings/torch_function.h"

#include <vector>

#include "bindings/tensor/tensor.h"
#include "bindings/torch_dispatch.h"

namespace msa::py {

constinit thread_local TorchFunctionState torch_function_state;

namespace {

PyObject* hook_name = nullptr;            // "__torch_function__"
PyObject* disabled_hook = nullptr;        // _disabled_torch_function_impl
PyObject* default_hook_object = nullptr;  // of torch.Tensor

// The type's own hook, borrowed; null when it has none or has switched it off.
PyObject* hook_of(PyTypeObject* type) {
  PyObject* hook = _PyType_Lookup(type, hook_name);
  if (!hook || hook == disabled_hook) return nullptr;
  // A class whose hook is __torch_dispatch__ makes its results itself.
  if (hook == default_hook_object && has_torch_dispatch(type)) return nullptr;
  if (Py_IS_TYPE(hook, &PyClassMethod_Type)) {
    Owned inner(PyObject_GetAttrString(hook, "__func__"));
    PyErr_Clear();
    if (inner.get() == disabled_hook) return nullptr;
  }
  return hook;
}

// --- who is asked --------------------------------------------------------------------------------

using Overriding =
    std::vector<PyObject*>;  // one argument for each distinct type, most derived first

void add_overriding(Overriding& found, PyObject* o) {
  if (!overrides_torch_function(o)) return;
  PyTypeObject* type = Py_TYPE(o);
  auto at = found.end();
  for (auto i = found.begin(); i != found.end(); ++i) {
    if (Py_TYPE(*i) == type) return;
    if (at == found.end() && PyType_IsSubtype(type, Py_TYPE(*i))) at = i;
  }
  found.insert(at, o);
}

void add_argument(Overriding& found, PyObject* o) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) add_overriding(found, PySequence_Fast_ITEMS(o)[i]);
  } else {
    add_overriding(found, o);
  }
}

Overriding overriding_arguments(const Arguments& given) {
  Overriding found;
  for (Py_ssize_t i = 0; i < given.n_positional(); ++i) add_argument(found, given.positional(i));
  for (Py_ssize_t i = 0; i < given.n_keywords(); ++i) add_argument(found, given.keyword_value(i));
  return found;
}

Owned types_of(const Overriding& found) {
  Owned types = checked(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
  for (size_t i = 0; i < found.size(); ++i)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(as_object(Py_TYPE(found[i]))));
  return types;
}

// --- asking --------------------------------------------------------------------------------------

struct Request {
  PyObject* function;
  Owned types, args, kwargs;
};

Request make_request(PyObject* function, const Arguments& given, const Overriding& found) {
  Request r{function, types_of(found), checked(PyTuple_New(given.n_positional())),
            checked(PyDict_New())};
  for (Py_ssize_t i = 0; i < given.n_positional(); ++i)
    PyTuple_SET_ITEM(r.args.get(), i, Py_NewRef(given.positional(i)));
  for (Py_ssize_t i = 0; i < given.n_keywords(); ++i)
    checked(PyDict_SetItem(r.kwargs.get(), given.keyword(i), given.keyword_value(i)));
  return r;
}

// Asks through the type, as Python does for special methods.
Owned ask(PyObject* who, const Request& r, bool through_type) {
  PyObject* owner = through_type ? as_object(Py_TYPE(who)) : who;
  Owned hook = checked(PyObject_GetAttr(owner, hook_name));
  return checked(PyObject_CallFunctionObjArgs(hook.get(), r.function, r.types.get(), r.args.get(),
                                              r.kwargs.get(), nullptr));
}

// The innermost mode runs without itself on the stack, so that it may call operators.
class ModeOff {
 public:
  ModeOff() : modes_(torch_function_state.modes), n_(PyList_GET_SIZE(modes_)) {
    mode_ = Owned::borrow(PyList_GET_ITEM(modes_, n_ - 1));
    checked(PyList_SetSlice(modes_, n_ - 1, n_, nullptr));
    torch_function_state.has_modes = n_ > 1;
  }
  ~ModeOff() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyList_Append(modes_, mode_.get());
    torch_function_state.has_modes = true;
    PyErr_Restore(type, value, trace);
  }
  PyObject* mode() const { return mode_.get(); }

 private:
  PyObject* modes_;
  Py_ssize_t n_;
  Owned mode_;
};

Owned ask_all(const Request& r, const Overriding& found) {
  if (modes_active()) {
    ModeOff off;
    Owned result = ask(off.mode(), r, false);
    if (result.get() != Py_NotImplemented) return result;
  }
  for (PyObject* o : found) {
    Owned result = ask(o, r, true);
    if (result.get() != Py_NotImplemented) return result;
  }
  PyErr_Format(PyExc_TypeError,
               "no implementation found for %R on types that implement __torch_function__: %R",
               r.function, r.types.get());
  throw PythonError();
}

// --- the default hook of torch.Tensor
// -------------------------------------------------------------

Owned as_class(PyObject* result, PyTypeObject* cls) {
  if (is_tensor(result)) {
    if (PyType_IsSubtype(Py_TYPE(result), cls)) return Owned::borrow(result);
    return checked(PyObject_CallMethod(result, "as_subclass", "O", cls));
  }
  if (!PyTuple_Check(result) && !PyList_Check(result)) return Owned::borrow(result);
  Owned items = checked(PyList_New(0));
  for (Py_ssize_t i = 0; i < Py_SIZE(result); ++i)
    checked(PyList_Append(items.get(), as_class(PySequence_Fast_ITEMS(result)[i], cls).get()));
  return checked(PyObject_CallOneArg(as_object(Py_TYPE(result)), items.get()));
}

class SubclassesOff {
 public:
  SubclassesOff() : before_(std::exchange(torch_function_state.subclasses_off, true)) {}
  ~SubclassesOff() { torch_function_state.subclasses_off = before_; }

 private:
  bool before_;
};

// Runs the function on plain tensors and gives the results the subclass of the arguments.
PyObject* default_hook(PyObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *function, *types, *given = nullptr, *named = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:__torch_function__",
                                     const_cast<char**>(names), &function, &types, &given, &named))
      return nullptr;
    Owned list = checked(PySequence_Tuple(types));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); ++i)
      if (checked(PyObject_IsSubclass(cls, PyTuple_GET_ITEM(list.get(), i))) == 0)
        Py_RETURN_NOTIMPLEMENTED;
    Owned positional = given ? checked(PySequence_Tuple(given)) : checked(PyTuple_New(0));
    SubclassesOff off;
    Owned result =
        checked(PyObject_Call(function, positional.get(), named == Py_None ? nullptr : named));
    return as_class(result.get(), as_type(cls)).release();
  });
}

PyObject* disabled_impl(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *given = nullptr, *named = nullptr;
    if (!PyArg_ParseTuple(args, "OO|OO:_disabled_torch_function_impl", &function, &types, &given,
                          &named))
      return nullptr;
    Owned positional = given ? checked(PySequence_Tuple(given)) : checked(PyTuple_New(0));
    SubclassesOff off;
    return PyObject_Call(function, positional.get(), named == Py_None ? nullptr : named);
  });
}

// --- context managers that switch the protocol off
// ------------------------------------------------

struct SwitchObject {
  PyObject_HEAD bool subclasses_before, all_before;
};
extern PyTypeObject subclasses_switch, all_switch;

PyObject* enter(PyObject* self, PyObject*) {
  auto* s = reinterpret_cast<SwitchObject*>(self);
  TorchFunctionState& state = torch_function_state;
  s->subclasses_before = std::exchange(state.subclasses_off, true);
  s->all_before = state.all_off;
  if (Py_IS_TYPE(self, &all_switch)) state.all_off = true;
  return Py_NewRef(self);
}
PyObject* leave(PyObject* self, PyObject*) {
  auto* s = reinterpret_cast<SwitchObject*>(self);
  torch_function_state.subclasses_off = s->subclasses_before;
  torch_function_state.all_off = s->all_before;
  return none();
}
PyMethodDef switch_methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr}, {"__exit__", leave, METH_VARARGS, nullptr}, {}};

PyTypeObject switch_type(const char* name) {
  PyTypeObject t = blank_type();
  t.tp_name = name;
  t.tp_basicsize = sizeof(SwitchObject);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_methods = switch_methods;
  t.tp_new = PyType_GenericNew;
  t.tp_doc = "Switches __torch_function__ off inside a with block.";
  return t;
}
PyTypeObject subclasses_switch = switch_type("torch._C.DisableTorchFunctionSubclass");
PyTypeObject all_switch = switch_type("torch._C.DisableTorchFunction");

// --- the stack of modes
// ----------------------------------------------------------------------------

PyObject* modes() {
  PyObject*& list = torch_function_state.modes;
  if (!list) list = checked(PyList_New(0)).release();
  return list;
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  return guarded([&] {
    checked(PyList_Append(modes(), mode));
    torch_function_state.has_modes = true;
    return none();
  });
}
PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    Py_ssize_t n = PyList_GET_SIZE(modes());
    MSA_REQUIRE(n > 0, Runtime, "the stack of TorchFunctionModes is empty");
    PyObject* mode = Py_NewRef(PyList_GET_ITEM(modes(), n - 1));
    checked(PyList_SetSlice(modes(), n - 1, n, nullptr));
    torch_function_state.has_modes = n > 1;
    return mode;
  });
}
PyObject* count_modes(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromSsize_t(PyList_GET_SIZE(modes())); });
}
PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&] { return PySequence_GetItem(modes(), PyLong_AsSsize_t(index)); });
}

// --- questions
// --------------------------------------------------------------------------------------

bool any_overrides(PyObject* const* items, Py_ssize_t n) {
  if (modes_active()) return true;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (overrides_torch_function(items[i])) return true;
  return false;
}
PyObject* has_override(PyObject*, PyObject* items) {
  return guarded([&] {
    Owned list = checked(PySequence_Fast(items, "has_torch_function takes a sequence"));
    return boolean(
        any_overrides(PySequence_Fast_ITEMS(list.get()), PySequence_Fast_GET_SIZE(list.get())));
  });
}
PyObject* has_override_unary(PyObject*, PyObject* o) { return boolean(any_overrides(&o, 1)); }
PyObject* has_override_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return boolean(any_overrides(args, n));
}
PyObject* is_enabled(PyObject*, PyObject*) {
  return boolean(!torch_function_state.subclasses_off && !torch_function_state.all_off);
}

PyMethodDef functions[] = {
    {"_disabled_torch_function_impl", disabled_impl, METH_VARARGS,
     "Runs a function as if nobody overrode it."},
    {"_push_on_torch_function_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", count_modes, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {"_has_torch_function", has_override, METH_O, nullptr},
    {"_has_torch_function_unary", has_override_unary, METH_O, nullptr},
    {"_has_torch_function_variadic", fastcall(has_override_variadic), METH_FASTCALL, nullptr},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
    {},
};

PyMethodDef default_hook_def = {"__torch_function__", keywords(default_hook),
                                METH_VARARGS | METH_KEYWORDS | METH_CLASS,
                                "Runs func without overrides and gives its results this class."};

}  // namespace

namespace {
// Types that can have no hook, as most arguments are.
bool is_basic(PyObject* o) {
  return PyLong_CheckExact(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis ||
         PyFloat_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o) ||
         PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyType_Check(o);
}
}  // namespace

bool overrides_torch_function(PyObject* o) {
  const TorchFunctionState& state = torch_function_state;
  if (is_plain_tensor(o) || is_basic(o) || state.all_off || state.subclasses_off) return false;
  return hook_of(Py_TYPE(o)) != nullptr;
}

PyObject* dispatch_torch_function(PyObject* function, const Arguments& given) {
  Overriding found = overriding_arguments(given);
  return ask_all(make_request(function, given, found), found).release();
}

void init_torch_function(PyObject* module) {
  hook_name = PyUnicode_InternFromString("__torch_function__");
  checked(PyModule_AddFunctions(module, functions));
  disabled_hook =
      checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl")).release();
  checked(PyType_Ready(&subclasses_switch));
  checked(PyType_Ready(&all_switch));
  checked(
      PyModule_AddObjectRef(module, "DisableTorchFunctionSubclass", as_object(&subclasses_switch)));
  checked(PyModule_AddObjectRef(module, "DisableTorchFunction", as_object(&all_switch)));
  Owned hook = checked(PyDescr_NewClassMethod(&tensor_base_type, &default_hook_def));
  checked(PyDict_SetItemString(tensor_base_type.tp_dict, "__torch_function__", hook.get()));
  default_hook_object = hook.get();
  PyType_Modified(&tensor_base_type);
}

}  // namespace msa::py
