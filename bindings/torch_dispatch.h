// __torch_dispatch__: classes of tensors whose operators Python runs, and modes that see all.
//
// A mode is a layer of level Innermost. A tensor of a class with the hook is opaque
// (core/dispatch/opaque.h): gradients are recorded above, and the call ends at the class's hook.
#pragma once
#include "bindings/common.h"
#include "core/tensor/tensor.h"

namespace msa::py {

// Whether the class has a hook of its own that is not switched off.
bool has_torch_dispatch(PyTypeObject* type);
// A tensor for an object of such a class: the data shared, or none.
Tensor dispatched(Tensor data);
Tensor dispatched_wrapper(const Layout& layout, DType dtype, Device device);

void init_torch_dispatch(PyObject* module);

}  // namespace msa::py
