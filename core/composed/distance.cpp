// Distances and similarities of vectors, from differences and norms.
#include "core/composed/values.h"
#include "core/dispatch/elementwise.h"
#include "generated/composed_loss.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_loss.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

Tensor norm(const Tensor& t, double p, int64_t dim, bool keepdim) {
  return ops::vector_norm(t, p, Dims{dim}, keepdim);
}

}  // namespace

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const int64_t last = std::max<int64_t>({x1.dim(), x2.dim(), 1}) - 1;
  return norm(ops::add(ops::sub(x1, x2), number(eps)), p, last, keepdim);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const Tensor* both[] = {&x1, &x2};
  const DType common = result_type(both);
  MSA_REQUIRE(is_inexact(common), Runtime,
              "cosine_similarity: expected a floating-point dtype, but got ", x1.dtype(), " and ",
              x2.dtype(), ".");
  const Dims sizes = broadcast_sizes("cosine_similarity", x1.sizes(), x2.sizes());
  const auto direction = [&](const Tensor& t) {
    const Tensor x = ops::expand(ops::to_dtype(t, common), sizes);
    return ops::div(x, ops::clamp_min(norm(x, 2, dim, true), number(eps)));
  };
  return ops::sum_dim(ops::mul(direction(x1), direction(x2)), Dims{dim});
}

Tensor pdist(const Tensor& input, double p) {
  MSA_REQUIRE(input.dim() == 2, Runtime,
              "pdist: only supports 2D tensors, but the input's shape is ", DimsView(input.sizes()),
              ".");
  MSA_REQUIRE(is_floating(input.dtype()), Runtime,
              "pdist: only supports floating-point dtypes, but got ", input.dtype(), ".");
  MSA_REQUIRE(p >= 0, Runtime, "pdist: only supports non-negative p values, but got ", p, ".");
  return ops::_pdist(input, p);
}

}  // namespace msa::composed
