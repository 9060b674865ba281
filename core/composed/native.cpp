// What layers, compilers and exporters call: operators with their statistics, masks or bounds.
#include "core/composed/values.h"
#include "core/dispatch/thread_state.h"
#include "generated/composed_native.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_layer.h"
#include "generated/ops_math.h"
#include "generated/ops_native.h"
#include "generated/ops_nn.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_random.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

Dims all_but(int64_t dim, int64_t dims) {
  Dims out;
  for (int64_t d = 0; d < dims; ++d) {
    if (d != dim) out.push_back(d);
  }
  return out;
}

// Half types keep their statistics in float32 where a parameter is float32.
DType statistics_dtype(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return weight.defined() ? weight.dtype() : bias.defined() ? bias.dtype() : input.dtype();
}

// The mean and 1 / sqrt(variance + eps) over dimensions, without history.
std::pair<Tensor, Tensor> statistics(const Tensor& input, const Dims& over, double eps,
                                     bool keepdim, DType dtype) {
  const GradMode off(false);
  const Tensor x = ops::_to_copy(input, opmath(input.dtype()));
  const auto [variance, mean] = ops::_var_mean(x, over, 0.0, keepdim);
  const Tensor invstd = ops::rsqrt(ops::add(variance, number(eps)));
  return {ops::_to_copy(x.numel() ? mean : ops::zeros_like(mean), dtype),
          ops::_to_copy(invstd, dtype)};
}

TensorList within_bounds(const TensorList& indices, const Tensor& input) {
  TensorList out;
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t size = input.sizes()[d];
    const auto bound = [](int64_t value) { return wrapped_number(Scalar(value)); };
    out.push_back(indices[d].defined() ? ops::clamp(indices[d], bound(-size), bound(size - 1))
                                       : Tensor());
  }
  return out;
}

}  // namespace

Three native_layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                        const Tensor& bias, double eps) {
  const Tensor out = ops::layer_norm(input, normalized_shape, weight, bias, eps, false);
  Dims over;
  for (auto d = input.dim() - static_cast<int64_t>(normalized_shape.size()); d < input.dim(); ++d) {
    over.push_back(d);
  }
  const auto [mean, invstd] =
      statistics(input, over, eps, true, statistics_dtype(input, weight, bias));
  return {out, mean, invstd};
}

// Its statistics take part in gradients, those of the other two do not.
Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n,
                        int64_t, int64_t, int64_t group, double eps) {
  const Tensor out = ops::group_norm(input, group, weight, bias, eps, false);
  const int64_t groups = n * group, row = groups > 0 ? input.numel() / groups : 0;
  const DType dtype = statistics_dtype(input, weight, bias);
  const Tensor x = ops::_to_copy(ops::reshape(input, {n, group, row}), opmath(input.dtype()));
  const auto [variance, mean] = ops::_var_mean(x, Dims{2}, 0.0, false);
  const Tensor invstd = ops::rsqrt(ops::add(variance, number(eps)));
  return {out, ops::_to_copy(mean, dtype), ops::_to_copy(invstd, dtype)};
}

Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training,
                        double momentum, double eps) {
  const Tensor out = ops::batch_norm(input, weight, bias, running_mean, running_var, training,
                                     momentum, eps, false);
  const DType dtype = statistics_dtype(input, weight, bias);
  if (!training) {
    return {out, empty(Dims{0}, dtype, input.device()), empty(Dims{0}, dtype, input.device())};
  }
  const auto [mean, invstd] = statistics(input, all_but(1, input.dim()), eps, false, dtype);
  return {out, mean, invstd};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _batch_norm_with_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  const auto [out, mean, invstd] =
      ops::native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, mean, invstd, empty(Dims{0}, DType::U8, input.device())};
}

Tensor _safe_softmax(const Tensor& input, int64_t dim, OptDType dtype) {
  const Tensor lowest = number(-std::numeric_limits<double>::infinity());
  const Tensor blocked = ops::all_dim(ops::eq(input, lowest), Dims{dim}, true);
  return ops::masked_fill(ops::softmax(input, dim, dtype), blocked, number(0));
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, OptBool train) {
  MSA_REQUIRE(p >= 0 && p <= 1, Runtime, "dropout probability has to be between 0 and 1, but got ",
              p, ".");
  Tensor mask = ops::empty_like(input, DType::Bool);
  if (!train.value_or(true)) return {ops::clone(input), ops::fill_(mask, Scalar(true))};
  ops::bernoulli_float_(mask, 1 - p, nullptr);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  return {ops::mul(ops::mul(input, mask), number(scale)), mask};
}

Tensor _upsample_bilinear2d_aa(const Tensor& input, const Dims& output_size, bool align_corners,
                               OptFloat scales_h, OptFloat scales_w) {
  OptFloats scales;
  if (scales_h && scales_w) scales = std::vector<double>{*scales_h, *scales_w};
  return ops::_resize_antialias(input, output_size, scales, align_corners, false);
}

Tensor _upsample_bilinear2d_aa_vec(const Tensor& input, const OptDims& output_size,
                                   bool align_corners, const OptFloats& scale_factors) {
  MSA_REQUIRE(output_size.has_value() != scale_factors.has_value(), Runtime,
              "_upsample_bilinear2d_aa: give either output_size or scale_factors.");
  Dims size;
  for (size_t d = 0; d < 2; ++d) {
    const auto before = static_cast<double>(input.sizes()[d + 2]);
    size.push_back(output_size ? (*output_size)[d]
                               : static_cast<int64_t>(before * (*scale_factors)[d]));
  }
  return ops::_resize_antialias(input, size, scale_factors, align_corners, false);
}

Tensor _unsafe_masked_index(const Tensor& input, const Tensor& mask, const TensorList& indices,
                            const Scalar& fill) {
  if (input.numel() == 0) return ops::new_full(input, mask.sizes(), fill);
  return ops::masked_fill(ops::index(input, within_bounds(indices, input)), ops::logical_not(mask),
                          wrapped_number(fill));
}

Tensor _unsafe_masked_index_put_accumulate(const Tensor& input, const Tensor& mask,
                                           const TensorList& indices, const Tensor& values) {
  if (input.numel() == 0) return ops::clone(input);
  const Tensor kept = ops::masked_fill(values, ops::logical_not(mask), number(0));
  return ops::index_put(input, within_bounds(indices, input), kept, true);
}

Tensor fill_diagonal_(const Tensor& input, const Scalar& fill_value, bool wrap) {
  const Dims& sizes = input.sizes();
  MSA_REQUIRE(input.dim() >= 2, Runtime,
              "fill_diagonal_: expected at least two dimensions, but the shape is ",
              DimsView(sizes), ".");
  MSA_REQUIRE(input.dim() == 2 || std::all_of(sizes.begin(), sizes.end(),
                                              [&](int64_t size) { return size == sizes[0]; }),
              Runtime,
              "fill_diagonal_: all dimensions of input must be of equal length, but the "
              "shape is ",
              DimsView(sizes), ".");
  int64_t step = 0;
  for (int64_t stride : input.strides()) step += stride;
  const int64_t length = std::min(sizes[0], sizes[1]), width = sizes[1] + 1;
  const auto fill = [&](int64_t count, int64_t offset) {
    Tensor line = ops::as_strided(input, {count}, {step}, offset);
    ops::fill_(line, fill_value);
  };
  fill(length, input.offset());
  if (wrap && input.dim() == 2 && sizes[0] > width) {
    fill((input.numel() + width - 1) / width - length, input.offset() + input.stride(0) * width);
  }
  return input;
}

Tensor vander(const Tensor& x, OptInt n, bool increasing) {
  MSA_REQUIRE(x.dim() == 1, Runtime,
              "vander: x must be a one-dimensional tensor, but its shape is ", DimsView(x.sizes()),
              ".");
  const int64_t columns = n.value_or(x.numel());
  MSA_REQUIRE(columns >= 0, Runtime, "vander: N must be non-negative, but got ", columns, ".");
  const DType dtype = is_integral(x.dtype()) ? DType::I64 : x.dtype();
  Tensor powers = ops::new_ones(x, {x.numel(), std::min<int64_t>(columns, 1)}, dtype);
  if (columns > 1) {
    const Tensor factors = ops::expand(ops::unsqueeze(x, 1), {x.numel(), columns - 1});
    powers = ops::cumprod(ops::cat({powers, ops::_to_copy(factors, dtype)}, 1), 1);
  }
  return increasing ? powers : ops::flip(powers, {1});
}

}  // namespace msa::composed
