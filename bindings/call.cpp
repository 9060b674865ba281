// The one way from Python into operators: parse, hand over or run, wrap.
#include "bindings/call.h"

#include <cstring>

#include "bindings/convert.h"
#include "bindings/native_function.h"
#include "bindings/old_forms.h"
#include "bindings/tensor/tensor.h"
#include "bindings/torch_function.h"
#include "bindings/types/types.h"
#include "core/base/warn.h"

namespace msa::py {

namespace {

PyObject* wrap_named(const OpInfo& op, Results& results) {
  PyTypeObject* type = result_type_of(op);
  if (!type) return wrap_tuple(results.tensors);
  Owned named = checked(PyStructSequence_New(type));
  for (size_t i = 0; i < results.tensors.size(); ++i)
    PyStructSequence_SetItem(named.get(), static_cast<Py_ssize_t>(i),
                             wrap(std::move(results.tensors[i])));
  return named.release();
}

PyObject* run(Call& call) {
  Results results;
  boxed(call.op(), call.form())(call.values(), results);
  return wrap_results(call.op(), results);
}

enum class NoMatch { Raise, NotImplemented };

PyObject* call_binding(const Binding& binding, const Arguments& given, NoMatch no_match);

// What no overload takes: an old form of the call, or an error.
[[gnu::cold, gnu::noinline]] PyObject* call_unmatched(const Binding& binding,
                                                      const Arguments& given) {
  OldForm old;
  if (!old.rewrite(binding, given)) raise_no_match(binding, given);
  static bool said = false;
  if (!std::exchange(said, true))
    warn("This overload of ", binding.name,
         " is deprecated: give its factors as keywords, behind "
         "the tensors.");
  return call_binding(binding, old.arguments, NoMatch::Raise);
}

PyObject* call_binding(const Binding& binding, const Arguments& given, NoMatch no_match) {
  return guarded([&]() -> PyObject* {
    if (modes_active())
      return dispatch_torch_function(callable_of(binding, given.self != nullptr).get(), given);
    Call call;
    for (int i = 0; i < binding.n_overloads; ++i) {
      if (!call.match(binding.overloads[i], given)) continue;
      if (__builtin_expect(!call.foreign, 1)) return run(call);
      return dispatch_torch_function(callable_of(binding, given.self != nullptr).get(), given);
    }
    if (no_match == NoMatch::NotImplemented) return Py_NewRef(Py_NotImplemented);
    return call_unmatched(binding, given);
  });
}

// {"add": builtin, "nn.functional.linear": builtin, ...}
Owned make_functions() {
  Owned functions = checked(PyDict_New());
  for (size_t i = 0; i < n_function_bindings; ++i) {
    const char* name = function_bindings[i].name;
    const char* dot = std::strrchr(name, '.');
    std::string module =
        dot ? cat("torch.", std::string_view(name, static_cast<size_t>(dot - name))) : "torch";
    Owned where = checked(PyUnicode_FromString(module.c_str()));
    Owned function = checked(PyCFunction_NewEx(&function_defs[i], nullptr, where.get()));
    checked(PyDict_SetItemString(functions.get(), name, function.get()));
  }
  return functions;
}

PyObject* module = nullptr;     // _C
PyObject* functions = nullptr;  // {public dotted name: builtin}, lives as long as the process

const Binding* find(const Binding* bindings, size_t n, const char* name) {
  for (size_t i = 0; i < n; ++i)
    if (std::strcmp(bindings[i].name, name) == 0) return &bindings[i];
  return nullptr;
}

}  // namespace

PyObject* wrap_results(const OpInfo& op, Results& results) {
  switch (results.kind) {
    case Results::Kind::Tensor:
      return wrap(std::move(results.tensors[0]));
    case Results::Kind::Tuple:
      return wrap_named(op, results);
    case Results::Kind::List:
      return wrap_tuple(results.tensors);
    case Results::Kind::Scalar:
      return scalar_object(results.scalar);
    case Results::Kind::None:
      break;
  }
  return none();
}

PyObject* call_function(const Binding& binding, PyObject* const* args, Py_ssize_t n,
                        PyObject* kwnames) {
  return call_binding(binding, {nullptr, args, n, kwnames}, NoMatch::Raise);
}

PyObject* call_method(const Binding& binding, PyObject* self, PyObject* const* args, Py_ssize_t n,
                      PyObject* kwnames) {
  return call_binding(binding, {self, args, n, kwnames}, NoMatch::Raise);
}

PyObject* call_operator(const Binding& binding, PyObject* self, PyObject* other) {
  PyObject* made = call_binding(binding, {self, &other, 1, nullptr}, NoMatch::NotImplemented);
  if (made || !PyErr_ExceptionMatches(PyExc_TypeError)) return made;
  PyErr_Clear();  // as where no class implements it: Python asks the other operand, then refuses
  return Py_NewRef(Py_NotImplemented);
}

const Binding* find_method(const char* name) {
  return find(method_bindings, n_method_bindings, name);
}
const Binding* find_function(const char* name) {
  return find(function_bindings, n_function_bindings, name);
}

const Binding& require_method(const char* name) {
  const Binding* found = find_method(name);
  MSA_REQUIRE(found, NotImplemented, "Tensor.", name, " is not in the operator registry yet");
  return *found;
}
const Binding& require_function(const char* name) {
  const Binding* found = find_function(name);
  MSA_REQUIRE(found, NotImplemented, "torch.", name, " is not in the operator registry yet");
  return *found;
}

Owned callable_of(const Binding& binding, bool method) {
  if (method) return checked(PyObject_GetAttrString(as_object(tensor_type), binding.name));
  return Owned::borrow(PyDict_GetItemString(functions, binding.name));
}

PyObject* call_function_override(const char* name, const Arguments& given) {
  Owned function = checked(PyObject_GetAttrString(module, name));
  return dispatch_torch_function(function.get(), given);
}

void add_functions(PyMethodDef* table) {
  Owned torch = checked(PyUnicode_FromString("torch"));
  for (; table->ml_name; ++table) {
    Owned function = checked(PyCFunction_NewEx(table, nullptr, torch.get()));
    checked(PyModule_AddObjectRef(module, table->ml_name, function.get()));
  }
}

void add_submodule(PyObject* parent, const char* name, PyMethodDef* table) {
  Owned made = checked(PyModule_New(cat("ms_adapter._C.", name).c_str()));
  checked(PyModule_AddFunctions(made.get(), table));
  checked(PyModule_AddObjectRef(parent, name, made.get()));
}

void init_calls(PyObject* m) {
  module = m;
  functions = make_functions().release();
  checked(PyModule_AddObjectRef(module, "functions", functions));
  for (size_t i = 0; i < n_method_bindings; ++i) {
    Owned method = checked(PyDescr_NewMethod(&tensor_base_type, &method_defs[i]));
    checked(PyDict_SetItemString(tensor_base_type.tp_dict, method_bindings[i].name, method.get()));
  }
  PyType_Modified(&tensor_base_type);
}

}  // namespace msa::py
