// Sorting and shifting operators composed of others.
#include "generated/composed_order.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_order.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {

Tensor argsort_stable(const Tensor& input, bool stable, int64_t dim, bool descending) {
  return std::get<1>(ops::sort_stable(input, stable, dim, descending));
}
Tensor argsort(const Tensor& input, int64_t dim, bool descending) {
  return argsort_stable(input, false, dim, descending);
}

Tensor msort(const Tensor& input) { return std::get<0>(ops::sort(input, 0)); }

Tensor fliplr(const Tensor& input) {
  MSA_REQUIRE(input.dim() >= 2, Runtime, "fliplr: Input must be >= 2-d, got ", input);
  return ops::flip(input, {1});
}
Tensor flipud(const Tensor& input) {
  MSA_REQUIRE(input.dim() >= 1, Runtime, "flipud: Input must be >= 1-d, got ", input);
  return ops::flip(input, {0});
}

Tensor roll(const Tensor& input, const Dims& shifts, const Dims& dims) {
  if (dims.empty()) {
    MSA_REQUIRE(shifts.size() == 1, Runtime,
                "roll: shifts and dimensions must align. shifts: ", shifts.size(), ", dims: 0");
    return ops::view_as(roll(ops::reshape(input, {-1}), shifts, Dims{0}), input);
  }
  MSA_REQUIRE(shifts.size() == dims.size(), Runtime,
              "roll: shifts and dimensions must align. shifts: ", shifts.size(),
              ", dims: ", dims.size());
  if (input.numel() == 0) return ops::clone(input);
  Tensor out = input;
  for (int64_t dim : dims) {
    MSA_REQUIRE(input.dim() > 0, Index, "roll: Dimension specified as ", dim,
                " but tensor has no dimensions");
    wrap_dim(dim, input.dim());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t n = out.size(dims[i]), shift = ((shifts[i] % n) + n) % n;
    out = ops::cat(
        {ops::narrow(out, dims[i], n - shift, shift), ops::narrow(out, dims[i], 0, n - shift)},
        dims[i]);
  }
  return out;
}

}  // namespace msa::composed
