// Normalisations that are others in disguise: groups are layers, instances are batches of one.
#include <limits>

#include "core/composed/values.h"
#include "core/dispatch/thread_state.h"
#include "generated/composed_nn.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// Per-channel numbers as (C, 1, 1 ...), to go along (N, C, ...).
Tensor column(const Tensor& t, int64_t dims) {
  Dims sizes(static_cast<size_t>(dims) - 1, 1);
  sizes[0] = t.numel();
  return ops::view(t, sizes);
}

Tensor repeated(const Tensor& t, int64_t times) {
  return t.defined() ? ops::repeat(t, {times}) : t;
}

// The average over samples of statistics that were kept for each sample.
void gather_running(const Tensor& running, const Tensor& of_samples, int64_t samples) {
  if (!running.defined()) return;
  const GradMode off(false);
  const Tensor table = ops::view(of_samples, {samples, -1});
  Tensor target = running;
  ops::copy_(target, ops::div(ops::sum_dim(table, Dims{0}), number(static_cast<double>(samples))));
}

double smallest_step(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return std::numeric_limits<double>::epsilon();
    default:
      return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  MSA_REQUIRE(input.dim() >= 2, Runtime,
              "group_norm: expected an input of at least two dimensions, but its shape is ",
              DimsView(input.sizes()), ".");
  const int64_t channels = input.size(1);
  MSA_REQUIRE(num_groups > 0 && channels % num_groups == 0, Runtime,
              "group_norm: expected the number of channels to be divisible by num_groups, but the "
              "input's shape is ",
              DimsView(input.sizes()), " and num_groups=", num_groups, ".");
  for (const Tensor* t : {&weight, &bias}) {
    MSA_REQUIRE(!t->defined() || (t->dim() == 1 && t->numel() == channels), Runtime,
                "group_norm: expected weight and bias to be vectors of ", channels,
                " elements, but got the shape ", DimsView(t->defined() ? t->sizes() : Dims()), ".");
  }
  const int64_t groups = input.size(0) * num_groups, row = groups ? input.numel() / groups : 0;
  Tensor out = ops::layer_norm(ops::reshape(input, {groups, row}), {row}, Tensor(), Tensor(), eps);
  out = ops::view(out, input.sizes());
  if (weight.defined()) out = ops::mul(out, column(weight, input.dim()));
  return bias.defined() ? ops::add(out, column(bias, input.dim())) : out;
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled) {
  MSA_REQUIRE(input.dim() >= 3, Runtime,
              "instance_norm: expected an input of at least three dimensions, but its shape is ",
              DimsView(input.sizes()), ".");
  MSA_REQUIRE(
      use_input_stats || (running_mean.defined() && running_var.defined()), Runtime,
      "instance_norm: running_mean and running_var must be given when use_input_stats is False.");
  const int64_t samples = input.size(0);
  Dims sizes = input.sizes();
  sizes[0] = 1;
  sizes[1] *= samples;
  const Tensor mean = repeated(running_mean, samples), variance = repeated(running_var, samples);
  const Tensor out = ops::batch_norm(ops::view(ops::contiguous(input), sizes),
                                     repeated(weight, samples), repeated(bias, samples), mean,
                                     variance, use_input_stats, momentum, eps, cudnn_enabled);
  if (use_input_stats) {
    gather_running(running_mean, mean, samples);
    gather_running(running_var, variance, samples);
  }
  return ops::view(out, input.sizes());
}

Tensor rms_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                OptFloat eps) {
  const size_t all = input.sizes().size(), last = normalized_shape.size();
  MSA_REQUIRE(last > 0 && all >= last &&
                  Dims(DimsView(input.sizes()).subspan(all - last)) == normalized_shape,
              Runtime, "rms_norm: given normalized_shape=", DimsView(normalized_shape),
              ", expected an input whose last sizes are these, but its shape is ",
              DimsView(input.sizes()), ".");
  Dims over;
  for (size_t d = all - last; d < all; ++d) over.push_back(static_cast<int64_t>(d));
  const Tensor squares = ops::div(ops::sum_dim(ops::mul(input, input), over, true),
                                  number(static_cast<double>(product(normalized_shape))));
  const Tensor scale =
      ops::rsqrt(ops::add(squares, number(eps.value_or(smallest_step(input.dtype())))));
  const Tensor out = ops::mul(input, scale);
  return weight.defined() ? ops::mul(out, weight) : out;
}

}  // namespace msa::composed
