// Gradient helpers of special functions.
#include <cmath>

#include "core/autograd/formulas.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"

namespace msa::formulas {
namespace {

Tensor number(double v) { return wrapped_number(Scalar(v)); }

}  // namespace

// cos(pi x) / x - sin(pi x) / (pi x^2), 0 at 0.
Tensor sinc_backward(const Tensor& grad, const Tensor& input) {
  Tensor angle = ops::mul(input, number(M_PI)),
         square = ops::mul(ops::mul(input, input), number(M_PI));
  Tensor slope = ops::div(ops::sub(ops::mul(angle, ops::cos(angle)), ops::sin(angle)), square);
  return ops::masked_fill(ops::mul(grad, ops::conj(slope)), ops::eq(square, number(0)), number(0));
}

// The angle of z turns along i z / |z|^2 = i / conj(z); real numbers keep theirs.
Tensor angle_backward(const Tensor& grad, const Tensor& input) {
  if (!is_complex(input.dtype())) return ops::zeros_like(grad);
  Tensor along = ops::div(wrapped_number(Scalar(c128(0, 1))), ops::conj(input));
  return ops::mul(grad, ops::masked_fill(along, ops::eq(input, number(0)), number(0)));
}

Tensor no_gradient(std::string_view op, std::string_view input) {
  fail(ErrorKind::NotImplemented, "the derivative for '", input, "' of ", op,
       " is not implemented; PyTorch has none either. ",
       "Take the gradient for its other inputs only.");
}

}  // namespace msa::formulas
