// Tensors whose elements C++ is about to read.
#pragma once
#include "core/tensor/tensor.h"

namespace msa {

// The same values in host memory, whatever the tensor is; itself where it is there.
Tensor in_host(const Tensor& t);

}  // namespace msa
