// The native base of nn.Module: the call without hooks, and attributes that are registered members.
#include "bindings/module_base.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace msa::py {

namespace {

constexpr size_t kHookDicts = 4;  // a module's own dictionaries that change what a call does

// What a module's __dict__ says of its calls, good while that has not changed (borrowed from it).
struct CallFacts {
  uint64_t version;  // 0: none yet
  PyObject* hooks[kHookDicts];
  bool own_forward;  // the instance has one that is not its class's
};

struct ModuleObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  vectorcallfunc vectorcall;
  CallFacts facts;
};

ModuleObject* object_of(PyObject* o) { return reinterpret_cast<ModuleObject*>(o); }

struct Names {
  PyObject *forward, *hooked_call, *compiled, *getattr, *getattribute;
  PyObject* registries[3];  // where members are registered, in the order they are searched
  PyObject* hooks[kHookDicts];
} names;

std::vector<PyObject*> global_hooks;  // the dictionaries of hooks on all modules

// --- attributes
// -----------------------------------------------------------------------------------

// A parameter, buffer or submodule of that name, borrowed; null without an exception when there is
// none.
PyObject* registered(ModuleObject* o, PyObject* name) {
  if (!o->dict) return nullptr;
  for (PyObject* key : names.registries) {
    PyObject* members = PyDict_GetItemWithError(o->dict, key);
    if (!members || !PyDict_Check(members)) continue;
    if (PyObject* found = PyDict_GetItemWithError(members, name)) return found;
  }
  return nullptr;
}

PyObject* no_attribute(PyObject* self, PyObject* name) {
  if (PyErr_Occurred()) return nullptr;
  // torch.jit.script(module).save(path) is how many scripts end.
  bool saves = PyUnicode_CompareWithASCIIString(name, "save") == 0;
  return PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'%s",
                      Py_TYPE(self)->tp_name, name,
                      saves ? "; torch.jit.script and trace give the module itself, and there are "
                              "no TorchScript files: keep its weights with torch.save"
                            : "");
}

// Python's rules (data descriptors, the instance, the class), then what is registered.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* in_class = _PyType_Lookup(Py_TYPE(self), name);
  Owned keep = Owned::borrow(in_class);
  descrgetfunc get = in_class ? Py_TYPE(in_class)->tp_descr_get : nullptr;
  if (get && PyDescr_IsData(in_class)) return get(in_class, self, as_object(Py_TYPE(self)));
  ModuleObject* o = object_of(self);
  if (PyObject* own = o->dict ? PyDict_GetItemWithError(o->dict, name) : nullptr)
    return Py_NewRef(own);
  if (get) return get(in_class, self, as_object(Py_TYPE(self)));
  if (in_class) return keep.release();
  if (PyObject* member = registered(o, name)) return Py_NewRef(member);
  return no_attribute(self, name);
}

// What `super().__getattr__(name)` in a subclass reaches.
PyObject* getattr_method(PyObject* self, PyObject* name) {
  if (PyObject* member = registered(object_of(self), name)) return Py_NewRef(member);
  return no_attribute(self, name);
}

// --- the call
// ---------------------------------------------------------------------------------------

// A number that changes with the dictionary; 0 where Python keeps none.
uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since 3.12; gone with 3.13
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
  return 0;
#endif
}

// False when the module is no usual one: compiled, or without the dictionaries of hooks.
bool learn_facts(ModuleObject* o) {
  CallFacts& facts = o->facts;
  facts.version = 0;
  for (size_t i = 0; i < kHookDicts; ++i) {
    facts.hooks[i] = PyDict_GetItemWithError(o->dict, names.hooks[i]);
    if (!facts.hooks[i] || !PyDict_Check(facts.hooks[i])) return false;
  }
  PyObject* compiled = PyDict_GetItemWithError(o->dict, names.compiled);
  if (compiled && compiled != Py_None) return false;
  facts.own_forward = PyDict_GetItemWithError(o->dict, names.forward) != nullptr;
  facts.version = version_of(o->dict);
  return true;
}

// Whether a call is nothing but forward(); then the facts hold.
bool plain(ModuleObject* o) {
  if (!o->dict) return false;
  for (PyObject* hooks : global_hooks)
    if (PyDict_GET_SIZE(hooks) != 0) return false;
  const uint64_t version = version_of(o->dict);
  if ((version == 0 || o->facts.version != version) && !learn_facts(o)) return false;
  for (PyObject* hooks : o->facts.hooks)
    if (PyDict_GET_SIZE(hooks) != 0) return false;
  return true;
}

// function(self, *args): with room before the arguments self is put there for the time of the call.
PyObject* call_with_self(PyObject* function, PyObject* self, PyObject* const* args, size_t nargsf,
                         PyObject* kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  if (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) {
    auto** with_self = const_cast<PyObject**>(args) - 1;
    PyObject* before = std::exchange(*with_self, self);
    PyObject* result =
        PyObject_Vectorcall(function, with_self, static_cast<size_t>(n) + 1, kwnames);
    *with_self = before;
    return result;
  }
  size_t all =
      static_cast<size_t>(n) + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  std::vector<PyObject*> with_self(all + 1);
  with_self[0] = self;
  std::copy_n(args, all, with_self.begin() + 1);
  return PyObject_Vectorcall(function, with_self.data(), static_cast<size_t>(n) + 1, kwnames);
}

PyObject* call_attribute(PyObject* self, PyObject* name, PyObject* const* args, size_t nargsf,
                         PyObject* kwnames) {
  Owned function(PyObject_GetAttr(self, name));
  return function ? PyObject_Vectorcall(function.get(), args, nargsf, kwnames) : nullptr;
}

PyObject* run(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  ModuleObject* o = object_of(self);
  if (!plain(o)) return call_attribute(self, names.hooked_call, args, nargsf, kwnames);
  PyObject* forward = _PyType_Lookup(Py_TYPE(self), names.forward);
  if (o->facts.own_forward || !forward || !PyFunction_Check(forward))
    return call_attribute(self, names.forward, args, nargsf, kwnames);
  Owned keep = Owned::borrow(forward);
  return call_with_self(forward, self, args, nargsf, kwnames);
}

// tp_call, which is also what `super().__call__(...)` reaches.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  Py_ssize_t n = PyTuple_GET_SIZE(args), n_named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
  if (n_named == 0) return run(self, PySequence_Fast_ITEMS(args), static_cast<size_t>(n), nullptr);
  std::vector<PyObject*> all(PySequence_Fast_ITEMS(args), PySequence_Fast_ITEMS(args) + n);
  Owned kwnames(PyTuple_New(n_named));
  if (!kwnames) return nullptr;
  PyObject *name, *value;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; PyDict_Next(kwargs, &at, &name, &value); ++i) {
    PyTuple_SET_ITEM(kwnames.get(), i, Py_NewRef(name));
    all.push_back(value);
  }
  return run(self, all.data(), static_cast<size_t>(n), kwnames.get());
}

// A subclass with its own __call__, or one patched in later.
PyObject* call_overridden(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  Owned positional(PyTuple_New(n)), named(kwnames ? PyDict_New() : nullptr);
  if (!positional || (kwnames && !named)) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]) < 0) return nullptr;
  return Py_TYPE(self)->tp_call(self, positional.get(), named.get());
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (Py_TYPE(self)->tp_call != call) return call_overridden(self, args, nargsf, kwnames);
  return run(self, args, nargsf, kwnames);
}

// --- the type
// -----------------------------------------------------------------------------------------

PyObject* getattr_descriptor = nullptr;       // of ModuleBase: __getattr__
PyObject* getattribute_descriptor = nullptr;  // and __getattribute__

// Python gives classes that see a __getattr__ its slow lookup, and 3.11 does not hand vectorcall on
// to subclasses: both are set right when a class gets its first instance.
void prepare_class(PyTypeObject* type) {
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  if (type->tp_getattro == get_attribute) return;
  bool own = _PyType_Lookup(type, names.getattr) != getattr_descriptor ||
             _PyType_Lookup(type, names.getattribute) != getattribute_descriptor;
  if (!own) type->tp_getattro = get_attribute;
}

PyObject* construct(PyTypeObject* type, PyObject*, PyObject*) {
  prepare_class(type);
  PyObject* self = type->tp_alloc(type, 0);
  if (self) {
    object_of(self)->dict = PyDict_New();
    object_of(self)->vectorcall = vectorcall;
  }
  return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(object_of(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
}
void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (object_of(self)->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object_of(self)->dict);
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef module_methods[] = {
    {"__getattr__", getattr_method, METH_O, "A registered parameter, buffer or submodule."}, {}};
PyGetSetDef module_getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyTypeObject module_base_type = [] {
  PyTypeObject t = blank_type();
  t.tp_name = "torch._C.ModuleBase";
  t.tp_basicsize = sizeof(ModuleObject);
  t.tp_flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  t.tp_new = construct;
  t.tp_dealloc = destroy;
  t.tp_traverse = traverse;
  t.tp_clear = clear;
  t.tp_dictoffset = offsetof(ModuleObject, dict);
  t.tp_weaklistoffset = offsetof(ModuleObject, weakrefs);
  t.tp_vectorcall_offset = offsetof(ModuleObject, vectorcall);
  t.tp_call = call;
  t.tp_getattro = get_attribute;
  t.tp_methods = module_methods;
  t.tp_getset = module_getters;
  t.tp_doc = "The native base of nn.Module.";
  return t;
}();

// _C.set_global_module_hooks(dicts): hooks that every module's call must look at.
PyObject* set_global_hooks(PyObject*, PyObject* dicts) {
  return guarded([&] {
    Owned list = checked(PySequence_Tuple(dicts));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); ++i) {
      PyObject* d = PyTuple_GET_ITEM(list.get(), i);
      MSA_REQUIRE(PyDict_Check(d), Type, "set_global_module_hooks takes dictionaries");
      global_hooks.push_back(Py_NewRef(d));
    }
    return none();
  });
}

PyMethodDef functions[] = {{"set_global_module_hooks", set_global_hooks, METH_O,
                            "Which dictionaries hold hooks on all modules."},
                           {}};

PyObject* intern(const char* text) { return checked(PyUnicode_InternFromString(text)).release(); }

}  // namespace

void init_module_base(PyObject* module) {
  names = {intern("forward"),
           intern("_wrapped_call_impl"),
           intern("_compiled_call_impl"),
           intern("__getattr__"),
           intern("__getattribute__"),
           {intern("_parameters"), intern("_buffers"), intern("_modules")},
           {intern("_forward_hooks"), intern("_forward_pre_hooks"), intern("_backward_hooks"),
            intern("_backward_pre_hooks")}};
  checked(PyType_Ready(&module_base_type));
  getattr_descriptor = PyDict_GetItem(module_base_type.tp_dict, names.getattr);
  getattribute_descriptor = PyDict_GetItem(module_base_type.tp_dict, names.getattribute);
  checked(PyModule_AddFunctions(module, functions));
  checked(PyModule_AddObjectRef(module, "ModuleBase", as_object(&module_base_type)));
}

}  // namespace msa::py
