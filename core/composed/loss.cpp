// Losses as compositions: elementwise terms, then PyTorch's reductions.
#include "core/composed/values.h"
#include "core/dispatch/thread_state.h"
#include "generated/composed_nn.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

void require_inexact(const char* op, const Tensor& input) {
  MSA_REQUIRE(is_inexact(input.dtype()), NotImplemented, op, ": not implemented for ",
              input.dtype(), ": give a floating-point dtype.");
}

// A weight for each class, seen along dimension 1 (0 for a single sample) of the input.
Tensor along_classes(const Tensor& weight, const Tensor& input) {
  Dims sizes(static_cast<size_t>(input.dim()), 1);
  sizes[input.dim() == 1 ? 0 : 1] = weight.numel();
  return ops::view(weight, sizes);
}

Tensor against_probabilities(const Tensor& input, const Tensor& target, const Tensor& weight,
                             int64_t reduction, double smoothing, int64_t class_dim) {
  MSA_REQUIRE(is_floating(target.dtype()), Runtime,
              "cross_entropy: a target of the input's shape holds class probabilities and must be "
              "floating-point, but is ",
              target.dtype(), ".");
  const int64_t classes = input.size(class_dim);
  Tensor wanted = target;
  if (smoothing > 0)
    wanted = ops::add(ops::mul(target, number(1 - smoothing)),
                      number(smoothing / static_cast<double>(classes)));
  Tensor terms = ops::mul(ops::log_softmax(input, class_dim), wanted);
  if (weight.defined()) terms = ops::mul(terms, along_classes(weight, input));
  if (reduction == kNone) return ops::neg(ops::sum_dim(terms, Dims{class_dim}));
  const Tensor sum = ops::neg(ops::sum(terms));
  return reduction == kSum
             ? sum
             : ops::div(sum,
                        number(static_cast<double>(input.numel()) / static_cast<double>(classes)));
}

// The loss against the even distribution, with the places of ignored targets left out.
Tensor smoothing_term(const Tensor& log_p, const Tensor& target, const Tensor& weight,
                      int64_t reduction, int64_t ignore_index, int64_t class_dim) {
  const Tensor weighted = weight.defined() ? ops::mul(log_p, along_classes(weight, log_p)) : log_p;
  const Tensor ignored = ops::eq(target, wrapped_number(Scalar(ignore_index)));
  const Tensor even =
      ops::masked_fill(ops::neg(ops::sum_dim(weighted, Dims{class_dim})), ignored, number(0));
  if (reduction == kNone) return even;
  const Tensor sum = ops::sum(even);
  if (reduction == kSum) return sum;
  // The mean is over the targets' weights: the summed loss of log-probabilities that are all -1.
  const Tensor minus_ones = ops::sub(ops::zeros_like(log_p), number(1));
  return ops::div(sum, ops::nll_loss_nd(minus_ones, target, weight, kSum, ignore_index));
}

void require_probabilities(const Tensor& input) {
  if (!input.device().is_cpu()) return;
  const GradMode off(false);
  const Tensor outside = ops::sum(ops::ne(ops::clamp(input, number(0), number(1)), input));
  MSA_REQUIRE(*outside.data<int64_t>() == 0, Runtime,
              "binary_cross_entropy: all elements of input should be between 0 and 1; apply "
              "sigmoid first, or use "
              "binary_cross_entropy_with_logits.");
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, double label_smoothing) {
  MSA_REQUIRE(label_smoothing >= 0 && label_smoothing <= 1, Runtime,
              "cross_entropy: label_smoothing must be between 0.0 and 1.0, but got ",
              label_smoothing, ".");
  const int64_t class_dim = input.dim() == 1 ? 0 : 1;
  if (input.sizes() == target.sizes())
    return against_probabilities(input, target, weight, reduction, label_smoothing, class_dim);
  const Tensor log_p = ops::log_softmax(input, class_dim);
  const Tensor loss = ops::nll_loss_nd(log_p, target, weight, reduction, ignore_index);
  if (label_smoothing == 0) return loss;
  const double share = label_smoothing / static_cast<double>(input.size(class_dim));
  return ops::add(
      ops::mul(loss, number(1 - label_smoothing)),
      ops::mul(smoothing_term(log_p, target, weight, reduction, ignore_index, class_dim),
               number(share)));
}

Tensor mse_loss(const Tensor& input, const Tensor& target, int64_t reduction) {
  require_inexact("mse_loss", input);
  const Tensor difference = ops::sub(input, target);
  return reduced(ops::mul(difference, difference), reduction);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, int64_t reduction) {
  return reduced(ops::abs(ops::sub(input, target)), reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, int64_t reduction, double beta) {
  MSA_REQUIRE(beta >= 0, Runtime, "smooth_l1_loss: beta must not be negative, but got ", beta, ".");
  if (beta == 0) return l1_loss(input, target, reduction);
  require_inexact("smooth_l1_loss", input);
  return reduced(ops::_smooth_l1(input, target, beta), reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, int64_t reduction, double delta) {
  MSA_REQUIRE(delta > 0, Runtime, "huber_loss: delta must be positive, but got ", delta, ".");
  require_inexact("huber_loss", input);
  return reduced(ops::_huber(input, target, delta), reduction);
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  require_inexact("binary_cross_entropy", input);
  MSA_REQUIRE(input.dtype() == target.dtype(), Runtime,
              "binary_cross_entropy: expected input and target of the same dtype, but got ",
              input.dtype(), " and ", target.dtype(), ".");
  require_probabilities(input);
  Tensor terms = ops::_bce(input, target);
  if (weight.defined()) {
    MSA_REQUIRE(
        broadcast_sizes("binary_cross_entropy", input.sizes(), weight.sizes()) == input.sizes(),
        Runtime, "binary_cross_entropy: weight of shape ", DimsView(weight.sizes()),
        " does not broadcast to the input's shape ", DimsView(input.sizes()), ".");
    terms = ops::mul(terms, weight);
  }
  return reduced(terms, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  // -log sigmoid(x) = softplus(-x); the rest follows from log(1 - sigmoid(x)) = log sigmoid(x) - x.
  Tensor soft = ops::neg(ops::logsigmoid(input));
  if (pos_weight.defined())
    soft = ops::mul(soft, ops::add(ops::mul(ops::sub(pos_weight, number(1)), target), number(1)));
  Tensor terms = ops::add(ops::mul(ops::sub(number(1), target), input), soft);
  if (weight.defined()) terms = ops::mul(terms, weight);
  return reduced(terms, reduction);
}

}  // namespace msa::composed
