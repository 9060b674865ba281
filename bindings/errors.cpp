// The border for errors: each kind of core error becomes PyTorch's exception type.
#include "bindings/errors.h"

#include <new>

namespace msa::py {

PyObject* out_of_memory_error = nullptr;
PyObject* linalg_error = nullptr;

namespace {

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Runtime:
      return PyExc_RuntimeError;
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::OutOfMemory:  // PyTorch keeps its OutOfMemoryError for accelerators
      return PyExc_RuntimeError;
    case ErrorKind::LinAlg:
      return linalg_error;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error without an exception");
  } catch (const Error& e) {
    PyErr_SetString(exception_type(e.kind), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(out_of_memory_error, "out of memory: no room for an internal block");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

void init_errors(PyObject* module) {
  out_of_memory_error =
      checked(PyErr_NewExceptionWithDoc("torch.OutOfMemoryError",
                                        "Memory of the size asked for is not available.",
                                        PyExc_RuntimeError, nullptr))
          .release();
  linalg_error = checked(PyErr_NewExceptionWithDoc("torch._C._LinAlgError",
                                                   "A matrix has no such decomposition or inverse.",
                                                   PyExc_RuntimeError, nullptr))
                     .release();
  checked(PyModule_AddObjectRef(module, "OutOfMemoryError", out_of_memory_error));
  for (const char* name : {"LinAlgError", "_LinAlgError"})
    checked(PyModule_AddObjectRef(module, name, linalg_error));
}

}  // namespace msa::py
