// Gradients of losses, scaled where PyTorch scales them: half types show the difference.
#include "core/autograd/formulas.h"
#include "generated/ops_elementwise.h"
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

Tensor bce_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                    const Tensor& weight, int64_t reduction) {
  return weighed(ops::_bce_backward(grad, input, target), weight, reduction);
}
Tensor bce_target_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                           int64_t reduction) {
  return weighed(ops::mul(ops::neg(ops::logit(input)), grad), weight, reduction);
}

}  // namespace msa::formulas
