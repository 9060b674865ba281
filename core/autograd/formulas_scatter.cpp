// Gradients of reductions that scatter, and of the running log(sum(exp)).
#include "core/autograd/formulas.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_search.h"

namespace msa::formulas {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

Tensor number(double v) { return wrapped_number(Scalar(v)); }

// Elements equal to the result share its gradient.
Pair extreme_parts(const Tensor& grad, const Tensor& input, int64_t dim, const Tensor& index,
                   const Tensor& src, bool include_self, const Tensor& result) {
  Tensor chosen = ops::to_dtype(ops::eq(src, ops::gather(result, dim, index)), grad.dtype());
  Tensor own = ops::to_dtype(ops::eq(input, result), grad.dtype());
  if (!include_self) own = ops::scatter_value(own, dim, index, Scalar(int64_t{0}));
  Tensor share =
      ops::div(grad, ops::clamp_min(ops::scatter_add(own, dim, index, chosen), number(1)));
  return {ops::mul(share, own), ops::mul(ops::gather(share, dim, index), chosen)};
}

// Each factor's gradient is the product of the others; where exactly one factor is zero, only it
// has one.
Pair product_parts(const Tensor& grad, const Tensor& input, int64_t dim, const Tensor& index,
                   const Tensor& src, bool include_self, const Tensor& result) {
  auto product = [&](const Tensor& start, const Tensor& factors) {
    return ops::_scatter_fold(start, dim, index, factors, "prod", include_self);
  };
  Tensor own_zero = ops::eq(input, number(0)), zero = ops::eq(src, number(0));
  Tensor safe_input = ops::masked_fill(input, own_zero, number(1)),
         safe_src = ops::masked_fill(src, zero, number(1));
  Tensor to_input = ops::div(ops::mul(grad, product(safe_input, src)), safe_input);
  if (!include_self) to_input = ops::scatter_value(to_input, dim, index, Scalar(int64_t{0}));
  Tensor zeros =
      ops::scatter_add(ops::zeros_like(input), dim, index, ops::to_dtype(zero, input.dtype()));
  Tensor only = ops::logical_and(zero, ops::eq(ops::gather(zeros, dim, index), number(1)));
  Tensor others = ops::gather(ops::mul(grad, product(input, safe_src)), dim, index);
  Tensor plain = ops::div(ops::gather(ops::mul(grad, result), dim, index), safe_src);
  return {to_input, ops::where(only, others, plain)};
}

Pair sum_parts(const Tensor& grad, int64_t dim, const Tensor& index, bool include_self) {
  const Tensor own = include_self ? grad : ops::scatter_value(grad, dim, index, Scalar(int64_t{0}));
  return {own, ops::gather(grad, dim, index)};
}

}  // namespace

Pair scatter_fold_backward(const Tensor& grad, const Tensor& input, int64_t dim,
                           const Tensor& index, const Tensor& src, std::string_view reduce,
                           bool include_self, const Tensor& result, const std::array<bool, 2>&) {
  if (index.numel() == 0) return {grad, ops::zeros_like(src)};
  if (reduce == "sum") return sum_parts(grad, dim, index, include_self);
  return reduce == "prod" ? product_parts(grad, input, dim, index, src, include_self, result)
                          : extreme_parts(grad, input, dim, index, src, include_self, result);
}

// In logarithms, as exp would overflow; of real gradients the positive and the negative part apart.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                             int64_t dim) {
  if (input.dim() == 0 || input.numel() == 0) return grad;
  auto through = [&](const Tensor& log_grad) {
    Tensor weight = ops::flip(ops::sub(log_grad, result), {dim});
    return ops::exp(ops::add(ops::flip(ops::logcumsumexp(weight, dim), {dim}), input));
  };
  if (is_complex(grad.dtype())) return ops::conj(through(ops::log(ops::conj(grad))));
  // Far below any logarithm yet finite: -inf would make the gradient's own gradient NaN.
  Tensor nothing = number(grad.dtype() == DType::F16 ? -6e4 : -3e38);
  auto part = [&](const Tensor& signed_grad) {
    Tensor counts = ops::gt(signed_grad, number(0));
    Tensor log_grad = ops::log(ops::where(counts, signed_grad, number(1)));
    return through(ops::where(counts, log_grad, nothing));
  };
  return ops::sub(part(grad), part(ops::neg(grad)));
}

}  // namespace msa::formulas
