// Shapes of Fourier transforms, and the dtypes that their kernels read.
#include "generated/rules_fft.h"

namespace msa::rules {
namespace {

Dims with_last(const Tensor& input, const Dims& dim, int64_t n) {
  Dims sizes = input.sizes();
  sizes[wrap_dim(dim.back(), input.dim())] = n;
  return sizes;
}

// The kernels read their operand as floats or doubles, whoever calls them.
void require_transformable(const Tensor& input) {
  const DType part = to_real(input.dtype());
  MSA_REQUIRE(part == DType::F32 || part == DType::F64, Runtime, "fft: Unsupported dtype ",
              input.dtype(), "; convert the input to float32 first.");
}

}  // namespace

OutSpec fft_c2c(const Tensor& input, const Dims&, int64_t, bool) {
  require_transformable(input);
  return {input.sizes(), input.dtype()};
}

OutSpec fft_r2c(const Tensor& input, const Dims& dim, int64_t, bool onesided, bool) {
  require_transformable(input);
  const int64_t n = input.size(dim.back());
  return {with_last(input, dim, onesided ? n / 2 + 1 : n), to_complex(input.dtype())};
}

OutSpec fft_c2r(const Tensor& input, const Dims& dim, int64_t, int64_t last_dim_size, bool) {
  require_transformable(input);
  return {with_last(input, dim, last_dim_size), to_real(input.dtype())};
}

}  // namespace msa::rules
