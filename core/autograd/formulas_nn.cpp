// Gradients of matrix products, convolutions, normalisations and losses, built from registered rows.
#include "core/autograd/formulas.h"
#include "generated/ops.h"

namespace msa::formulas {
namespace {

Tensor turned(const Tensor& t) { return ops::conj(ops::transpose(t, -2, -1)); }

// (..., n, k) as (N, k).
Tensor as_matrix(const Tensor& t) { return ops::reshape(t, {-1, t.size(-1)}); }

// The second factor's gradient where it is one matrix for a whole batch: one product over all rows.
Tensor shared_factor_gradient(const Tensor& grad, const Tensor& a) {
  return ops::mm(turned(as_matrix(a)), as_matrix(grad));
}

}  // namespace

std::tuple<Tensor, Tensor> matmul_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                                           const std::array<bool, 2>& needs) {
  // Vectors take part as the matrices they stand for.
  const Tensor left = a.dim() == 1 ? ops::unsqueeze(a, 0) : a, right = b.dim() == 1 ? ops::unsqueeze(b, 1) : b;
  Tensor g = b.dim() == 1 ? ops::unsqueeze(grad, -1) : grad;
  if (a.dim() == 1) g = ops::unsqueeze(g, -2);
  Tensor of_a, of_b;
  if (needs[0]) {
    of_a = reduce_to(ops::matmul(g, turned(right)), left.sizes(), grad.dtype());
    if (a.dim() == 1) of_a = ops::reshape(of_a, a.sizes());
  }
  if (needs[1]) {
    of_b = left.dim() > 2 && right.dim() == 2 ? shared_factor_gradient(g, left)
                                              : reduce_to(ops::matmul(turned(left), g), right.sizes(), grad.dtype());
    if (b.dim() == 1) of_b = ops::reshape(of_b, b.sizes());
  }
  return {of_a, of_b};
}

std::tuple<Tensor, Tensor> scaled_matmul_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                                                  const Scalar& alpha, const std::array<bool, 2>& needs) {
  return matmul_backward(scaled(grad, conj_scalar(alpha)), a, b, needs);
}

std::tuple<Tensor, Tensor> linear_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                           const std::array<bool, 2>& needs) {
  if (weight.dim() == 1) return matmul_backward(grad, input, weight, needs);
  Tensor of_input, of_weight;
  if (needs[0]) of_input = ops::matmul(grad, ops::conj(weight));
  if (needs[1]) of_weight = ops::mm(ops::t(as_matrix(grad)), ops::conj(as_matrix(input)));
  return {of_input, of_weight};
}

Tensor sum_to_channels(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return ops::sum_dim(grad, dims, false);
}

}  // namespace msa::formulas
