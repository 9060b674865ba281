// Tensors from Python data: numbers, nested sequences, arrays.
#pragma once
#include "bindings/common.h"
#include "core/dispatch/options.h"
#include "core/tensor/tensor.h"

namespace msa::py {

// A new tensor holding a copy of `data`; without a dtype it is inferred as torch.tensor does.
Tensor tensor_from_data(PyObject* data, OptDType dtype, OptDevice device);
// The same, sharing memory where nothing has to change (torch.as_tensor).
Tensor tensor_sharing_data(PyObject* data, OptDType dtype, OptDevice device);

// Keyword arguments that those functions share; null or None: not given.
struct DataOptions {
  OptDType dtype;
  OptDevice device;
  bool requires_grad = false;
};
DataOptions data_options(const char* who, PyObject* dtype, PyObject* device,
                         PyObject* requires_grad);

void init_data();
void init_make();

}  // namespace msa::py
