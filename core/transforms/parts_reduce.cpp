// Reductions over everything and draws of noise, by the parts that vmap knows.
#include "generated/batched_random.h"
#include "generated/batched_reduce.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_random.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"

namespace msa::batched {
namespace {

Tensor flat(const Tensor& t) { return ops::reshape(t, {-1}); }

using WithIndices = std::tuple<Tensor, Tensor> (*)(const Tensor&, int64_t, bool);
Tensor place_of(WithIndices extreme, const Tensor& input, OptInt dim, bool keepdim) {
  if (dim) return std::get<1>(extreme(input, *dim, keepdim));
  const Tensor place = std::get<1>(extreme(flat(input), 0, false));
  return keepdim ? ops::reshape(place, Dims(static_cast<size_t>(input.dim()), 1)) : place;
}

}  // namespace

Tensor sum(const Tensor& input, OptDType dtype) {
  return ops::sum_dim(flat(input), Dims{0}, false, dtype);
}
Tensor mean(const Tensor& input, OptDType dtype) {
  return ops::mean_dim(flat(input), Dims{0}, false, dtype);
}
Tensor prod(const Tensor& input, OptDType dtype) {
  return ops::prod_dim_int(flat(input), 0, false, dtype);
}
Tensor any(const Tensor& input) { return ops::any_dim(flat(input), Dims{0}); }
Tensor all(const Tensor& input) { return ops::all_dim(flat(input), Dims{0}); }
Tensor max(const Tensor& input) { return ops::amax(flat(input), {0}); }
Tensor min(const Tensor& input) { return ops::amin(flat(input), {0}); }
Tensor argmax(const Tensor& input, OptInt dim, bool keepdim) {
  return place_of(&ops::max_dim, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, OptInt dim, bool keepdim) {
  return place_of(&ops::min_dim, input, dim, keepdim);
}

Tensor _dropout(const Tensor& input, double p) {
  const Tensor kept = ops::bernoulli_p(ops::empty_like(input), 1 - p);
  if (p == 1) return ops::mul(input, kept);
  return ops::mul(input, ops::div(kept, wrapped_number(Scalar(1 - p))));
}

Tensor _rrelu(const Tensor& input, const Scalar& lower, const Scalar& upper,
              OptGenerator generator) {
  Tensor slope = ops::empty_like(input);
  ops::uniform_(slope, lower.to_double(), upper.to_double(), generator);
  const Tensor negative = ops::le(input, wrapped_number(Scalar(0)));
  return ops::where(negative, ops::mul(input, slope), input);
}

}  // namespace msa::batched
