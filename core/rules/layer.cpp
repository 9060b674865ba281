// Rules of grid sampling, of ctc_loss and of distances between rows.
#include "generated/rules_layer.h"
#include "generated/rules_loss.h"

namespace msa::rules {

OutSpec mix_bytes(const Tensor& input, int64_t dim, const Tensor& first, const Tensor&, int64_t) {
  Dims sizes = input.sizes();
  sizes[static_cast<size_t>(dim)] = first.size(0);
  return {sizes, input.dtype()};
}

OutSpec grid_sampler(const Tensor& input, const Tensor& grid, int64_t, int64_t, bool) {
  Dims sizes{input.size(0), input.size(1)};
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) sizes.push_back(grid.size(d));
  return {sizes, input.dtype()};
}

std::array<OutSpec, 2> grid_sampler_backward(const Tensor&, const Tensor& input, const Tensor& grid,
                                             int64_t, int64_t, bool) {
  return {OutSpec{input.sizes(), input.dtype()}, OutSpec{grid.sizes(), grid.dtype()}};
}

std::array<OutSpec, 2> ctc_loss(const Tensor& log_probs, const Tensor& labels, const Tensor&,
                                const Tensor&, bool) {
  const int64_t batch = log_probs.size(1);
  return {OutSpec{{batch}, log_probs.dtype()},
          OutSpec{{batch, log_probs.size(0), labels.size(1)}, log_probs.dtype()}};
}

OutSpec pdist(const Tensor& input, double) {
  const int64_t n = input.size(0);
  return {{n * (n - 1) / 2}, input.dtype()};
}

}  // namespace msa::rules
