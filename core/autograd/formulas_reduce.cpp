// Gradients of reductions and scans.
#include <cmath>

#include "core/autograd/formulas.h"
#include "core/dispatch/host.h"
#include "core/rules/rules.h"
#include "core/transforms/batched.h"
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

namespace {

bool has_zeros(const Tensor& t) {
  const Tensor found = ops::any(ops::eq(t, number(0)));
  if (is_batched(found)) return true;  // of other examples perhaps: what follows serves all
  const Tensor here = in_host(found);
  return load_scalar(DType::Bool, here.data()).to<bool>();
}

}  // namespace

Tensor prod_backward(const Tensor& grad, const Tensor& input, const Tensor& result) {
  return ops::view_as(prod_dim_backward(grad, ops::reshape(input, {-1}), result, 0, false), input);
}

// The product of all others: by division, or where a factor is zero as what comes before times what
// comes after.
Tensor prod_dim_backward(const Tensor& grad, const Tensor& input, const Tensor& result, int64_t dim,
                         bool keepdim) {
  if (input.dim() == 0) return grad;
  int64_t d = wrap_dim(dim, input.dim()), n = input.sizes()[d];
  if (n == 0) return ops::zeros_like(input);
  const auto wide = [&](const Tensor& t) { return restored(t, input.dim(), Dims{d}, keepdim); };
  if (!has_zeros(input)) return ops::mul(wide(grad), ops::conj(ops::div(wide(result), input)));
  Tensor one = ops::ones_like(ops::narrow(input, d, 0, 1));
  Tensor before = ops::cumprod(ops::cat({one, ops::narrow(input, d, 0, n - 1)}, d), d);
  Tensor turned = ops::flip(ops::narrow(input, d, 1, n - 1), {d});
  Tensor after = ops::flip(ops::cumprod(ops::cat({one, turned}, d), d), {d});
  return ops::mul(wide(grad), ops::conj(ops::mul(before, after)));
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
  return ops::scatter_src(blank(sizes, grad), dim, at, g);
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

// d|x|_p = sign(x) (|x| / norm)^(p-1), 0 where the norm is 0; of the largest, equal ones share.
Tensor vector_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                            double ord, const OptDims& dim, bool keepdim) {
  if (ord == 0) return ops::zeros_like(input);
  const Tensor g = restored(grad, input.dim(), dim, keepdim),
               norm = restored(result, input.dim(), dim, keepdim);
  if (ord == 1) return ops::mul(ops::sgn(input), g);
  const auto masked = [](const Tensor& t, const Tensor& of) {
    return ops::masked_fill(t, ops::eq(of, number(0)), number(0));
  };
  if (ord == 2) return ops::mul(g, masked(ops::div(input, norm), norm));
  const Tensor size = ops::abs(input);
  if (std::isinf(ord)) {
    const Tensor chosen = ops::logical_or(ops::eq(size, norm), ops::isnan(size));
    const Tensor share = ops::div(g, ops::sum_dim(chosen, dim, true));
    return ops::mul(ops::sgn(input), ops::mul(share, chosen));
  }
  const auto power = [](const Tensor& t, double p) { return ops::pow(t, number(p)); };
  if (ord < 1) {
    const Tensor scaled = masked(ops::mul(ops::sgn(input), power(size, ord - 1)), input);
    return ops::mul(ops::mul(scaled, g), power(norm, 1 - ord));
  }
  const Tensor scale = masked(ops::div(g, power(norm, ord - 1)), norm);
  if (ord < 2) return ops::mul(ops::mul(ops::sgn(input), power(size, ord - 1)), scale);
  return ops::mul(ops::mul(input, power(size, ord - 2)), scale);
}

// Slices that were scaled by maxnorm / norm: the factor's own gradient goes through the norm.
Tensor renorm_backward(const Tensor& grad, const Tensor& input, const Scalar& p, int64_t dim,
                       const Scalar& maxnorm) {
  const DType real = to_real(opmath(input.dtype()));
  Dims others;
  for (int64_t d = 0; d < input.dim(); ++d)
    if (d != wrap_dim(dim, input.dim())) others.push_back(d);
  const Tensor norm = ops::vector_norm(input, p, others, true, opmath(input.dtype()));
  Tensor along = ops::mul(ops::conj(input), grad);
  if (is_complex(along.dtype())) along = ops::real(along);
  along = ops::sum_dim(along, others, true, real);
  const Tensor of_norm = vector_norm_backward(along, input, norm, p.to_double(), others, true);
  const Tensor inverse = ops::reciprocal(ops::add(norm, number(1e-7)));
  const Tensor scaled = ops::mul(ops::mul(inverse, wrapped_number(maxnorm)),
                                 ops::sub(grad, ops::mul(inverse, of_norm)));
  return ops::where(ops::gt(norm, wrapped_number(maxnorm)), ops::to_dtype(scaled, grad.dtype()),
                    grad);
}

Tensor cumsum_backward(const Tensor& grad, int64_t dim) {
  if (grad.dim() == 0) return grad;
  return ops::flip(ops::cumsum(ops::flip(grad, {dim}), dim), {dim});
}

// Each position's gradient goes to the element that was the best there.
Tensor running_best_backward(const Tensor& grad, const Dims& sizes, const Tensor& indices,
                             int64_t dim) {
  if (sizes.empty()) return grad;
  return ops::scatter_add(blank(sizes, grad), dim, indices, grad);
}

namespace {

// Up to the first zero, sums of grad * result from each position on, divided by the input; at the
// zero, its gradient times what follows it up to the next one; behind, nothing.
Tensor cumprod_backward_with_zeros(const Tensor& grad, const Tensor& input, const Tensor& result,
                                   int64_t dim) {
  const Tensor zeros = ops::cumsum(ops::eq(input, number(0)), dim);
  const Tensor none = number(0), before = ops::eq(zeros, none), within = ops::eq(zeros, number(1));
  const Tensor product = ops::masked_fill(ops::mul(grad, result), ops::logical_not(before), none);
  const Tensor at_first = ops::logical_and(within, ops::eq(input, none));
  const Tensor factors =
      ops::masked_fill(input, ops::logical_or(at_first, ops::logical_not(within)), number(1));
  const Tensor later =
      ops::masked_fill(ops::mul(ops::cumprod(factors, dim), grad), ops::logical_not(within), none);
  const int64_t n = input.size(dim);
  const Tensor one = ops::ones_like(ops::narrow(result, dim, 0, 1));
  const Tensor earlier = ops::cat({one, ops::narrow(result, dim, 0, n - 1)}, dim);
  const Tensor of_first = ops::mul(ops::sum_dim(later, Dims{dim}, true), earlier);
  return ops::where(before, ops::div(cumsum_backward(product, dim), input),
                    ops::where(at_first, of_first, none));
}

// The same position by position, which can be differentiated again.
Tensor cumprod_backward_by_position(const Tensor& grad, const Tensor& input, int64_t d) {
  const int64_t n = input.size(d);
  TensorList parts;
  Tensor before = ops::ones_like(ops::narrow(input, d, 0, 1));
  for (int64_t k = 0; k < n; ++k) {
    // What follows k, as running products that leave k out.
    Tensor others = ops::cumprod(ops::cat({before, ops::narrow(input, d, k + 1, n - k - 1)}, d), d);
    parts.push_back(ops::sum_dim(ops::mul(ops::narrow(grad, d, k, n - k), others), Dims{d}, true));
    before = ops::mul(before, ops::narrow(input, d, k, 1));
  }
  return ops::cat(parts, d);
}

}  // namespace

Tensor cumprod_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                        int64_t dim) {
  if (input.dim() == 0 || input.numel() == 0) return grad;
  const Tensor x = ops::conj(input), y = ops::conj(result);
  const int64_t d = wrap_dim(dim, input.dim());
  if (!has_zeros(input)) return ops::div(cumsum_backward(ops::mul(grad, y), d), x);
  return thread_state.grad_enabled ? cumprod_backward_by_position(grad, x, d)
                                   : cumprod_backward_with_zeros(grad, x, y, d);
}

}  // namespace msa::formulas
