// Gradients of Fourier transforms: transforms the other way, with the same scale.
#include "core/autograd/formulas.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_fft.h"
#include "generated/ops_index.h"
#include "generated/ops_view.h"

namespace msa::formulas {

Tensor fft_r2c_backward(const Tensor& grad, const Dims& dim, int64_t normalization, bool onesided,
                        bool forward, const Dims& input_sizes) {
  Tensor full = grad;
  if (onesided) {  // the half that was left out got no gradient
    Dims rest = grad.sizes();
    int64_t& n = rest[wrap_dim(dim.back(), grad.dim())];
    n = input_sizes[wrap_dim(dim.back(), grad.dim())] - n;
    if (n) full = ops::cat({grad, ops::zeros(rest, grad.dtype(), grad.device())}, dim.back());
  }
  return ops::real(ops::_fft_c2c(full, dim, normalization, !forward));
}

Tensor fft_c2r_backward(const Tensor& grad, const Dims& dim, int64_t normalization, bool forward) {
  const Tensor half = ops::_fft_r2c(grad, dim, normalization, true, !forward);
  const int64_t n = grad.size(dim.back()), kept = half.size(dim.back()), twice = n - kept;
  if (twice <= 0) return half;  // else the numbers with a mirror image count for both
  const Tensor inner = ops::narrow(half, dim.back(), 1, twice);
  TensorList parts{ops::narrow(half, dim.back(), 0, 1), ops::mul(inner, wrapped_number(Scalar(2)))};
  if (kept > twice + 1) parts.push_back(ops::narrow(half, dim.back(), twice + 1, kept - twice - 1));
  return ops::cat(parts, dim.back());
}

}  // namespace msa::formulas
