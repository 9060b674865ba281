// The public pooling operators: the number of dimensions checked, then one kernel for any of them.
#include <algorithm>

#include "generated/composed_nn.h"
#include "generated/ops_nn.h"
#include "generated/ops_reduce.h"

namespace msa::composed {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

// Dimensions before `may_be_empty` may be: the batch, or what PyTorch lets pass besides.
void check_dims(const char* op, const Tensor& input, int64_t spatial, int64_t may_be_empty) {
  MSA_REQUIRE(input.dim() == spatial + 1 || input.dim() == spatial + 2, Runtime, op,
              ": expected a ", spatial + 1, "D or ", spatial + 2,
              "D (batch mode) input, but its shape is ", DimsView(input.sizes()), ".");
  for (int64_t d = may_be_empty; d < input.dim(); ++d)
    MSA_REQUIRE(input.size(d) > 0, Runtime, op, ": dimension ", d,
                " must not be empty, but the input's shape is ", DimsView(input.sizes()), ".");
}

void check_window_dims(const char* op, const Tensor& input, size_t spatial) {
  auto n = static_cast<int64_t>(spatial);
  check_dims(op, input, n, input.dim() - n - 1);
}

Pair max_pool(const char* op, const Tensor& input, const Dims& kernel, const Dims& stride,
              const Dims& padding, const Dims& dilation, bool ceil_mode) {
  check_window_dims(op, input, kernel.size());
  return ops::_max_pool(input, kernel, stride.empty() ? kernel : stride, padding, dilation,
                        ceil_mode);
}

Tensor avg_pool(const char* op, const Tensor& input, const Dims& kernel, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad, OptInt divisor) {
  check_window_dims(op, input, kernel.size());
  return ops::_avg_pool(input, kernel, stride.empty() ? kernel : stride, padding, ceil_mode,
                        count_include_pad, divisor);
}

Tensor adaptive_avg_pool(const char* op, const Tensor& input, const Dims& size) {
  auto spatial = static_cast<int64_t>(size.size());
  check_dims(op, input, spatial, spatial < 3 ? input.dim() - spatial : 1);
  const bool whole = std::all_of(size.begin(), size.end(), [](int64_t n) { return n == 1; });
  if (whole && is_floating(input.dtype())) {
    Dims last;
    for (int64_t d = -spatial; d < 0; ++d) last.push_back(d);
    return ops::mean_dim(input, last, true);
  }
  return ops::_adaptive_avg_pool(input, size);
}
Pair adaptive_max_pool(const char* op, const Tensor& input, const Dims& size) {
  check_dims(op, input, static_cast<int64_t>(size.size()), 1);
  return ops::_adaptive_max_pool(input, size);
}

}  // namespace

#define MSA_POOLS(n)                                                                           \
  Tensor max_pool##n(const Tensor& input, const Dims& kernel, const Dims& stride,              \
                     const Dims& padding, const Dims& dilation, bool ceil_mode) {              \
    return std::get<0>(                                                                        \
        max_pool("max_pool" #n, input, kernel, stride, padding, dilation, ceil_mode));         \
  }                                                                                            \
  Pair max_pool##n##_with_indices(const Tensor& input, const Dims& kernel, const Dims& stride, \
                                  const Dims& padding, const Dims& dilation, bool ceil_mode) { \
    return max_pool("max_pool" #n, input, kernel, stride, padding, dilation, ceil_mode);       \
  }                                                                                            \
  Tensor adaptive_avg_pool##n(const Tensor& input, const Dims& size) {                         \
    return adaptive_avg_pool("adaptive_avg_pool" #n, input, size);                             \
  }                                                                                            \
  Pair adaptive_max_pool##n(const Tensor& input, const Dims& size) {                           \
    return adaptive_max_pool("adaptive_max_pool" #n, input, size);                             \
  }
MSA_POOLS(1d)
MSA_POOLS(2d)
MSA_POOLS(3d)

Tensor avg_pool1d(const Tensor& input, const Dims& kernel, const Dims& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad) {
  return avg_pool("avg_pool1d", input, kernel, stride, padding, ceil_mode, count_include_pad, {});
}
Tensor avg_pool2d(const Tensor& input, const Dims& kernel, const Dims& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad, OptInt divisor_override) {
  return avg_pool("avg_pool2d", input, kernel, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}
Tensor avg_pool3d(const Tensor& input, const Dims& kernel, const Dims& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad, OptInt divisor_override) {
  return avg_pool("avg_pool3d", input, kernel, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}

}  // namespace msa::composed
