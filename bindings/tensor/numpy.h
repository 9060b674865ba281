// NumPy arrays over tensors and tensors over arrays, without NumPy's C API.
#pragma once
#include "bindings/common.h"
#include "core/tensor/tensor.h"

namespace msa::py {

// An array over the tensor's memory; `force` detaches and copies where it must.
PyObject* numpy_array(const Tensor& t, bool force);

// A tensor over an object with the buffer protocol: a NumPy array or scalar, bytes.
// `who` names the function in errors; `warn_read_only` says once that writes are undefined.
Tensor from_buffer(PyObject* object, const char* who, bool warn_read_only);

void init_numpy();

}  // namespace msa::py
