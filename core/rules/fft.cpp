// Shapes of Fourier transforms: their operands are float32, float64 or complex by now.
#include "generated/rules_fft.h"

namespace msa::rules {
namespace {

Dims with_last(const Tensor& input, const Dims& dim, int64_t n) {
  Dims sizes = input.sizes();
  sizes[wrap_dim(dim.back(), input.dim())] = n;
  return sizes;
}

}  // namespace

OutSpec fft_c2c(const Tensor& input, const Dims&, int64_t, bool) {
  return {input.sizes(), input.dtype()};
}

OutSpec fft_r2c(const Tensor& input, const Dims& dim, int64_t, bool onesided, bool) {
  const int64_t n = input.size(dim.back());
  return {with_last(input, dim, onesided ? n / 2 + 1 : n), to_complex(input.dtype())};
}

OutSpec fft_c2r(const Tensor& input, const Dims& dim, int64_t, int64_t last_dim_size, bool) {
  return {with_last(input, dim, last_dim_size), to_real(input.dtype())};
}

}  // namespace msa::rules
