// Gradients of functions of one number that are longer than a row's formula.
#include <numbers>

#include "core/autograd/formulas.h"
#include "core/autograd/meta.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"

namespace msa::formulas {
namespace {

Tensor number(double v) { return wrapped_number(Scalar(v)); }
Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }

// The value of an exponent that is one number and needs no gradient.
std::optional<Scalar> constant(const Tensor& t) {
  const bool plain = !t.requires_grad() && !(t->meta && t->meta->tangents);
  if (t.dim() != 0 || !t.device().is_cpu() || !plain) return {};
  return load_scalar(t.dtype(), t.data());
}

Scalar minus_one(const Scalar& v) {
  if (v.is_complex()) return Scalar(v.to_complex() - 1.0);
  return v.is_integral() ? Scalar(v.to_int() - 1) : Scalar(v.to_double() - 1);
}

}  // namespace

Tensor pow_backward(const Tensor& grad, const Tensor& input, const Tensor& exponent) {
  if (auto e = constant(exponent)) {
    if (*e == 0) return ops::zeros_like(grad);
    Tensor slope = ops::pow(input, wrapped_number(minus_one(*e))) * wrapped_number(*e);
    return grad * ops::conj(slope);
  }
  Tensor slope = exponent * ops::pow(input, exponent - wrapped_number(Scalar(1)));
  return ops::where(ops::eq(exponent, number(0)), number(0), grad * ops::conj(slope));
}

Tensor pow_backward_exponent(const Tensor& grad, const Tensor& input, const Tensor& exponent,
                             const Tensor& result) {
  Tensor base = input.dtype() == result.dtype() ? input : ops::_to_copy(input, result.dtype());
  Tensor at_zero = ops::eq(base, number(0));
  if (is_complex(exponent.dtype())) {
    at_zero = ops::logical_and(at_zero, ops::ge(ops::real(exponent), number(0)));
  } else {
    at_zero = ops::logical_and(at_zero, ops::ge(exponent, number(0)));
  }
  return grad * ops::conj(ops::where(at_zero, number(0), result * ops::log(base)));
}

Tensor inverse_square_distance(const Tensor& x, const Tensor& y) {
  const Tensor square = x * x + y * y;
  return ops::where(ops::eq(square, number(0)), number(0), ops::reciprocal(square));
}

Tensor sgn_backward(const Tensor& grad, const Tensor& input, const Tensor& sign) {
  if (!is_complex(input.dtype())) return ops::zeros_like(grad);
  Tensor size = ops::abs(input);
  Tensor across = grad / size - ops::real(grad / sign) * sign / size;
  return ops::where(ops::eq(size, number(0)), number(0), across);
}

Tensor cube(const Tensor& t) {
  return t.dtype() == DType::BF16 ? t * t * t : ops::pow(t, wrapped_number(Scalar(3)));
}

Scalar rest_of_one(const Scalar& v) {
  return v.is_complex() ? Scalar(1.0 - v.to_complex()) : Scalar(1 - v.to_double());
}

Tensor mish_backward(const Tensor& grad, const Tensor& input) {
  if (!thread_state.grad_enabled) return ops::_mish_backward(grad, input);
  Tensor t = ops::tanh(ops::softplus(input));
  return grad * (t + input * (number(1) - t * t) * ops::sigmoid(input));
}

Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& input) {
  Tensor s = ops::sigmoid(input);
  Tensor curve = s * (number(1) - s) * (number(2) + input * (number(1) - number(2) * s));
  return ops::conj(grad) * grad_output * ops::conj(curve);
}

Tensor gelu_erf_double_backward(const Tensor& grad, const Tensor& grad_output,
                                const Tensor& input) {
  Tensor squared = input * input;
  Tensor density = ops::exp(squared * number(-0.5)) *
                   number(0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return grad * grad_output * density * (number(2) - squared);
}

Tensor gelu_tanh_double_backward(const Tensor& grad, const Tensor& grad_output,
                                 const Tensor& input) {
  constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
  Tensor squared = input * input;
  Tensor t = ops::tanh(input * (number(k) + squared * number(k * c)));
  Tensor slope = number(k) + squared * number(3 * k * c), bend = input * number(6 * k * c);
  Tensor curve =
      (number(1) - t * t) * (slope + number(0.5) * input * (bend - number(2) * t * slope * slope));
  return grad * grad_output * curve;
}

}  // namespace msa::formulas
