// The arithmetic of interpolation: steps from output to input, and the weights of elements.
#pragma once
#include <cmath>
#include <vector>

#include "core/dispatch/options.h"
#include "core/tensor/tensor.h"

namespace msa::composed {

// How many input elements one output element steps over, in the arithmetic of T.
template <class T>
T step_of(const OptFloats& scales, size_t d, int64_t in, int64_t out) {
  if (scales && (*scales)[d] > 0) return static_cast<T>(1.0 / (*scales)[d]);
  return static_cast<T>(in) / static_cast<T>(out);
}
template <class T>
T step_of(const OptFloats& scales, size_t d, int64_t in, int64_t out, bool align_corners) {
  if (!align_corners) return step_of<T>(scales, d, in, out);
  return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
}

template <class T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class T>
T antialias_weight(T x, bool cubic) {
  x = std::abs(x);
  if (!cubic) return x < 1 ? 1 - x : T(0);
  const T a = T(-0.5);
  return x < 1 ? cubic_near(x, a) : x < 2 ? cubic_far(x, a) : T(0);
}

// What one output element mixes: neighbours from `first` on.
template <class T>
struct Window {
  int64_t first;
  std::vector<T> weights;
};

// The window of output element `i`, which widens with the step.
template <class T>
Window<T> antialias_window(int64_t in, int64_t i, T step, bool cubic) {
  const T widen = std::max(step, T(1)), reach = (cubic ? T(2) : T(1)) * widen;
  const T center = step * (static_cast<T>(i) + T(0.5));
  const auto begin = std::max<int64_t>(static_cast<int64_t>(center - reach + T(0.5)), 0);
  const auto end = std::min<int64_t>(static_cast<int64_t>(center + reach + T(0.5)), in);
  Window<T> window{begin, {}};
  T sum = 0;
  for (int64_t j = begin; j < end; ++j) {
    window.weights.push_back(
        antialias_weight((static_cast<T>(j) - center + T(0.5)) / widen, cubic));
    sum += window.weights.back();
  }
  for (T& w : window.weights)
    if (sum != 0) w /= sum;
  return window;
}

// (N, C, H, W) of uint8, which is interpolated in integers.
inline bool is_image_of_bytes(const Tensor& input) {
  return input.dtype() == DType::U8 && input.dim() == 4;
}
Tensor resize_bytes(const Tensor& input, const Dims& output_size, const OptFloats& scales,
                    bool align_corners, bool cubic, bool antialias);

}  // namespace msa::composed
