// Windows by formula, in the order of PyTorch's steps: they feed spectra that are compared number
// by number.
#include <numbers>

#include "core/composed/values.h"
#include "generated/composed_fft.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_special.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// `shape(k, last)` for k = 0 to `last`, of which a periodic window leaves out the end.
template <class Shape>
Tensor window(const char* op, int64_t length, bool periodic, OptDType dtype, OptDevice device,
              Shape&& shape) {
  const DType type = dtype.value_or(default_dtype());
  MSA_REQUIRE(is_floating(type), Runtime, op, ": expects floating point dtypes, got ", type, ".");
  MSA_REQUIRE(length >= 0, Runtime, op,
              ": requires non-negative window_length, got window_length=", length, ".");
  if (length <= 1) return ops::ones({length}, type, device);
  const int64_t points = length + periodic;
  const Tensor whole = shape(ops::arange(points, type, device), static_cast<double>(points - 1));
  return periodic ? ops::narrow(whole, 0, 0, length) : whole;
}

Tensor raised_cosine(const Tensor& k, double last, double alpha, double beta) {
  const Tensor angle = ops::mul(k, number(2 * std::numbers::pi / last));
  return ops::add(ops::mul(ops::cos(angle), number(-beta)), number(alpha));
}

}  // namespace

Tensor hann_window(int64_t length, bool periodic, OptDType dtype, OptDevice device) {
  return window("hann_window", length, periodic, dtype, device,
                [](const Tensor& k, double last) { return raised_cosine(k, last, 0.5, 0.5); });
}

Tensor hamming_window(int64_t length, bool periodic, double alpha, double beta, OptDType dtype,
                      OptDevice device) {
  return window("hamming_window", length, periodic, dtype, device,
                [&](const Tensor& k, double last) { return raised_cosine(k, last, alpha, beta); });
}

Tensor bartlett_window(int64_t length, bool periodic, OptDType dtype, OptDevice device) {
  return window("bartlett_window", length, periodic, dtype, device,
                [](const Tensor& k, double last) {
                  const Tensor rise = ops::mul(k, number(2 / last));
                  const Tensor fall = ops::add(ops::neg(rise), number(2));
                  return ops::where(ops::le(k, number(std::floor(last / 2))), rise, fall);
                });
}

Tensor blackman_window(int64_t length, bool periodic, OptDType dtype, OptDevice device) {
  return window("blackman_window", length, periodic, dtype, device,
                [](const Tensor& k, double last) {
                  const Tensor angle = ops::mul(k, number(std::numbers::pi / last));
                  const Tensor fine = ops::mul(ops::cos(ops::mul(angle, number(4))), number(0.08));
                  const Tensor coarse = ops::mul(ops::cos(ops::mul(angle, number(2))), number(0.5));
                  return ops::add(ops::sub(fine, coarse), number(0.42));
                });
}

Tensor kaiser_window(int64_t length, bool periodic, double beta, OptDType dtype, OptDevice device) {
  return window("kaiser_window", length, periodic, dtype, device,
                [&](const Tensor& k, double last) {
                  const Tensor x = ops::sub(ops::mul(k, number(2 / last)), number(1));
                  const Tensor inside = ops::rsub(ops::mul(x, x), number(1));
                  const Tensor root = ops::sqrt(ops::clamp_min(inside, number(0)));
                  const Tensor peak = ops::i0(ops::full({}, Scalar(beta), DType::F64, k.device()));
                  return ops::div(ops::i0(ops::mul(root, number(beta))), peak);
                });
}

}  // namespace msa::composed
