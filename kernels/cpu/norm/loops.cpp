// The loops of normalisation for each instruction set.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <type_traits>

#include "kernels/cpu/norm/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/norm/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_NORM_LOOPS(T)                                                   \
  template <>                                                               \
  const NormLoops<T>& norm_loops<T>() {                                     \
    static const NormLoops<T>* const chosen = MSA_CHOOSE(norm_loops_of<T>); \
    return *chosen;                                                         \
  }
MSA_NORM_LOOPS(float)
MSA_NORM_LOOPS(double)
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

namespace norm {

// Vectors sum in T over stretches short enough to lose nothing that shows; stretches add up in
// double.
constexpr int64_t kStretch = 1024;

// The sum of f(offset, lanes) over n elements; lanes past the end must be zero.
template <class T, class F>
inline double sum_of(int64_t n, F&& f) {
  constexpr int lanes = kLanes<T>;
  double total = 0;
  for (int64_t from = 0; from < n; from += kStretch) {
    const int64_t to = n - from < kStretch ? n : from + kStretch;
    V<T> sums[4] = {};
    int64_t i = from;
    for (; i + 4 * lanes <= to; i += 4 * lanes) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sums[k] += f(i + k * lanes, lanes);
    }
    for (; i + lanes <= to; i += lanes) sums[0] += f(i, lanes);
    if (i < to) sums[1] += f(i, static_cast<int>(to - i));
    total += static_cast<double>(sum_of_lanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
  return total;
}

template <class T>
inline V<T> load_some(const T* p, int lanes) {
  return lanes == kLanes<T> ? load_lanes(p) : load_lanes(p, lanes);
}
// x - mean in the lanes that count, zero in the others.
template <class T>
inline V<T> distance(const T* x, V<T> mean, int lanes) {
  V<T> d = load_some(x, lanes) - mean;
  for (int i = lanes; i < kLanes<T>; ++i) d[i] = 0;
  return d;
}

template <class T>
double sum(const T* x, int64_t n) {
  return sum_of<T>(n, [&](int64_t i, int lanes) { return load_some(x + i, lanes); });
}

template <class T>
double squares(const T* x, int64_t n, double mean) {
  const V<T> centre = splat(static_cast<T>(mean));
  return sum_of<T>(n, [&](int64_t i, int lanes) {
    const V<T> d = lanes == kLanes<T> ? load_lanes(x + i) - centre : distance(x + i, centre, lanes);
    return d * d;
  });
}

template <class T>
TwoSums products(const T* grad, const T* weight, const T* x, int64_t n, double mean) {
  const V<T> centre = splat(static_cast<T>(mean));
  const auto scaled = [&](int64_t i, int lanes) {
    const V<T> g = load_some(grad + i, lanes);
    return weight ? g * load_some(weight + i, lanes) : g;
  };
  return {sum_of<T>(n, scaled), sum_of<T>(n, [&](int64_t i, int lanes) {
            const V<T> d =
                lanes == kLanes<T> ? load_lanes(x + i) - centre : distance(x + i, centre, lanes);
            return scaled(i, lanes) * d;
          })};
}

// Fused, float products are exact in double.
template <bool Fused, class T>
inline T scaled(T x, T scale, T shift) {
  using Product = std::conditional_t<Fused, double, T>;
  return static_cast<T>(static_cast<Product>(x) * static_cast<Product>(scale) +
                        static_cast<Product>(shift));
}

template <bool Fused, class T>
void affine(const T* x, T* y, int64_t n, T scale, T shift, const T* weight, const T* bias) {
  const auto at = [=](int64_t i) { return scaled<Fused>(x[i], scale, shift); };
  if (!weight && !bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = at(i);
  } else if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = at(i) * weight[i] + bias[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      y[i] = at(i) * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
  }
}

template <class T>
void combine(const T* grad, const T* weight, const T* x, T* out, int64_t n, T a, T b, T c) {
  if (weight) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = grad[i] * weight[i] * a + x[i] * b + c;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = grad[i] * a + x[i] * b + c;
  }
}

template <class T>
void accumulate(const T* grad, const T* x, int64_t n, T mean, T rstd, T* weights, T* biases) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    weights[i] += grad[i] * ((x[i] - mean) * rstd);
    biases[i] += grad[i];
  }
}

}  // namespace norm

template <class T>
inline constexpr NormLoops<T> norm_loops_of = {
    norm::sum<T>,          norm::squares<T>, norm::products<T>,  norm::affine<false, T>,
    norm::affine<true, T>, norm::combine<T>, norm::accumulate<T>};
#endif
