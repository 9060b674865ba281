// Gradients of matrix products, convolutions, normalisations and losses, built from registered
// rows.
#include <limits>

#include "core/autograd/formulas.h"
#include "core/dispatch/thread_state.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_layer.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::formulas {
namespace {

Tensor turned(const Tensor& t) { return ops::conj(ops::transpose(t, -2, -1)); }

// (..., n, k) as (N, k).
Tensor as_matrix(const Tensor& t) {
  return ops::reshape(
      t, {product(DimsView(t.sizes()).first(static_cast<size_t>(t.dim()) - 1)), t.size(-1)});
}

// The second factor's gradient where it is one matrix for a whole batch: one product over all rows.
Tensor shared_factor_gradient(const Tensor& grad, const Tensor& a) {
  return ops::mm(turned(as_matrix(a)), as_matrix(grad));
}

// The first factor's gradient where that is one matrix for a whole batch.
Tensor shared_first_gradient(const Tensor& grad, const Tensor& b) {
  const int64_t last = grad.dim() - 1;
  Dims rows_first{last - 1};
  for (int64_t d = 0; d < last - 1; ++d) rows_first.push_back(d);
  rows_first.push_back(last);
  const int64_t columns = product(DimsView(grad.sizes()).first(static_cast<size_t>(last - 1)));
  const Tensor rows =
      ops::reshape(ops::permute(grad, rows_first), {grad.size(-2), columns * grad.size(-1)});
  return ops::mm(rows, as_matrix(turned(b)));
}

}  // namespace

std::tuple<Tensor, Tensor> matmul_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                                           const std::array<bool, 2>& needs) {
  // Vectors take part as the matrices they stand for.
  const Tensor left = a.dim() == 1 ? ops::unsqueeze(a, 0) : a,
               right = b.dim() == 1 ? ops::unsqueeze(b, 1) : b;
  Tensor g = b.dim() == 1 ? ops::unsqueeze(grad, -1) : grad;
  if (a.dim() == 1) g = ops::unsqueeze(g, -2);
  // With a vector the other's gradient is an outer product, which needs no sums.
  const auto product = [](bool outer, const Tensor& x, const Tensor& y) {
    return outer ? ops::mul(x, y) : ops::matmul(x, y);
  };
  Tensor of_a, of_b;
  if (needs[0]) {
    of_a = left.dim() == 2 && right.dim() > 2
               ? shared_first_gradient(g, right)
               : reduce_to(product(b.dim() == 1, g, turned(right)), left.sizes(), grad.dtype());
    if (a.dim() == 1) of_a = ops::reshape(of_a, a.sizes());
  }
  if (needs[1]) {
    of_b = left.dim() > 2 && right.dim() == 2
               ? shared_factor_gradient(g, left)
               : reduce_to(product(a.dim() == 1, turned(left), g), right.sizes(), grad.dtype());
    if (b.dim() == 1) of_b = ops::reshape(of_b, b.sizes());
  }
  return {of_a, of_b};
}

std::tuple<Tensor, Tensor> scaled_matmul_backward(const Tensor& grad, const Tensor& a,
                                                  const Tensor& b, const Scalar& alpha,
                                                  const std::array<bool, 2>& needs) {
  // Scaled last, as PyTorch does it: half types round in between.
  auto [of_a, of_b] = matmul_backward(grad, a, b, needs);
  if (of_a.defined()) of_a = scaled(of_a, conj_scalar(alpha));
  if (of_b.defined()) of_b = scaled(of_b, conj_scalar(alpha));
  return {of_a, of_b};
}

std::tuple<Tensor, Tensor> linear_backward(const Tensor& grad, const Tensor& input,
                                           const Tensor& weight, const std::array<bool, 2>& needs) {
  if (weight.dim() == 1) return matmul_backward(grad, input, weight, needs);
  Tensor of_input, of_weight;
  if (needs[0]) of_input = ops::matmul(grad, ops::conj(weight));
  if (needs[1]) of_weight = ops::mm(ops::t(as_matrix(grad)), ops::conj(as_matrix(input)));
  return {of_input, of_weight};
}

// Halves keep the gate itself, and round the gate's own gradient once.
Tensor glu_backward(const Tensor& grad, const Tensor& input, int64_t dim) {
  const int64_t size = input.size(dim) / 2;
  const Tensor gate = ops::sigmoid(ops::narrow(input, dim, size, size));
  const Tensor of_gate = ops::_gate_slope(grad, ops::narrow(input, dim, 0, size), gate);
  return ops::cat({ops::mul(gate, grad), of_gate}, dim);
}

Tensor sum_to_channels(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return ops::sum_dim(grad, dims, false);
}

Tensor conv_of_size(const Tensor& input, const Tensor& weight, const Dims& sizes,
                    const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  Tensor out = ops::_conv(input, weight, Tensor(), stride, padding, dilation, groups);
  for (size_t d = 2; d < sizes.size(); ++d) {
    if (out.sizes()[d] != sizes[d]) out = ops::narrow(out, static_cast<int64_t>(d), 0, sizes[d]);
  }
  return out;
}

// --- normalisation ------------------------------------------------------------------------------
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor mean_over(const Tensor& t, const Dims& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= t.size(d);
  return ops::div(ops::sum_dim(t, dims, true), wrapped_number(Scalar(static_cast<double>(count))));
}

// The input centred and scaled, as a function of the input that can be differentiated.
struct Normalised {
  Tensor value, invstd;
};
Normalised normalised(const Tensor& input, const Dims& over, double eps) {
  const Tensor centred = ops::sub(input, mean_over(input, over));
  const Tensor variance = mean_over(ops::mul(centred, centred), over);
  const Tensor invstd = ops::rsqrt(ops::add(variance, wrapped_number(Scalar(eps))));
  return {ops::mul(centred, invstd), invstd};
}

// The gradient through x -> (x - mean(x)) * invstd(x).
Tensor through_statistics(const Tensor& grad, const Normalised& n, const Dims& over) {
  const Tensor away = ops::sub(grad, mean_over(grad, over));
  return ops::mul(ops::sub(away, ops::mul(n.value, mean_over(ops::mul(grad, n.value), over))),
                  n.invstd);
}

// What a kernel row gave, with only the wanted ones left and dtypes as the inputs'.
Three wanted(Three all, const std::array<bool, 3>& needs) {
  if (!needs[0]) std::get<0>(all) = Tensor();
  if (!needs[1]) std::get<1>(all) = Tensor();
  if (!needs[2]) std::get<2>(all) = Tensor();
  return all;
}

}  // namespace

Three batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                          const Tensor& mean, const Tensor& invstd, bool training, double eps,
                          const std::array<bool, 3>& needs) {
  if (!thread_state.grad_enabled)
    return wanted(ops::_batch_norm_backward(grad, input, weight, mean, invstd, training), needs);
  Dims over{0}, column(static_cast<size_t>(input.dim()) - 1, 1);
  for (int64_t d = 2; d < input.dim(); ++d) over.push_back(d);
  column[0] = input.size(1);
  const Tensor scale = ops::view(invstd, column);
  const Normalised n =
      training ? normalised(input, over, eps)
               : Normalised{ops::mul(ops::sub(input, ops::view(mean, column)), scale), scale};
  const Tensor g = weight.defined() ? ops::mul(grad, ops::view(weight, column)) : grad;
  return wanted({training ? through_statistics(g, n, over) : ops::mul(g, scale),
                 ops::sum_dim(ops::mul(grad, n.value), over), ops::sum_dim(grad, over)},
                needs);
}

Three layer_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                          const Tensor& mean, const Tensor& rstd, const Dims& shape, double eps,
                          const std::array<bool, 3>& needs) {
  if (!thread_state.grad_enabled)
    return wanted(ops::_layer_norm_backward(grad, input, weight, mean, rstd, shape), needs);
  const int64_t rows = input.dim() - static_cast<int64_t>(shape.size());
  Dims over, rest;
  for (int64_t d = 0; d < input.dim(); ++d) (d < rows ? rest : over).push_back(d);
  const Normalised n = normalised(input, over, eps);
  const Tensor of_input =
      through_statistics(weight.defined() ? ops::mul(grad, weight) : grad, n, over);
  const auto summed = [&](const Tensor& t) { return rest.empty() ? t : ops::sum_dim(t, rest); };
  return wanted({of_input, summed(ops::mul(grad, n.value)), summed(grad)}, needs);
}

Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                                 bool scaled) {
  MSA_REQUIRE(!scaled, NotImplemented,
              "embedding: second derivatives with scale_grad_by_freq=True are not supported yet.");
  const Tensor rows = ops::embedding(grad, indices);
  if (padding_idx < 0) return rows;
  const Tensor padding = ops::eq(indices, wrapped_number(Scalar(padding_idx)));
  return ops::masked_fill(rows, ops::unsqueeze(padding, -1), wrapped_number(Scalar(0)));
}

// --- attention ----------------------------------------------------------------------------------
Tensor causal_mask(const Tensor& query, const Tensor& key) {
  const Device device = query.device();
  const Tensor rows = ops::arange(Scalar(query.size(-2)), DType::I64, device);
  return ops::le(ops::arange(Scalar(key.size(-2)), DType::I64, device), ops::unsqueeze(rows, 1));
}

Three attention_backward(const Tensor& grad, const Tensor& query, const Tensor& key,
                         const Tensor& value, bool is_causal, double scale,
                         const std::array<bool, 3>& needs) {
  const Tensor factor = wrapped_number(Scalar(scale));
  Tensor scores = ops::mul(ops::matmul(query, ops::transpose(key, -2, -1)), factor);
  if (is_causal) {
    const Tensor lowest = wrapped_number(Scalar(-std::numeric_limits<double>::infinity()));
    scores = ops::masked_fill(scores, ops::logical_not(causal_mask(query, key)), lowest);
  }
  const Tensor weights = ops::softmax(scores, -1);
  const Tensor of_weights = ops::matmul(grad, ops::transpose(value, -2, -1));
  const Tensor of_scores = ops::mul(ops::_softmax_backward(of_weights, weights, -1), factor);
  return wanted({needs[0] ? ops::matmul(of_scores, key) : Tensor(),
                 needs[1] ? ops::matmul(ops::transpose(of_scores, -2, -1), query) : Tensor(),
                 needs[2] ? ops::matmul(ops::transpose(weights, -2, -1), grad) : Tensor()},
                needs);
}

Tensor im2col_backward(const Tensor& grad, const Dims& sizes, const Dims& kernel_size,
                       const Dims& dilation, const Dims& padding, const Dims& stride) {
  const Dims image{sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
  return ops::col2im(grad, image, kernel_size, dilation, padding, stride);
}

}  // namespace msa::formulas
