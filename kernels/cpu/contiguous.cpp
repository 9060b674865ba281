// Contiguous copies through the walker.
#include "kernels/cpu/contiguous.h"

#include "kernels/cpu/walk.h"

namespace msa::cpu {

void copy_into(const Tensor& dst, const Tensor& src) {
  const Dims strides = expanded_strides(src.sizes(), src.strides(), dst.sizes());
  copy_elements(dst.sizes(), {dst.data(), dst.dtype(), dst.strides().data()},
                {src.data(), src.dtype(), strides.data()});
}

Tensor copied(const Tensor& t, DType dtype) {
  const Tensor copy = empty(t.sizes(), dtype);
  copy_into(copy, t);
  return copy;
}
Tensor copied(const Tensor& t) { return copied(t, t.dtype()); }

Tensor contiguous(const Tensor& t, DType dtype) {
  return t.is_contiguous() && t.dtype() == dtype ? t : copied(t, dtype);
}
Tensor contiguous(const Tensor& t) { return contiguous(t, t.dtype()); }

}  // namespace msa::cpu
