// Special functions, and tests and parts of numbers, made of other operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/composed/values.h"
#include "core/dispatch/host.h"
#include "core/sparse/sparse.h"
#include "generated/composed_special.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_special.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// Floating-point as it is, integers in the default dtype.
Tensor inexact(const Tensor& t) {
  return is_integral(t.dtype()) ? ops::to_dtype(t, default_dtype()) : t;
}

bool is_true(const Tensor& flag) {
  const Tensor here = in_host(flag);
  return load_scalar(here.dtype(), here.data()).to<bool>();
}

// The largest finite number of a floating dtype.
double largest(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 65504;
    case DType::BF16:
      return 0x1.fep127;
    case DType::F64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

}  // namespace

Tensor mvlgamma(const Tensor& input, int64_t p) {
  MSA_REQUIRE(p >= 1, Runtime, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  MSA_REQUIRE(input.dtype() != DType::Bool && !is_complex(input.dtype()), Runtime,
              "mvlgamma: not implemented for ", input.dtype());
  Tensor x = inexact(input);
  auto half = static_cast<double>(p);
  Tensor steps = ops::to_dtype(
      ops::arange_start_step(Scalar((1 - half) / 2), Scalar(0.25), Scalar(0.5), {}, x.device()),
      x.dtype());
  Tensor each = ops::lgamma(ops::add(ops::unsqueeze(x, -1), steps));
  return ops::add(ops::sum_dim(each, Dims{-1}), number(half * (half - 1) / 4 * std::log(M_PI)));
}

Tensor sinc(const Tensor& input) {
  Tensor angle = ops::mul(inexact(input), number(M_PI));
  Tensor zero = ops::eq(angle, number(0));
  return ops::masked_fill(ops::div(ops::sin(angle), angle), zero, number(1));
}

Tensor logit(const Tensor& input, OptFloat eps) {
  MSA_REQUIRE(!is_complex(input.dtype()), Runtime, "logit: not implemented for ", input.dtype());
  const Tensor x = inexact(input);
  if (!eps)
    return ops::_logit(x, Scalar(0.0), Scalar(1.0),
                       Scalar(std::numeric_limits<double>::quiet_NaN()));
  return ops::_logit(x, Scalar(*eps), Scalar(1 - *eps), Scalar(0.0));
}

Tensor nan_to_num(const Tensor& input, OptFloat nan, OptFloat posinf, OptFloat neginf) {
  if (is_integral(input.dtype())) return ops::clone(input);
  if (is_sparse(input)) {
    Tensor t = is_coo(input) ? ops::coalesce(input) : input;
    return ops::_with_values(t, ops::nan_to_num(ops::_raw_values(t), nan, posinf, neginf));
  }
  if (is_complex(input.dtype()))
    return ops::view_as_complex(ops::nan_to_num(ops::view_as_real(input), nan, posinf, neginf));
  double top = largest(input.dtype());
  return ops::_nan_to_num(input, Scalar(nan.value_or(0)), Scalar(posinf.value_or(top)),
                          Scalar(neginf.value_or(-top)));
}

Tensor angle(const Tensor& input) { return ops::_angle(inexact(input)); }

Tensor isreal(const Tensor& input) {
  if (!is_complex(input.dtype())) return ops::ones_like(input, DType::Bool);
  return ops::eq(ops::imag(input), number(0));
}

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  MSA_REQUIRE(input.dtype() == other.dtype(), Runtime, "isclose: ", input.dtype(), " and ",
              other.dtype(), " did not match; convert one with .to() first");
  MSA_REQUIRE(rtol >= 0, Runtime, "isclose: rtol must be greater than or equal to zero, but got ",
              rtol);
  MSA_REQUIRE(atol >= 0, Runtime, "isclose: atol must be greater than or equal to zero, but got ",
              atol);
  Tensor close = ops::eq(input, other);
  if (equal_nan && is_inexact(input.dtype()))
    close = ops::logical_or(close, ops::logical_and(ops::isnan(input), ops::isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  Tensor reference = inexact(other);
  Tensor allowed = ops::add(ops::abs(ops::mul(reference, number(rtol))), number(atol));
  // Both sides as floats: sub refuses bool tensors, which are compared as 0 and 1.
  Tensor apart = ops::abs(ops::sub(inexact(input), reference));
  return ops::logical_or(close, ops::logical_and(ops::isfinite(apart), ops::le(apart, allowed)));
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return is_true(ops::all(ops::isclose(input, other, rtol, atol, equal_nan)));
}

// By growing pieces, so that tensors which differ early are told apart soon.
bool equal(const Tensor& input, const Tensor& other) {
  if (input.sizes() != other.sizes()) return false;
  const auto same = [](const Tensor& a, const Tensor& b) {
    return is_true(ops::all(ops::eq(a, b)));
  };
  if (!input.is_contiguous() || !other.is_contiguous() || input.numel() < 4096)
    return same(input, other);
  const Tensor a = ops::view(input, {-1}), b = ops::view(other, {-1});
  int64_t at = 0;
  for (int64_t piece = 512; at < a.numel(); at += piece, piece *= 8) {
    const int64_t n = std::min(piece, a.numel() - at);
    if (!same(ops::narrow(a, 0, at, n), ops::narrow(b, 0, at, n))) return false;
  }
  return true;
}

}  // namespace msa::composed
