// What every binding file needs: owned Python references and the border between C++ and Python
// errors.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

#include "core/base/error.h"

namespace msa::py {

// An owned reference to a Python object, or null.
class Owned {
 public:
  Owned() = default;
  explicit Owned(PyObject* owned) : p_(owned) {}
  static Owned borrow(PyObject* p) {
    Py_XINCREF(p);
    return Owned(p);
  }
  Owned(const Owned& o) : p_(o.p_) { Py_XINCREF(p_); }
  Owned(Owned&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Owned& operator=(Owned o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Owned() { Py_XDECREF(p_); }

  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Takes the result of a Python C API call; a null one (an exception is set) unwinds to the border.
inline Owned checked(PyObject* p) {
  if (__builtin_expect(!p, 0)) throw PythonError();
  return Owned(p);
}
inline int checked(int result) {
  if (__builtin_expect(result < 0, 0)) throw PythonError();
  return result;
}

// Turns the C++ exception being handled into a Python one. Only inside a catch block.
void set_python_error() noexcept;

// Runs `body` at the border: exceptions become Python's, the result null (or -1).
template <class F>
auto guarded(F&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    if constexpr (std::is_pointer_v<decltype(body())>)
      return nullptr;
    else
      return -1;
  }
}

inline PyObject* none() { return Py_NewRef(Py_None); }
inline PyObject* boolean(bool v) { return Py_NewRef(v ? Py_True : Py_False); }

inline PyTypeObject* as_type(PyObject* o) { return reinterpret_cast<PyTypeObject*>(o); }
template <class T>
PyObject* as_object(T* o) {
  return reinterpret_cast<PyObject*>(o);
}
// A static type to fill in.
inline PyTypeObject blank_type() {
  PyTypeObject t = {};
  Py_SET_REFCNT(as_object(&t), 1);
  return t;
}
// Each calling convention as the one function type that PyMethodDef has.
inline PyCFunction fastcall(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
inline PyCFunction fastcall(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
inline PyCFunction keywords(PyObject* (*f)(PyObject*, PyObject*, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace msa::py
