// Gradients of reductions and scans.
#include "core/autograd/formulas.h"
#include "core/rules/rules.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::formulas {
namespace {

Tensor number(double v) { return wrapped_number(Scalar(v)); }

// A reduction's result seen with the reduced dimensions as 1, so that it broadcasts over the input.
Tensor restored(const Tensor& t, int64_t ndim, const OptDims& dim, bool keepdim) {
  if (keepdim || t.dim() == ndim) return t;
  Tensor out = t;
  for (int64_t d : reduced_dims("backward", dim, ndim)) out = ops::unsqueeze(out, d);
  return out;
}

// Elements behind each result.
int64_t reduced_numel(const Dims& sizes, const OptDims& dim) {
  int64_t n = 1;
  for (int64_t d : reduced_dims("backward", dim, static_cast<int64_t>(sizes.size()))) n *= sizes[d];
  return n;
}

}  // namespace

Tensor mean_backward(const Tensor& grad, const Dims& sizes, const OptDims& dim, bool keepdim) {
  return ops::div(spread(grad, sizes, dim, keepdim),
                  number(static_cast<double>(reduced_numel(sizes, dim))));
}

Tensor prod_backward(const Tensor& grad, const Tensor& input) {
  return ops::view_as(prod_dim_backward(grad, ops::reshape(input, {-1}), 0, false), input);
}

// The product of all others, as what comes before times what comes after: right with zeros too.
Tensor prod_dim_backward(const Tensor& grad, const Tensor& input, int64_t dim, bool keepdim) {
  if (input.dim() == 0) return grad;
  int64_t d = wrap_dim(dim, input.dim()), n = input.sizes()[d];
  if (n == 0) return ops::zeros_like(input);
  Tensor one = ops::ones_like(ops::narrow(input, d, 0, 1));
  Tensor before = ops::cumprod(ops::cat({one, ops::narrow(input, d, 0, n - 1)}, d), d);
  Tensor turned = ops::flip(ops::narrow(input, d, 1, n - 1), {d});
  Tensor after = ops::flip(ops::cumprod(ops::cat({one, turned}, d), d), {d});
  return ops::mul(restored(grad, input.dim(), Dims{d}, keepdim),
                  ops::conj(ops::mul(before, after)));
}

Tensor extreme_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                        const OptDims& dim, bool keepdim) {
  Tensor value = restored(result, input.dim(), dim, keepdim);
  Tensor chosen = ops::logical_or(ops::eq(input, value),
                                  ops::logical_and(ops::isnan(input), ops::isnan(value)));
  Tensor count = ops::sum_dim(chosen, dim, true);
  if (input.dim() == 0) return grad;
  return ops::where(chosen, ops::div(restored(grad, input.dim(), dim, keepdim), count), number(0));
}

Tensor value_selecting_backward(const Tensor& grad, const Dims& sizes, const Tensor& indices,
                                int64_t dim, bool keepdim) {
  if (sizes.empty()) return grad;
  auto ndim = static_cast<int64_t>(sizes.size());
  Tensor g = restored(grad, ndim, Dims{dim}, keepdim),
         at = restored(indices, ndim, Dims{dim}, keepdim);
  return ops::scatter_src(ops::zeros(sizes, grad.dtype(), grad.device()), dim, at, g);
}

Tensor var_backward(const Tensor& grad, const Tensor& input, const OptDims& dim, double correction,
                    bool keepdim) {
  double divisor = static_cast<double>(reduced_numel(input.sizes(), dim)) - correction;
  Tensor apart = ops::sub(input, ops::mean_dim(input, dim, true));
  return ops::mul(ops::mul(restored(grad, input.dim(), dim, keepdim),
                           number(2 / (divisor > 0 ? divisor : 0.0))),
                  apart);
}

Tensor std_backward(const Tensor& grad, const Tensor& result, const Tensor& input,
                    const OptDims& dim, double correction, bool keepdim) {
  Tensor scaled_grad = ops::div(grad, ops::mul(result, number(2)));
  Tensor safe = ops::masked_fill(scaled_grad, ops::eq(result, number(0)), number(0));
  return var_backward(safe, input, dim, correction, keepdim);
}

namespace {
Tensor with_mean(const Tensor& first, const Tensor& mean_grad, const Tensor& input,
                 const OptDims& dim, bool keepdim) {
  if (!mean_grad.defined()) return first;
  Tensor g = mean_backward(mean_grad, input.sizes(), dim, keepdim);
  return first.defined() ? ops::add(first, g) : g;
}
}  // namespace

Tensor var_mean_backward(const Grads& grads, const Tensor& input, const OptDims& dim,
                         double correction, bool keepdim) {
  Tensor first;
  if (grads[0].defined()) first = var_backward(grads[0], input, dim, correction, keepdim);
  return with_mean(first, grads[1], input, dim, keepdim);
}

Tensor std_mean_backward(const Grads& grads, const Tensor& std, const Tensor& input,
                         const OptDims& dim, double correction, bool keepdim) {
  Tensor first;
  if (grads[0].defined()) first = std_backward(grads[0], std, input, dim, correction, keepdim);
  return with_mean(first, grads[1], input, dim, keepdim);
}

// d|x|_p = sign(x) (|x| / norm)^(p-1), 0 where the norm is 0.
Tensor vector_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                            double ord, const OptDims& dim, bool keepdim) {
  if (ord == 0) return ops::zeros_like(input);
  Tensor g = restored(grad, input.dim(), dim, keepdim),
         norm = restored(result, input.dim(), dim, keepdim);
  Tensor none = ops::eq(norm, number(0)), slope;
  if (ord == 1) return ops::mul(g, ops::sgn(input));
  if (ord == 2) {
    slope = ops::div(input, norm);
  } else {
    Tensor ratio = ops::pow(ops::div(ops::abs(input), norm), number(ord - 1));
    slope =
        ops::mul(ops::sgn(input),
                 ord < 1 ? ops::masked_fill(ratio, ops::eq(input, number(0)), number(0)) : ratio);
  }
  return ops::mul(g, ops::masked_fill(slope, none, number(0)));
}

Tensor cumsum_backward(const Tensor& grad, int64_t dim) {
  if (grad.dim() == 0) return grad;
  return ops::flip(ops::cumsum(ops::flip(grad, {dim}), dim), {dim});
}

// Each position's gradient goes to the element that was the best there.
Tensor running_best_backward(const Tensor& grad, const Dims& sizes, const Tensor& indices,
                             int64_t dim) {
  if (sizes.empty()) return grad;
  return ops::scatter_add(ops::zeros(sizes, grad.dtype(), grad.device()), dim, indices, grad);
}

// Where no element is zero, sums of grad * result from each position on, divided by the input; with
// zeros, position by position.
Tensor cumprod_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                        int64_t dim) {
  if (input.dim() == 0 || input.numel() == 0) return grad;
  bool zeros = load_scalar(DType::Bool, ops::any(ops::eq(input, number(0))).data()).to<bool>();
  if (!zeros)
    return ops::div(cumsum_backward(ops::mul(grad, ops::conj(result)), dim), ops::conj(input));
  int64_t d = wrap_dim(dim, input.dim()), n = input.sizes()[d];
  TensorList parts;
  Tensor before = ops::ones_like(ops::narrow(input, d, 0, 1));
  for (int64_t k = 0; k < n; ++k) {
    // What follows k, as running products that leave k out.
    Tensor others = ops::cumprod(ops::cat({before, ops::narrow(input, d, k + 1, n - k - 1)}, d), d);
    parts.push_back(
        ops::sum_dim(ops::mul(ops::narrow(grad, d, k, n - k), ops::conj(others)), Dims{d}, true));
    before = ops::mul(before, ops::narrow(input, d, k, 1));
  }
  return ops::cat(parts, d);
}

}  // namespace msa::formulas
