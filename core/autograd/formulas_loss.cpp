// Gradients of losses, scaled where PyTorch scales them: half types show the difference.
#include "core/autograd/formulas.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_special.h"

namespace msa::formulas {
namespace {

constexpr int64_t kMean = 1;  // of the reductions; 0 is none, 2 the sum

Tensor number(double v) { return wrapped_number(Scalar(v)); }

// The elements' gradients, weighed, and divided where the loss is their mean.
Tensor weighed(const Tensor& each, const Tensor& weight, int64_t reduction) {
  const Tensor all = weight.defined() ? ops::mul(each, weight) : each;
  return reduction == kMean ? ops::div(all, number(static_cast<double>(all.numel()))) : all;
}

}  // namespace

// 2 (input - target) grad; the factor is rounded to the elements' type.
Tensor mse_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                    int64_t reduction) {
  const Tensor apart = ops::sub(input, target);
  const double factor = reduction == kMean ? 2.0 / static_cast<double>(apart.numel()) : 2.0;
  const Tensor rounded = scalar_tensor(Scalar(factor), apart.dtype(), apart.device());
  return ops::mul(ops::mul(apart, rounded), grad);
}

// The loss's factor, rounded to the elements' type.
static Tensor factor_of(const Tensor& elements, int64_t reduction) {
  const double factor = reduction == kMean ? 1.0 / static_cast<double>(elements.numel()) : 1.0;
  return scalar_tensor(Scalar(factor), elements.dtype(), elements.device());
}

// grad * (input - target), the difference clipped to [-delta, delta].
Tensor huber_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                      int64_t reduction, double delta) {
  const Tensor apart = ops::sub(input, target), factor = factor_of(apart, reduction);
  if (!is_half(apart.dtype())) {
    const Tensor shared = reduction == kMean ? ops::mul(grad, factor) : grad;
    return ops::_clipped_product(shared, apart, Scalar(delta));
  }
  const Tensor inside = ops::mul(ops::mul(factor, apart), grad);
  const Tensor outside =
      ops::mul(ops::mul(ops::sign(apart), ops::mul(factor, grad)), number(delta));
  return ops::where(ops::lt(ops::abs(apart), number(delta)), inside, outside);
}

// grad * (input - target) / beta, the difference clipped to [-beta, beta]; the opposite for target.
std::tuple<Tensor, Tensor> smooth_l1_backward(const Tensor& grad, const Tensor& input,
                                              const Tensor& target, const Scalar& beta,
                                              const std::array<bool, 2>& needs) {
  Tensor slope = ops::_clipped_product(grad, ops::sub(input, target), beta);
  if (!(beta == 1.0)) slope = ops::div(slope, wrapped_number(beta));
  return {slope, needs[1] ? ops::neg(slope) : Tensor()};
}

// -target z / (1 + z) grad with z = exp(-target input), in this order.
Tensor soft_margin_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                            int64_t reduction) {
  const Tensor z = ops::exp(ops::mul(ops::neg(target), input));
  const Tensor above = ops::mul(ops::mul(target, z), ops::neg(factor_of(z, reduction)));
  return ops::mul(ops::div(above, ops::add(z, number(1))), grad);
}

Tensor bce_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                    const Tensor& weight, int64_t reduction) {
  return weighed(ops::_bce_backward(grad, input, target), weight, reduction);
}
Tensor bce_target_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                           int64_t reduction) {
  return weighed(ops::mul(ops::neg(ops::logit(input)), grad), weight, reduction);
}

Tensor bce_with_logits_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                                const Tensor& weight, const Tensor& pos_weight, int64_t reduction) {
  const Tensor s = ops::sigmoid(input);
  if (!pos_weight.defined()) return weighed(ops::mul(ops::sub(s, target), grad), weight, reduction);
  const Tensor t = ops::mul(pos_weight, target);
  const Tensor slope = ops::sub(ops::mul(ops::sub(ops::add(t, number(1)), target), s), t);
  return weighed(ops::mul(slope, grad), weight, reduction);
}
Tensor bce_with_logits_target_backward(const Tensor& grad, const Tensor& input,
                                       const Tensor& weight, const Tensor& pos_weight,
                                       int64_t reduction) {
  const Tensor slope = pos_weight.defined() ? ops::sub(ops::logsigmoid(ops::neg(input)),
                                                       ops::mul(pos_weight, ops::logsigmoid(input)))
                                            : ops::neg(input);
  return weighed(ops::mul(slope, grad), weight, reduction);
}

}  // namespace msa::formulas
