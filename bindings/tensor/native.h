// Methods and properties written by hand: their arguments, and handing over to __torch_function__.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "bindings/tensor/tensor.h"
#include "bindings/torch_function.h"

namespace msa::py {

// A name as a template argument.
template <size_t N>
struct Name {
  char text[N];
  consteval Name(const char (&t)[N]) { std::copy_n(t, N, text); }
};

inline bool hands_over(PyObject* self) {
  return modes_active() || (!is_plain_tensor(self) && overrides_torch_function(self));
}

// Distributes arguments over `names` (self left out); raises TypeErrors for what does not fit.
// Names from `keyword_only` on have no position. Slots not given stay null.
void take_arguments(const char* who, const Arguments& given,
                    std::initializer_list<const char*> names, PyObject** slots,
                    size_t keyword_only = 64);

inline void take_no_arguments(const char* who, const Arguments& given) {
  if (__builtin_expect(given.n != 0 || given.kwnames != nullptr, 0))
    take_arguments(who, given, {}, nullptr);
}

// The attribute of torch.Tensor that stands for a method, or for a property's `__get__`.
PyObject* call_override(const char* name, const char* accessor, const Arguments& given);

using NativeMethod = PyObject* (*)(PyObject* self, const Arguments& given);

// A PyCFunction (METH_FASTCALL | METH_KEYWORDS) for a method.
template <Name name, NativeMethod body>
PyObject* method_entry(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Arguments given{self, args, n, kwnames};
  return guarded([&] {
    if (__builtin_expect(hands_over(self), 0)) return call_override(name.text, nullptr, given);
    return body(self, given);
  });
}
template <Name name, NativeMethod body>
PyMethodDef method(const char* doc) {
  return {name.text, fastcall(method_entry<name, body>), METH_FASTCALL | METH_KEYWORDS, doc};
}

template <Name name, PyObject* (*body)(PyObject*)>
PyObject* getter_entry(PyObject* self, void*) {
  return guarded([&] {
    if (__builtin_expect(hands_over(self), 0))
      return call_override(name.text, "__get__", {self, nullptr, 0, nullptr});
    return body(self);
  });
}
template <Name name, void (*body)(PyObject*, PyObject*)>
int setter_entry(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (__builtin_expect(hands_over(self), 0)) {
      PyObject* args[] = {value};
      Owned(call_override(name.text, "__set__", {self, args, value ? 1 : 0, nullptr}));
      return PyErr_Occurred() ? -1 : 0;
    }
    body(self, value);
    return 0;
  });
}
template <Name name, PyObject* (*get)(PyObject*)>
PyGetSetDef property(const char* doc) {
  return {name.text, getter_entry<name, get>, nullptr, doc, nullptr};
}
template <Name name, PyObject* (*get)(PyObject*), void (*set)(PyObject*, PyObject*)>
PyGetSetDef property(const char* doc) {
  return {name.text, getter_entry<name, get>, setter_entry<name, set>, doc, nullptr};
}

}  // namespace msa::py
