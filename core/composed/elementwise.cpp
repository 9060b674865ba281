// Elementwise operators composed of others.
#include "core/dispatch/elementwise.h"

#include "core/composed/matrices.h"
#include "core/composed/values.h"
#include "generated/composed_activation.h"
#include "generated/composed_compare.h"
#include "generated/composed_elementwise.h"
#include "generated/composed_math.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// A Python number, and no NaN.
bool is_plain_number(const Tensor& t) {
  if (!t->wrapped_number || is_complex(t.dtype())) return false;
  const double value = matrices::value_of(t).to_double();
  return value == value;
}

}  // namespace

Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  MSA_REQUIRE(min.defined() || max.defined(), Runtime,
              "clamp: At least one of 'min' or 'max' must not be None");
  if (!max.defined()) return ops::clamp_min(input, min);
  if (!min.defined()) return ops::clamp_max(input, max);
  if (is_floating(input.dtype()) && is_plain_number(min) && is_plain_number(max))
    return ops::_clamp_to_numbers(input, matrices::value_of(min), matrices::value_of(max));
  return ops::clamp_between(input, min, max);
}

Tensor div_tensor_mode(const Tensor& input, const Tensor& other, OptStr rounding_mode) {
  if (!rounding_mode) return ops::div(input, other);
  if (*rounding_mode == "floor") return ops::div_floor(input, other);
  MSA_REQUIRE(*rounding_mode == "trunc", Runtime,
              "div: rounding_mode must be None, 'trunc' or 'floor', but got '", *rounding_mode,
              "'");
  // The quotient of half types is rounded before its fraction is cut off.
  const Tensor* both[] = {&input, &other};
  if (is_half(result_type(both))) return ops::trunc(ops::div(input, other));
  return ops::div_trunc(input, other);
}

Tensor float_power(const Tensor& input, const Tensor& exponent) {
  bool complex = is_complex(input.dtype()) || is_complex(exponent.dtype());
  DType dtype = complex ? DType::C128 : DType::F64;
  return ops::pow(ops::to_dtype(input, dtype), ops::to_dtype(exponent, dtype));
}

Tensor conj_physical(const Tensor& input) {
  return is_complex(input.dtype()) ? ops::_conj_physical(input) : input;
}

Tensor complex(const Tensor& real, const Tensor& imag) {
  MSA_REQUIRE(
      is_floating(real.dtype()) && real.dtype() == imag.dtype(), Runtime,
      "complex: Expected both inputs to be Half, Float or Double tensors of one dtype, got ",
      real.dtype(), " and ", imag.dtype());
  if (is_float8(real.dtype()) || real.dtype() == DType::BF16) refuse_dtype("complex", real.dtype());
  Dims sizes = broadcast_sizes("complex", real.sizes(), imag.sizes());
  return ops::_interleaved(ops::expand(real, sizes), ops::expand(imag, sizes));
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  require_same_dtype("polar", abs, angle);
  return ops::complex(ops::mul(abs, ops::cos(angle)), ops::mul(abs, ops::sin(angle)));
}

Tensor gelu(const Tensor& input, std::string_view approximate) {
  if (approximate == "tanh") return ops::gelu_tanh(input);
  MSA_REQUIRE(approximate == "none", Runtime, "gelu: approximate must be 'none' or 'tanh', got '",
              approximate, "'");
  return ops::gelu_erf(input);
}

Tensor positive(const Tensor& input) {
  MSA_REQUIRE(input.dtype() != DType::Bool, Runtime,
              "positive: The `+` operator, on a bool tensor is not supported.");
  return input;
}

}  // namespace msa::composed
