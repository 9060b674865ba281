// __torch_function__: calls handed to tensor subclasses, tensor-like objects and active modes.
#pragma once
#include "bindings/parser.h"

namespace msa::py {

// Per thread: the stack of TorchFunctionModes, and what is switched off.
struct TorchFunctionState {
  PyObject* modes = nullptr;  // a list, made at first use
  bool has_modes = false;
  bool subclasses_off = false;
  bool all_off = false;
};
extern constinit thread_local TorchFunctionState torch_function_state;

inline bool modes_active() {
  return __builtin_expect(torch_function_state.has_modes, 0) && !torch_function_state.all_off;
}

// Whether the object's type has a __torch_function__ of its own that is not switched off.
bool overrides_torch_function(PyObject* o);

// Hands `function(*args, **kwargs)` to the overriding arguments, modes first. New reference.
PyObject* dispatch_torch_function(PyObject* function, const Arguments& given);
// The callable that stands for a binding: the builtin, or the method of torch.Tensor.
Owned callable_of(const Binding& binding, bool method);

void init_torch_function(PyObject* module);

}  // namespace msa::py
