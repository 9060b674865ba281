// Normalisations and losses by the parts that vmap knows; half types compute in float32 inside.
#include "core/dispatch/generated_support.h"
#include "core/transforms/batched.h"
#include "generated/batched_nn.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::batched {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };

template <class T>
Tensor number(T value) {
  return wrapped_number(Scalar(value));
}

Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == kNone ? loss : reduction == kMean ? ops::mean(loss) : ops::sum(loss);
}

Tensor scaled(const Tensor& t, const Tensor& weight, const Tensor& bias) {
  const Tensor product = weight.defined() ? ops::mul(t, weight) : t;
  return bias.defined() ? ops::add(product, bias) : product;
}

Tensor normalized(const Tensor& input, const Tensor& mean, const Tensor& var, double eps) {
  return ops::mul(ops::sub(input, mean), ops::rsqrt(ops::add(var, number(eps))));
}

// One value for each channel, seen beside (n, channels, ...).
Tensor for_channels(const Tensor& t, int64_t rank) {
  if (!t.defined()) return t;
  Dims sizes(static_cast<size_t>(rank), 1);
  sizes[1] = -1;
  return ops::reshape(t, sizes);
}

void move_towards(Tensor running, const Tensor& now, double momentum) {
  if (!running.defined()) return;
  const GradMode off(false);
  ops::mul_(running, number(1 - momentum));
  ops::add_(running, ops::mul(now, number(momentum)));
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  Dims dims;
  for (size_t i = 0; i < normalized_shape.size(); ++i) dims.push_back(-1 - static_cast<int64_t>(i));
  const Tensor wide = widened(input);
  auto [var, mean] = ops::_var_mean(wide, dims, 0, true);
  const Tensor out = scaled(normalized(wide, mean, var, eps), widened(weight), widened(bias));
  return is_half(input.dtype()) ? narrowed(out, input.dtype()) : out;
}

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, bool) {
  const int64_t rank = input.dim();
  const Tensor wide = widened(input);
  Tensor mean = running_mean, var = running_var;
  if (training) {
    Dims dims{0};
    for (int64_t d = 2; d < rank; ++d) dims.push_back(d);
    std::tie(var, mean) = ops::_var_mean(wide, dims, 0, false);
    const double n = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
    move_towards(running_mean, mean, momentum);
    move_towards(running_var, ops::mul(var, number(n / (n - 1))), momentum);
  }
  const Tensor out = scaled(
      normalized(wide, for_channels(widened(mean), rank), for_channels(widened(var), rank), eps),
      for_channels(widened(weight), rank), for_channels(widened(bias), rank));
  return is_half(input.dtype()) ? narrowed(out, input.dtype()) : out;
}

Tensor nll_loss_nd(const Tensor& input, const Tensor& target, const Tensor& weight,
                   int64_t reduction, int64_t ignore_index) {
  const int64_t dim = input.dim() == 1 ? 0 : 1;
  const Tensor ignored = ops::eq(target, number(ignore_index));
  const Tensor classes = ops::masked_fill(target, ignored, number(int64_t{0}));
  Tensor loss =
      ops::neg(ops::squeeze_dim(ops::gather(input, dim, ops::unsqueeze(classes, dim)), dim));
  Tensor weights = weight.defined() ? ops::_index(weight, {classes}) : ops::ones_like(loss);
  weights = ops::masked_fill(weights, ignored, number(0.0));
  loss = ops::masked_fill(ops::mul(loss, weights), ignored, number(0.0));
  if (reduction != kMean) return reduced(loss, reduction);
  return ops::div(ops::sum(loss), ops::sum(weights));
}

Tensor one_hot(const Tensor& input, int64_t num_classes) {
  if (num_classes < 0) refuse_reading(input);
  return ops::to_dtype(ops::eq(ops::unsqueeze(input, -1), ops::arange(num_classes, DType::I64)),
                       DType::I64);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, int64_t reduction) {
  const Tensor apart = ops::sub(input, target);
  return reduced(ops::mul(apart, apart), reduction);
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  constexpr double kLeast = -100;  // what a logarithm counts at most
  const Tensor on = ops::clamp(ops::log(input), number(kLeast));
  const Tensor off = ops::clamp(ops::log1p(ops::neg(input)), number(kLeast));
  const Tensor loss = ops::sub(ops::mul(ops::sub(target, number(1.0)), off), ops::mul(target, on));
  return reduced(scaled(loss, weight, {}), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  const Tensor off = ops::sub(number(1.0), target);
  const Tensor factor =
      pos_weight.defined() ? ops::add(off, ops::mul(pos_weight, target)) : Tensor();
  const Tensor log_on = scaled(ops::logsigmoid(input), factor, {});
  return reduced(scaled(ops::sub(ops::mul(off, input), log_on), weight, {}), reduction);
}

}  // namespace msa::batched
