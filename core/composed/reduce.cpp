// Reductions composed of others: moments with their overloads, norms, logsumexp.
#include <cmath>

#include "core/autograd/meta.h"
#include "core/base/warn.h"
#include "generated/composed_reduce.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

double correction_of(const OptScalar& correction) {
  return correction ? correction->to_double() : 1.0;
}
double correction_of(bool unbiased) { return unbiased ? 1.0 : 0.0; }

void require_inexact(const char* op, const Tensor& input) {
  MSA_REQUIRE(is_inexact(input.dtype()), Runtime, op,
              ": only support floating point and complex dtypes, got ", input.dtype(),
              "; convert with .float() first");
}

// Refuses integers; where the result is not a number for want of elements, says why.
Tensor checked(const char* op, const Tensor& input, const OptDims& dim, double correction) {
  require_inexact(op, input);
  Dims kept = reduced_sizes(input.sizes(), reduced_dims(op, dim, input.dim()), false);
  int64_t results = product(kept), each = results ? input.numel() / results : 0;
  if (results && static_cast<double>(each) <= correction)
    warn(op, ": ", each, " element(s) with a correction of ", correction,
         " leave no degrees of freedom, the result is inf or nan; pass correction=0");
  return input;
}

// Complex variance is that of both parts together.
Tensor var_of(const char* op, const Tensor& input, const OptDims& dim, double correction,
              bool keepdim) {
  checked(op, input, dim, correction);
  if (!is_complex(input.dtype())) return ops::_var(input, dim, correction, keepdim);
  return ops::add(ops::_var(ops::real(input), dim, correction, keepdim),
                  ops::_var(ops::imag(input), dim, correction, keepdim));
}
Tensor std_of(const Tensor& input, const OptDims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype())) return ops::sqrt(var_of("std", input, dim, correction, keepdim));
  return ops::_std(checked("std", input, dim, correction), dim, correction, keepdim);
}
Pair var_mean_of(const Tensor& input, const OptDims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype()))
    return {var_of("var_mean", input, dim, correction, keepdim),
            ops::mean_dim(input, dim, keepdim)};
  return ops::_var_mean(checked("var_mean", input, dim, correction), dim, correction, keepdim);
}
Pair std_mean_of(const Tensor& input, const OptDims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype()))
    return {std_of(input, dim, correction, keepdim), ops::mean_dim(input, dim, keepdim)};
  return ops::_std_mean(checked("std_mean", input, dim, correction), dim, correction, keepdim);
}

}  // namespace

Tensor var_correction(const Tensor& input, const OptDims& dim, const OptScalar& correction,
                      bool keepdim) {
  return var_of("var", input, dim, correction_of(correction), keepdim);
}
Tensor var_dim(const Tensor& input, const OptDims& dim, bool unbiased, bool keepdim) {
  return var_of("var", input, dim, correction_of(unbiased), keepdim);
}
Tensor var(const Tensor& input, bool unbiased) {
  return var_of("var", input, {}, correction_of(unbiased), false);
}
Tensor std_correction(const Tensor& input, const OptDims& dim, const OptScalar& correction,
                      bool keepdim) {
  return std_of(input, dim, correction_of(correction), keepdim);
}
Tensor std_dim(const Tensor& input, const OptDims& dim, bool unbiased, bool keepdim) {
  return std_of(input, dim, correction_of(unbiased), keepdim);
}
Tensor std(const Tensor& input, bool unbiased) {
  return std_of(input, {}, correction_of(unbiased), false);
}

Pair var_mean_correction(const Tensor& input, const OptDims& dim, const OptScalar& correction,
                         bool keepdim) {
  return var_mean_of(input, dim, correction_of(correction), keepdim);
}
Pair var_mean_dim(const Tensor& input, const OptDims& dim, bool unbiased, bool keepdim) {
  return var_mean_of(input, dim, correction_of(unbiased), keepdim);
}
Pair var_mean(const Tensor& input, bool unbiased) {
  return var_mean_of(input, {}, correction_of(unbiased), false);
}
Pair std_mean_correction(const Tensor& input, const OptDims& dim, const OptScalar& correction,
                         bool keepdim) {
  return std_mean_of(input, dim, correction_of(correction), keepdim);
}
Pair std_mean_dim(const Tensor& input, const OptDims& dim, bool unbiased, bool keepdim) {
  return std_mean_of(input, dim, correction_of(unbiased), keepdim);
}
Pair std_mean(const Tensor& input, bool unbiased) {
  return std_mean_of(input, {}, correction_of(unbiased), false);
}

Pair aminmax(const Tensor& input, OptInt dim, bool keepdim) {
  Dims dims = dim ? Dims{*dim} : Dims{};
  return {ops::amin(input, dims, keepdim), ops::amax(input, dims, keepdim)};
}

// An infinite or negative order has no value for no elements, as 0 has for the others.
static void require_elements(const Tensor& input, double order, const OptDims& dim) {
  if (input.numel() || (order >= 0 && !std::isinf(order))) return;
  MSA_REQUIRE(dim && !dim->empty(), Runtime, "linalg.vector_norm: cannot compute the ", order,
              " norm of ", input, ", an empty tensor: the operation does not have an identity.");
  for (int64_t d : *dim) {
    MSA_REQUIRE(input.size(d) != 0, Runtime, "linalg.vector_norm: cannot compute the ", order,
                " norm over dimension ", d, " of ", input,
                ", which is empty: the operation does not have an identity.");
  }
}

Tensor vector_norm(const Tensor& x, const Scalar& ord, const OptDims& dim, bool keepdim,
                   OptDType dtype) {
  require_inexact("linalg.vector_norm", x);
  MSA_REQUIRE(!ord.is_complex(), Runtime,
              "linalg.vector_norm: the order of a norm is a real number, but got ", ord);
  Tensor input = dtype ? ops::to_dtype(x, *dtype) : x;
  double order = ord.to_double();
  require_elements(input, order, dim);
  if (is_complex(input.dtype())) input = ops::abs(input);
  if (std::isinf(order)) {
    Tensor sizes = ops::abs(input);
    Dims dims = dim ? *dim : Dims{};
    return order > 0 ? ops::amax(sizes, dims, keepdim) : ops::amin(sizes, dims, keepdim);
  }
  return ops::_vector_norm(input, order, dim, keepdim);
}

Tensor logsumexp(const Tensor& input, const Dims& dim, bool keepdim) {
  Tensor x = is_integral(input.dtype()) ? ops::to_dtype(input, default_dtype()) : input;
  if (x.numel() == 0) return ops::log(ops::sum_dim(ops::exp(x), dim, keepdim));
  Tensor real_part = is_complex(x.dtype()) ? ops::real(x) : x;
  Tensor top = detach(ops::amax(real_part, dim, true));
  top = ops::masked_fill(top, ops::isinf(top), wrapped_number(Scalar(int64_t{0})));
  Tensor sum = ops::log(ops::sum_dim(ops::exp(ops::sub(x, top)), dim, true));
  Tensor out = ops::add(sum, top);
  return keepdim ? out : ops::squeeze_dims(out, reduced_dims("logsumexp", dim, x.dim()));
}

}  // namespace msa::composed
