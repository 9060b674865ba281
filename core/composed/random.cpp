// Random tensors made in two steps: memory, then an operator that fills it.
#include "core/dispatch/generated_support.h"
#include "core/sparse/sparse.h"
#include "generated/composed_convert.h"
#include "generated/composed_random.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_random.h"
#include "generated/ops_sparse.h"
#include "generated/rules_create.h"

namespace msa::composed {
namespace {

// Modes and classes see the memory made, so that they may make another tensor.
Tensor sized(const Dims& size, OptDType dtype, OptDevice device) {
  if (thread_state.layers_active) return ops::empty(size, dtype, device);
  return make_output(rules::sized(size, dtype, device), device.value_or(default_device()));
}

Tensor sized_like(const Tensor& input, OptDType dtype, OptDevice device, OptFormat format) {
  if (thread_state.layers_active || is_python(input))
    return ops::empty_like(input, dtype, device, format);
  return make_output(rules::sized_like(input, dtype, device, format),
                     device.value_or(input.device()));
}

Tensor contiguous(DimsView size, const Tensor& like) {
  return empty(size, like.dtype(), like.device());
}

void require_non_negative(const Tensor& std) {
  MSA_REQUIRE(!is_complex(std.dtype()), Runtime,
              "normal expects standard deviation to be non-complex.");
  if (std.device().is_meta() || std.numel() == 0) return;
  MSA_REQUIRE(ops::_all_non_negative(std), Runtime, "normal expects all elements of std >= 0.0.");
}

}  // namespace

Tensor rand(const Dims& size, OptGenerator generator, OptDType dtype, OptDevice device) {
  Tensor out = sized(size, dtype, device);
  return ops::uniform_(out, 0, 1, generator);
}
Tensor rand_like(const Tensor& input, OptGenerator generator, OptDType dtype, OptDevice device,
                 OptFormat format) {
  Tensor out = sized_like(input, dtype, device, format);
  return ops::uniform_(out, 0, 1, generator);
}

Tensor randn(const Dims& size, OptGenerator generator, OptDType dtype, OptDevice device) {
  Tensor out = sized(size, dtype, device);
  return ops::normal_(out, 0, 1, generator);
}
Tensor randn_like(const Tensor& input, OptGenerator generator, OptDType dtype, OptDevice device,
                  OptFormat format) {
  if (is_sparse(input) && !is_coo(input))  // new values at the same places
    return ops::_with_values(input,
                             ops::randn_like(ops::_raw_values(input), generator, dtype, device));
  Tensor out = sized_like(input, dtype, device, format);
  return ops::normal_(out, 0, 1, generator);
}

Tensor randint_low(int64_t low, int64_t high, const Dims& size, OptGenerator generator,
                   OptDType dtype, OptDevice device) {
  Tensor out = sized(size, dtype.value_or(DType::I64), device);
  return ops::random_from_(out, low, high, generator);
}
Tensor randint(int64_t high, const Dims& size, OptGenerator generator, OptDType dtype,
               OptDevice device) {
  return randint_low(0, high, size, generator, dtype, device);
}
Tensor randint_like_low(const Tensor& input, int64_t low, int64_t high, OptGenerator generator,
                        OptDType dtype, OptDevice device, OptFormat format) {
  Tensor out = sized_like(input, dtype, device, format);
  return ops::random_from_(out, low, high, generator);
}
Tensor randint_like(const Tensor& input, int64_t high, OptGenerator generator, OptDType dtype,
                    OptDevice device, OptFormat format) {
  return randint_like_low(input, 0, high, generator, dtype, device, format);
}

Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, OptGenerator generator) {
  require_non_negative(std);
  Tensor out = contiguous(broadcast_sizes("normal", mean.sizes(), std.sizes()), mean);
  ops::normal_(out, 0, 1, generator);
  ops::mul_(out, std);
  return ops::add_(out, mean, Scalar(1));
}
Tensor normal_tensor_float(const Tensor& mean, double std, OptGenerator generator) {
  Tensor out = contiguous(mean.sizes(), mean);
  ops::normal_(out, 0, std, generator);
  return ops::add_(out, mean, Scalar(1));
}
Tensor normal_float_tensor(double mean, const Tensor& std, OptGenerator generator) {
  require_non_negative(std);
  Tensor out = contiguous(std.sizes(), std);
  ops::normal_(out, 0, 1, generator);
  ops::mul_(out, std);
  return ops::add_(out, wrapped_number(Scalar(mean)), Scalar(1));
}
Tensor normal_float_float(double mean, double std, const Dims& size, OptGenerator generator,
                          OptDType dtype, OptDevice device) {
  Tensor out = sized(size, dtype, device);
  return ops::normal_(out, mean, std, generator);
}

}  // namespace msa::composed
