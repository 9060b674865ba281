// The submodule _C.autograd, and how its functions read their arguments.
#include "bindings/autograd/autograd.h"

namespace msa::py {

void require_args(const char* who, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most) {
  MSA_REQUIRE(given >= least && given <= most, Type, who, "() takes ",
              least == most ? "" : "at most ", most, " arguments, ", given, " given");
}

Tensor& require_tensor(const char* who, PyObject* o) {
  MSA_REQUIRE(is_tensor(o), Type, who, "(): expected a Tensor, not ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

Owned tuple_of(const Grads& grads) { return checked(wrap_tuple(grads)); }

void read_gradient(const char* who, PyObject* o, Tensor& grad) {
  if (o == Py_None) {
    grad = Tensor();
    return;
  }
  MSA_REQUIRE(is_tensor(o), Type, who,
              " must return a Tensor or None for a gradient, but returned '", Py_TYPE(o)->tp_name,
              "'");
  grad = tensor_of(o);
}

void init_autograd(PyObject* module) {
  static PyModuleDef def{PyModuleDef_HEAD_INIT,
                         "ms_adapter._C.autograd",
                         "The native part of torch.autograd.",
                         -1,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr};
  Owned autograd = checked(PyModule_Create(&def));
  init_nodes(autograd.get());
  init_hooks(autograd.get());
  init_modes(autograd.get());
  init_running(autograd.get());
  init_functions(autograd.get());
  checked(PyModule_AddObjectRef(module, "autograd", autograd.get()));
}

}  // namespace msa::py
