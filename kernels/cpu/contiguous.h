// Operands as one run of memory, for kernels that do not walk strides.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// `src`, broadcast and cast, into `dst`.
void copy_into(const Tensor& dst, const Tensor& src);
// A contiguous copy, in another dtype where given.
Tensor copied(const Tensor& t);
Tensor copied(const Tensor& t, DType dtype);
// The tensor itself where it is contiguous (and of that dtype) already, else a copy.
Tensor contiguous(const Tensor& t);
Tensor contiguous(const Tensor& t, DType dtype);

// Runs `fill(target)` on a contiguous tensor that ends up in `out`.
template <class F>
void fill_contiguous(const Tensor& out, DType dtype, F&& fill) {
  if (out.is_contiguous() && out.dtype() == dtype) return fill(out);
  const Tensor room = empty(out.sizes(), dtype);
  fill(room);
  copy_into(out, room);
}

}  // namespace msa::cpu
