// The extension module ms_adapter._C: each part adds itself, types before what uses them.
#include "bindings/autocast.h"
#include "bindings/autograd/autograd.h"
#include "bindings/backend.h"
#include "bindings/call.h"
#include "bindings/capture.h"
#include "bindings/compare.h"
#include "bindings/custom.h"
#include "bindings/defaults.h"
#include "bindings/dump.h"
#include "bindings/errors.h"
#include "bindings/files.h"
#include "bindings/generator.h"
#include "bindings/kernel_library.h"
#include "bindings/mindspore/backend.h"
#include "bindings/module_base.h"
#include "bindings/optim.h"
#include "bindings/overloads.h"
#include "bindings/overridable.h"
#include "bindings/parser.h"
#include "bindings/tensor/data.h"
#include "bindings/tensor/methods.h"
#include "bindings/tensor/numpy.h"
#include "bindings/tensor/storage.h"
#include "bindings/timeline.h"
#include "bindings/torch_dispatch.h"
#include "bindings/torch_function.h"
#include "bindings/transforms.h"
#include "bindings/types/types.h"
#include "core/base/lock.h"
#include "core/base/warn.h"

namespace msa::py {

namespace {

// The GIL is the core's lock.
void connect_lock() {
  lock_hooks.release = [] { return static_cast<void*>(PyEval_SaveThread()); };
  lock_hooks.acquire = [](void* state) {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  };
}

void connect_warnings() {
  warn_hook = [](const std::string& text) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  };
}

// _C.install_tensor_methods({name: function}): methods of torch.Tensor that are written in Python.
PyObject* install_tensor_methods(PyObject*, PyObject* methods) {
  return guarded([&] {
    MSA_REQUIRE(PyDict_Check(methods), Type,
                "install_tensor_methods takes a dict of functions by name");
    PyObject *name, *function;
    for (Py_ssize_t i = 0; PyDict_Next(methods, &i, &name, &function);)
      checked(PyObject_SetAttr(as_object(tensor_type), name, function));
    return none();
  });
}

// _C.set_parameter_type(cls): nn.Parameter, whose objects the parser then knows at a glance.
PyObject* set_parameter_type(PyObject*, PyObject* cls) {
  return guarded([&] {
    MSA_REQUIRE(PyType_Check(cls) && PyType_IsSubtype(as_type(cls), tensor_type), Type,
                "set_parameter_type takes a subclass of Tensor");
    parameter_type = as_type(Py_NewRef(cls));
    return none();
  });
}

PyMethodDef module_functions[] = {
    {"install_tensor_methods", install_tensor_methods, METH_O,
     "Adds Python functions to torch.Tensor as methods."},
    {"set_parameter_type", set_parameter_type, METH_O,
     "Tells the core which class nn.Parameter is."},
    {},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "ms_adapter._C",
                          "The core of ms_adapter.",
                          -1,
                          module_functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

PyObject* make_module() {
  Owned module = checked(PyModule_Create(&definition));
  PyObject* m = module.get();
  connect_lock();
  connect_warnings();
  init_errors(m);
  init_dtype(m);
  init_device(m);
  init_size(m);
  init_constants(m);
  init_type_info(m);
  init_return_types(m);
  init_tensor_type(m);
  init_torch_function(m);
  init_overridable(m);
  init_parser();
  init_calls(m);
  init_backend(m);
  init_package_backend(m);
  init_overloads(m);
  init_custom(m);
  init_kernel_library(m);
  init_torch_dispatch(m);
  init_operators();
  init_storage(m);
  init_shared_memory(m);
  init_files(m);
  init_compare(m);
  init_dump(m);
  init_capture(m);
  init_data();
  init_make();
  init_numpy();
  init_dlpack();
  init_query_functions(m);
  init_defaults();
  init_generator(m);
  init_autograd(m);
  init_autocast(m);
  init_timeline(m);
  init_transforms(m);
  init_module_base(m);
  init_optim(m);
  return module.release();
}

}  // namespace

}  // namespace msa::py

PyMODINIT_FUNC PyInit__C() {
  return msa::py::guarded([] { return msa::py::make_module(); });
}
