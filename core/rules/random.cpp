// Shapes and dtypes of random operators, and the shape errors of multinomial.
#include "core/base/error.h"
#include "generated/rules_random.h"

namespace msa::rules {
namespace {

OutSpec like(const Tensor& t) {
  return {t.sizes(), t.dtype(), preserved_strides(t.sizes(), t.strides())};
}

}  // namespace

// These come out contiguous whatever the input's strides, and are filled in that order.
OutSpec drawn_like(const Tensor& input, OptGenerator) { return {input.sizes(), input.dtype()}; }
OutSpec drawn_like(const Tensor& input, double, OptGenerator generator) {
  return drawn_like(input, generator);
}

OutSpec binomial(const Tensor& count, const Tensor& prob, OptGenerator) {
  return {broadcast_sizes("binomial", count.sizes(), prob.sizes()), count.dtype()};
}

OutSpec multinomial(const Tensor& input, int64_t num_samples, bool replacement, OptGenerator) {
  MSA_REQUIRE(input.dim() == 1 || input.dim() == 2, Runtime,
              "multinomial: prob_dist must be 1 or 2 dim, got ", input.dim(), ".");
  MSA_REQUIRE(is_floating(input.dtype()), Runtime,
              "multinomial only supports floating-point dtypes for input, got: ", input.dtype(),
              ".");
  MSA_REQUIRE(num_samples > 0, Runtime, "multinomial: cannot sample n_sample <= 0 samples, got ",
              num_samples, ".");
  const int64_t categories = input.size(-1);
  MSA_REQUIRE(
      replacement || num_samples <= categories, Runtime,
      "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: ",
      num_samples, " of ", categories, ".");
  MSA_REQUIRE(categories <= (1 << 24), Runtime,
              "multinomial: number of categories cannot exceed 2^24, got ", categories, ".");
  Dims sizes = input.sizes();
  sizes.back() = num_samples;
  return {sizes, DType::I64};
}

OutSpec randperm(int64_t n, OptGenerator, OptDType dtype, OptDevice) {
  MSA_REQUIRE(n >= 0, Runtime, "randperm: n must be non-negative, got ", n, ".");
  return {{n}, dtype.value_or(DType::I64)};
}

std::array<OutSpec, 2> with_noise(const Tensor& input, double) {
  return {like(input), like(input)};
}
std::array<OutSpec, 2> with_noise(const Tensor& input, const Scalar&, const Scalar&, OptGenerator) {
  return {like(input), like(input)};
}

}  // namespace msa::rules
