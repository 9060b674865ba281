// Short-time Fourier transforms: frames of a signal, their spectra, and the way back.
#include "core/autograd/formulas.h"
#include "core/base/warn.h"
#include "core/composed/matrices.h"
#include "generated/composed_fft.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_fft.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

Tensor zeros_beside(const Tensor& t, int64_t n) {
  Dims sizes = t.sizes();
  sizes.back() = n;
  return ops::zeros(sizes, t.dtype(), t.device());
}

// `n` more samples at both ends of the last dimension.
Tensor padded(const Tensor& t, int64_t n, std::string_view mode) {
  if (n == 0) return t;
  const int64_t length = t.size(-1);
  const auto part = [&](int64_t start) { return ops::narrow(t, -1, start, n); };
  if (mode == "constant") return ops::cat({zeros_beside(t, n), t, zeros_beside(t, n)}, -1);
  if (mode == "replicate") {
    Dims sizes = t.sizes();
    sizes.back() = n;
    return ops::cat({ops::expand(ops::narrow(t, -1, 0, 1), sizes), t,
                     ops::expand(ops::narrow(t, -1, length - 1, 1), sizes)},
                    -1);
  }
  MSA_REQUIRE(mode == "reflect" || mode == "circular", NotImplemented,
              "stft: Unrecognised padding mode ", mode,
              "; it is one of 'constant', 'reflect', 'replicate' and 'circular'.");
  const bool reflect = mode == "reflect";
  MSA_REQUIRE(
      length >= n + reflect, Runtime,
      "stft: Padding size should be less than the corresponding input dimension, but got padding (",
      n, ", ", n, ") at a length of ", length, ".");
  if (reflect)
    return ops::cat({ops::flip(part(1), {-1}), t, ops::flip(part(length - 1 - n), {-1})}, -1);
  return ops::cat({part(length - n), t, part(0)}, -1);
}

// The window in the middle of n_fft places; undefined where every place counts fully.
Tensor centred_window(std::string_view op, const Tensor& window, int64_t length, int64_t n_fft,
                      DType dtype, Device device) {
  MSA_REQUIRE(length > 0 && length <= n_fft, Runtime, op,
              ": expected 0 < win_length <= n_fft, but got win_length=", length,
              " and n_fft=", n_fft, ".");
  MSA_REQUIRE(!window.defined() || (window.dim() == 1 && window.size(0) == length), Runtime, op,
              ": expected a 1D window tensor of size equal to win_length=", length,
              ", but got window with size ", DimsView(window.defined() ? window.sizes() : Dims()),
              ".");
  if (length == n_fft) return window;
  const Tensor inner = window.defined() ? window : ops::ones({length}, dtype, device);
  const int64_t left = (n_fft - length) / 2;
  return ops::cat({zeros_beside(inner, left), inner, zeros_beside(inner, n_fft - length - left)},
                  -1);
}

bool complex_wanted(const Tensor& input, const Tensor& window, OptBool return_complex) {
  if (return_complex) return *return_complex;
  MSA_REQUIRE(is_complex(input.dtype()) || (window.defined() && is_complex(window.dtype())),
              Runtime,
              "stft: requires the return_complex parameter be given for real inputs; pass "
              "return_complex=True.");
  return true;
}

// Frames (batch, frames, n_fft) added where they lie: (batch, length).
Tensor overlap_added(const Tensor& frames, int64_t length, int64_t hop) {
  return formulas::unfold_backward(frames, {frames.size(0), length}, 1, frames.size(2), hop);
}

void require_istft(const Tensor& input, int64_t n_fft, int64_t hop, bool onesided,
                   bool complex_result) {
  MSA_REQUIRE(is_complex(input.dtype()), Runtime,
              "istft: requires a complex-valued input tensor, matching the output from stft with "
              "return_complex=True.");
  MSA_REQUIRE(input.numel() > 0 && (input.dim() == 2 || input.dim() == 3), Runtime,
              "istft: expected a tensor with 2 or 3 non-empty dimensions, but its shape is ",
              DimsView(input.sizes()), ".");
  const int64_t bins = onesided ? n_fft / 2 + 1 : n_fft;
  MSA_REQUIRE(
      input.size(-2) == bins, Runtime,
      "istft: expected the frequency dimension (2nd to the last) of the input to match n_fft=",
      n_fft, " when onesided=", onesided, ", but its size is ", input.size(-2), " and not ", bins,
      ".");
  MSA_REQUIRE(hop > 0, Runtime, "istft: expected hop_length > 0, but got ", hop, ".");
  MSA_REQUIRE(!onesided || !complex_result, Runtime,
              "istft: cannot have onesided output if window or input is complex.");
}

// What each sample was multiplied by: the sum of the squared windows over it.
Tensor envelope(const Tensor& window, int64_t frames, int64_t length, int64_t hop) {
  const Tensor squares = ops::expand(ops::mul(window, window), {1, frames, window.size(0)});
  return overlap_added(squares, length, hop);
}

}  // namespace

Tensor stft(const Tensor& input, int64_t n_fft, OptInt hop_length, OptInt win_length,
            const Tensor& window, bool center, std::string_view pad_mode, bool normalized,
            OptBool onesided, OptBool return_complex, OptBool align_to_window) {
  const int64_t hop = hop_length.value_or(n_fft / 4);
  MSA_REQUIRE(is_inexact(input.dtype()) && (input.dim() == 1 || input.dim() == 2), Runtime,
              "stft: expected a 1D or 2D tensor of floating or complex values, but got ", input,
              ".");
  MSA_REQUIRE(!center || !align_to_window, Runtime,
              "stft: align_to_window should only be set when center = false");
  MSA_REQUIRE(hop > 0, Runtime, "stft: expected hop_length > 0, but got hop_length=", hop, ".");
  const bool complex = complex_wanted(input, window, return_complex);
  const Tensor batch = input.dim() == 1 ? ops::unsqueeze(input, 0) : input;
  const Tensor signal = center ? padded(batch, n_fft / 2, pad_mode) : batch;
  MSA_REQUIRE(n_fft > 0 && n_fft <= signal.size(-1), Runtime,
              "stft: expected 0 < n_fft <= ", signal.size(-1), ", but got n_fft=", n_fft, ".");
  const Tensor weights = centred_window("stft", window, win_length.value_or(n_fft), n_fft,
                                        to_real(input.dtype()), input.device());
  Tensor frames = ops::unfold(signal, -1, n_fft, hop);
  if (weights.defined()) frames = ops::mul(frames, weights);
  const bool half = onesided.value_or(!is_complex(frames.dtype())),
             real = !is_complex(frames.dtype());
  MSA_REQUIRE(!half || real, Runtime,
              "stft: Cannot have onesided output if window or input is complex");
  Tensor spectra = real ? ops::_fft_r2c(frames, {2}, normalized, half)
                        : ops::_fft_c2c(frames, {2}, normalized, true);
  spectra = ops::transpose(spectra, 1, 2);
  if (input.dim() == 1) spectra = ops::squeeze_dim(spectra, 0);
  return complex ? spectra : ops::view_as_real(spectra);
}

Tensor istft(const Tensor& input, int64_t n_fft, OptInt hop_length, OptInt win_length,
             const Tensor& window, bool center, bool normalized, OptBool onesided, OptInt length,
             bool return_complex) {
  const int64_t hop = hop_length.value_or(n_fft / 4);
  const bool half = onesided.value_or(input.dim() >= 2 && input.size(-2) != n_fft);
  require_istft(input, n_fft, hop, half, return_complex);
  Tensor weights = centred_window("istft", window, win_length.value_or(n_fft), n_fft,
                                  to_real(input.dtype()), input.device());
  if (!weights.defined()) weights = ops::ones({n_fft}, to_real(input.dtype()), input.device());
  MSA_REQUIRE(return_complex || !is_complex(weights.dtype()), Runtime,
              "istft: Complex windows are incompatible with return_complex=False");

  Tensor spectra = ops::transpose(input.dim() == 2 ? ops::unsqueeze(input, 0) : input, 1, 2);
  const int64_t frames = spectra.size(1), whole = n_fft + hop * (frames - 1),
                mode = normalized ? 1 : 2;
  if (!return_complex && !half) spectra = ops::narrow(spectra, 2, 0, n_fft / 2 + 1);
  const Tensor pieces = return_complex ? ops::_fft_c2c(spectra, {2}, mode, false)
                                       : ops::_fft_c2r(spectra, {2}, mode, n_fft);
  Tensor signal = overlap_added(ops::mul(pieces, weights), whole, hop);
  Tensor weight = envelope(weights, frames, whole, hop);

  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t wanted_end = length   ? start + *length
                             : center ? whole - n_fft / 2
                                      : whole,
                end = std::min(wanted_end, whole);
  signal = ops::slice(signal, 1, start, end);
  weight = ops::slice(weight, 1, start, end);
  if (weight.numel() && !weight.device().is_meta()) {
    const Scalar least = matrices::value_of(ops::min(ops::abs(weight)));
    MSA_REQUIRE(least.to_double() > 1e-11, Runtime, "istft: window overlap add min is ", least,
                "; the windows must cover every sample.");
  }
  signal = ops::div(signal, weight);
  if (wanted_end > end) {
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail.");
    signal = ops::cat({signal, zeros_beside(signal, wanted_end - end)}, -1);
  }
  return input.dim() == 2 ? ops::squeeze_dim(signal, 0) : signal;
}

}  // namespace msa::composed
