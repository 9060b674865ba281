// The loops of normalisation for each instruction set.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/norm/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/norm/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_NORM_LOOPS(T)                                              \
  template <>                                                          \
  const NormLoops<T>& norm_loops<T>() {                                \
    static const NormLoops<T>* const chosen = MSA_CHOOSE(norm_loops_of<T>); \
    return *chosen;                                                    \
  }
MSA_NORM_LOOPS(float)
MSA_NORM_LOOPS(double)
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

namespace norm {

// As many values as a vector of double holds, widened.
inline V<double> widened(const double* p) { return load_lanes(p); }
inline V<double> widened(const float* p) {
  typedef float Half __attribute__((vector_size(MSA_VECTOR_BYTES / 2)));
  Half h;
  __builtin_memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, V<double>);
}

// The sum of f(offset) over whole vectors and of rest(offset) over what is left; two chains of adds.
template <class F, class Rest>
inline double sum_of(int64_t n, F&& f, Rest&& rest) {
  constexpr int lanes = kLanes<double>;
  V<double> even{}, odd{};
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even += f(i);
    odd += f(i + lanes);
  }
  double sum = sum_of_lanes<double>(even + odd);
  for (; i < n; ++i) sum += rest(i);
  return sum;
}

template <class T>
double sum(const T* x, int64_t n) {
  return sum_of(n, [&](int64_t i) { return widened(x + i); }, [&](int64_t i) { return static_cast<double>(x[i]); });
}

template <class T>
double squares(const T* x, int64_t n, double mean) {
  return sum_of(
      n,
      [&](int64_t i) {
        const V<double> d = widened(x + i) - mean;
        return d * d;
      },
      [&](int64_t i) {
        const double d = static_cast<double>(x[i]) - mean;
        return d * d;
      });
}

template <class T>
TwoSums products(const T* grad, const T* weight, const T* x, int64_t n, double mean) {
  constexpr int lanes = kLanes<double>;
  V<double> first{}, second{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V<double> g = weight ? widened(grad + i) * widened(weight + i) : widened(grad + i);
    first += g;
    second += g * (widened(x + i) - mean);
  }
  TwoSums sums{sum_of_lanes<double>(first), sum_of_lanes<double>(second)};
  for (; i < n; ++i) {
    const double g = static_cast<double>(grad[i]) * (weight ? static_cast<double>(weight[i]) : 1.0);
    sums.first += g;
    sums.second += g * (static_cast<double>(x[i]) - mean);
  }
  return sums;
}

template <class T>
void affine(const T* x, T* y, int64_t n, T scale, T shift, const T* weight, const T* bias) {
  if (!weight && !bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
  } else if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * scale + shift) * weight[i] + bias[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * scale + shift) * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
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
inline constexpr NormLoops<T> norm_loops_of = {norm::sum<T>,    norm::squares<T>, norm::products<T>,
                                               norm::affine<T>, norm::combine<T>, norm::accumulate<T>};
#endif
