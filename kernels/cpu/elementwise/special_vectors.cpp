// Loops of special functions that work on whole vectors: Chebyshev series in double, for float too.
#ifndef MSA_ISA
#ifdef __x86_64__
#include <immintrin.h>
#endif
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/special_vectors.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/elementwise/special_fits.inl"
#include "kernels/cpu/lanes.inl"

using D = V<double>;
constexpr double kNan = __builtin_nan(""), kInf = __builtin_inf();

// --- tools
// ----------------------------------------------------------------------------------------
inline D root(D x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = square_root(x[i]);
  return x;
}

// How many terms of a series count for results of type T.
template <class T, int N>
constexpr int terms_that_count(const double (&terms)[N]) {
  const double least = sizeof(T) == 4 ? 1e-10 : 0;
  int n = N;
  while (n > 1 && terms[n - 1] < least && terms[n - 1] > -least) --n;
  return n;
}

// Clenshaw's sum of a series, x in [low, high].
template <class T, int N>
inline D chebyshev(const double (&terms)[N], double low, double high, D x) {
  const int n = terms_that_count<T>(terms);
  const D twice = (x - (low + high) / 2) * (4 / (high - low));
  D now{}, before{};
#pragma GCC unroll 4
  for (int i = n - 1; i > 0; --i) {
    const D next = fma(twice, now, terms[i] - before);
    before = now;
    now = next;
  }
  return fma(twice * 0.5, now, terms[0] - before);
}

// fn, which takes double vectors, for the element type T.
template <class T, class F>
inline V<T> in_double(F fn, V<T> x) {
  if constexpr (sizeof(T) == 8) {
    return fn(x);
  } else {
    typedef float Half __attribute__((vector_size(MSA_VECTOR_BYTES / 2)));
    Half halves[2];
    __builtin_memcpy(halves, &x, sizeof x);
    for (Half& half : halves)
      half = __builtin_convertvector(fn(__builtin_convertvector(half, D)), Half);
    __builtin_memcpy(&x, halves, sizeof x);
    return x;
  }
}
#define MSA_IN_DOUBLE(name, function)                                                    \
  MSA_LOOPS(name, Floats, []<class T>(const Scalar*) {                                   \
    return [](V<T> x) -> V<T> { return in_double<T>([](D v) { return function; }, x); }; \
  })

// --- the inverse of the error function
// ------------------------------------------------------------
// erfinv(x) / x, given w = -log(1 - x^2); the far pieces only where some lane is there.
template <class T>
inline D inverse_erf_over_x(D w) {
  D out = chebyshev<T>(kInverseErf0, 0, 6.25, w);
  if (!any_lane(w > 6.25)) return out;
  const D s = root(w);
  out = w > 6.25 ? chebyshev<T>(kInverseErf1, 2.5, 4, s) : out;
  if (!any_lane(s > 4)) return out;
  out = s > 4 ? chebyshev<T>(kInverseErf2, 4, 6.25, s) : out;
  return s > 6.25 ? chebyshev<T>(kInverseErf3, 6.25, 27.5, s) : out;
}
template <class T>
inline D inverse_erf(D x) {
  const D size = size_of<double>(x);
  const D out = x * inverse_erf_over_x<T>(-sleef::log((1.0 - x) * (1.0 + x)));
  return size < 1.0 ? out : size == 1.0 ? x * kInf : x * kNan;
}
// The quantile of the normal distribution: x = 2p - 1, so that 1 - x^2 = 4p (1 - p).
template <class T>
inline D normal_quantile(D p) {
  const D out = (p * 2.0 - 1.0) * M_SQRT2 * inverse_erf_over_x<T>(-sleef::log(4.0 * p * (1.0 - p)));
  const D edge = p == 0.0 ? splat(-kInf) : p == 1.0 ? splat(kInf) : splat(kNan);
  return (p > 0.0) & (p < 1.0) ? out : edge;
}
MSA_IN_DOUBLE(erfinv, inverse_erf<T>(v))
MSA_IN_DOUBLE(ndtri, normal_quantile<T>(v))

// --- modified Bessel functions
// --------------------------------------------------------------------
// exp(-|x|) I0(x) and exp(-|x|) I1(x).
template <class T>
inline D scaled_i0(D x) {
  const D size = size_of<double>(x);
  const D near = chebyshev<T>(kI0Near, 0, 8, size);
  if (!any_lane(size > 8)) return near;
  return size > 8 ? chebyshev<T>(kI0Far, 0, 1, 8.0 / size) / root(size) : near;
}
template <class T>
inline D scaled_i1(D x) {
  const D size = size_of<double>(x);
  const D near = x * chebyshev<T>(kI1Near, 0, 8, size);
  if (!any_lane(size > 8)) return near;
  const D far = chebyshev<T>(kI1Far, 0, 1, 8.0 / size) / root(size);
  return size > 8 ? (x < 0.0 ? -far : far) : near;
}
MSA_IN_DOUBLE(i0e, scaled_i0<T>(v))
MSA_IN_DOUBLE(i1e, scaled_i1<T>(v))
MSA_IN_DOUBLE(i0, scaled_i0<T>(v) * sleef::exp(size_of<double>(v)))
MSA_IN_DOUBLE(i1, scaled_i1<T>(v) * sleef::exp(size_of<double>(v)))

// K near 0 is a smooth part and a logarithm times I (DLMF 10.31.1).
template <class T>
inline D near_k0(D x) {
  const D q = x * x;
  return chebyshev<T>(kK0Near, 0, 4, q) - sleef::log(x * 0.5) * chebyshev<T>(kI0Small, 0, 4, q);
}
template <class T>
inline D near_k1(D x) {
  const D q = x * x;
  return chebyshev<T>(kK1Near, 0, 4, q) / x +
         sleef::log(x * 0.5) * x * chebyshev<T>(kI1Small, 0, 4, q);
}
template <class T>
inline D far_k(int order, D x) {
  const D u = 2.0 / x;
  return (order ? chebyshev<T>(kK1Far, 0, 1, u) : chebyshev<T>(kK0Far, 0, 1, u)) / root(x);
}
template <class T, int Order, bool Scaled>
inline D bessel_k(D x) {
  const D near = Order ? near_k1<T>(x) : near_k0<T>(x), grown = sleef::exp(Scaled ? x : -x);
  D out = Scaled ? near * grown : near;
  if (any_lane(x > 2.0))
    out = x > 2.0 ? (Scaled ? far_k<T>(Order, x) : far_k<T>(Order, x) * grown) : out;
  return x > 0.0 ? out : x == 0.0 ? splat(kInf) : splat(kNan);
}
MSA_IN_DOUBLE(modified_bessel_k0, (bessel_k<T, 0, false>(v)))
MSA_IN_DOUBLE(modified_bessel_k1, (bessel_k<T, 1, false>(v)))
MSA_IN_DOUBLE(scaled_modified_bessel_k0, (bessel_k<T, 0, true>(v)))
MSA_IN_DOUBLE(scaled_modified_bessel_k1, (bessel_k<T, 1, true>(v)))

// --- with logarithms
// ------------------------------------------------------------------------------
MSA_LOOPS(logaddexp2, Floats, []<class T>(const Scalar*) {
  return [](V<T> a, V<T> b) -> V<T> {
    const V<T> apart = a == b ? V<T>{} : size_of<T>(a - b);
    return (a > b ? a : b) + sleef::log1p(sleef::exp2(-apart)) * T(M_LOG2E);
  };
})

using LogitTypes = Join<Floats, Types<f16, bf16> >;  // halves round at each step
MSA_LOOPS(_logit, LogitTypes, []<class T>(const Scalar* params) {
  const T outside = number<T>(params[2]), low = number<T>(params[0]), high = number<T>(params[1]);
  const bool clamps = outside == outside;
  if constexpr (!std::is_floating_point_v<T>) {
    return [=](T x) -> T {
      if (clamps) x = x < low ? low : x > high ? high : x;
      return T(natural_log(static_cast<float>(T(x / T(1 - x)))));
    };
  } else {
    return [=](V<T> x) -> V<T> {
      if (clamps) x = x < low ? splat(low) : x > high ? splat(high) : x;
      return sleef::log(x / (T(1) - x));
    };
  }
})
MSA_LOOPS(_logit_slope, Floats, []<class T>(const Scalar* params) {
  return [low = number<T>(params[0]), high = number<T>(params[1]), outside = number<T>(params[2])](
             T grad, T x) -> T {
    const T slope = grad / (x * (T(1) - x));
    return (x < low) | (x > high) ? outside : slope;
  };
})

// --- on the bits
// ----------------------------------------------------------------------------------
MSA_LOOPS(copysign, Floats,
          []<class T>(const Scalar*) { return [](T x, T y) -> T { return with_sign(x, y); }; })
MSA_LOOPS(_nan_to_num, Floats, []<class T>(const Scalar* params) {
  return [nan = number<T>(params[0]), high = number<T>(params[1]),
          low = number<T>(params[2])](T x) -> T {
    const T bounded = x == T(kInf) ? high : x == T(-kInf) ? low : x;
    return x != x ? nan : bounded;
  };
})
MSA_LOOPS(heaviside, Ordered, []<class T>(const Scalar*) {
  return [](T x, T y) -> T { return x == T(0) ? y : static_cast<T>(x > T(0)); };
})
#endif
