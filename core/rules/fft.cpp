// Shapes and strides of Fourier transforms, and the dtypes that their kernels read.
#include <algorithm>
#include <numeric>

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

// PyTorch's order of a result's memory, by strides from the largest: the other dimensions as they
// are in the input, then those that are transformed, these too as in the input but for the last
// one or so, `fixed`, of them.
Dims transformed_strides(const Dims& input_strides, const Dims& sizes, const Dims& dim,
                         int64_t fixed) {
  const auto ndim = static_cast<int64_t>(sizes.size());
  Dims transformed, order(sizes.size());
  for (const int64_t d : dim) transformed.push_back(wrap_dim(d, ndim));
  const auto farther = [&](int64_t a, int64_t b) { return input_strides[a] > input_strides[b]; };
  std::sort(transformed.begin(), transformed.end() - fixed, farther);
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto others = std::partition(order.begin(), order.end(), [&](int64_t d) {
    return std::find(transformed.begin(), transformed.end(), d) == transformed.end();
  });
  std::sort(order.begin(), others, farther);
  std::copy(transformed.begin(), transformed.end(), others);
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(1, sizes[order[i]]);
  }
  return strides;
}

}  // namespace

OutSpec fft_c2c(const Tensor& input, const Dims& dim, int64_t, bool) {
  require_transformable(input);
  return {input.sizes(), input.dtype(),
          dim.empty() ? preserved_strides(input.sizes(), input.strides())
                      : transformed_strides(input.strides(), input.sizes(), dim, 0)};
}

OutSpec fft_r2c(const Tensor& input, const Dims& dim, int64_t, bool onesided, bool) {
  require_transformable(input);
  const int64_t n = input.size(dim.back());
  const Dims sizes = with_last(input, dim, onesided ? n / 2 + 1 : n);
  return {sizes, to_complex(input.dtype()), transformed_strides(input.strides(), sizes, dim, 1)};
}

OutSpec fft_c2r(const Tensor& input, const Dims& dim, int64_t, int64_t last_dim_size, bool) {
  require_transformable(input);
  const Dims sizes = with_last(input, dim, last_dim_size);
  Dims strides = input.strides();
  const Dims others(DimsView(dim).first(dim.size() - 1));  // transformed before the last one
  if (!others.empty()) strides = transformed_strides(strides, input.sizes(), others, 0);
  return {sizes, to_real(input.dtype()), transformed_strides(strides, sizes, {dim.back()}, 1)};
}

}  // namespace msa::rules
