// The dropout family, and rrelu: layers that draw in training only. When nothing is dropped the
// input itself comes back, as in PyTorch.
#include <cmath>

#include "core/composed/values.h"
#include "generated/composed_random.h"
#include "generated/ops_activation.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_random.h"

namespace msa::composed {
namespace {

void check(double p) {
  MSA_REQUIRE(p >= 0 && p <= 1, Runtime, "dropout probability has to be between 0 and 1, but got ",
              p, ".");
}

bool keeps_all(const Tensor& input, double p, bool train) {
  return p == 0 || !train || input.numel() == 0;
}

// 1 with probability 1 - p, else 0, for each element or each channel.
Tensor keep_mask(const Tensor& input, double p, bool feature) {
  Tensor mask;
  if (feature) {
    MSA_REQUIRE(input.dim() >= 2, Runtime,
                "feature dropout requires at least 2 dimensions in the input, got ", input.dim(),
                ".");
    Dims sizes(static_cast<size_t>(input.dim()), 1);
    sizes[0] = input.size(0);
    sizes[1] = input.size(1);
    mask = empty(sizes, input.dtype(), input.device());
  } else {
    mask = empty_strided(input.sizes(), preserved_strides(input.sizes(), input.strides()),
                         input.dtype(), input.device());
  }
  return ops::bernoulli_float_(mask, 1 - p, nullptr);
}

Tensor drop_all(const Tensor& input) {
  return ops::mul(input, scalar_tensor(Scalar(0), input.dtype(), input.device()));
}

// Dropped values become SELU's lower bound, and an affine map restores mean 0 and variance 1.
Tensor alpha(const Tensor& input, double p, bool train, bool feature) {
  check(p);
  if (keeps_all(input, p, train)) return input;
  if (p == 1) return drop_all(input);
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Tensor noise = keep_mask(input, p, feature);
  Tensor shift = ops::add(noise, number(-1), Scalar(1));
  ops::mul_(shift, number(kAlpha * a));
  ops::add_(shift, number(kAlpha * a * p), Scalar(1));
  ops::mul_(noise, number(a));
  return ops::add(ops::mul(input, noise), shift, Scalar(1));
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  check(p);
  if (keeps_all(input, p, train)) return input;
  return p == 1 ? drop_all(input) : ops::_dropout(input, p);
}

Tensor feature_dropout(const Tensor& input, double p, bool train) {
  check(p);
  if (keeps_all(input, p, train)) return input;
  if (p == 1) return drop_all(input);
  Tensor noise = keep_mask(input, p, true);
  ops::div_(noise, number(1 - p));
  return ops::mul(input, noise);
}

Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  return alpha(input, p, train, false);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  return alpha(input, p, train, true);
}

Tensor rrelu(const Tensor& input, const Scalar& lower, const Scalar& upper, bool training,
             OptGenerator generator) {
  const double low = lower.to_double(), high = upper.to_double();
  MSA_REQUIRE(low <= high, Runtime, "rrelu: lower bound ", low, " is above the upper bound ", high,
              ".");
  if (training) return ops::_rrelu(input, lower, upper, generator);
  return ops::leaky_relu(input, Scalar((low + high) / 2));
}

}  // namespace msa::composed
