// Loops of exponentials, logarithms, trigonometry, powers and rounding: SLEEF for real numbers, the
// C library for complex ones.
#ifndef MSA_ISA
#ifdef __x86_64__
#include <immintrin.h>
#endif
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/math.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/erf.inl"
// --- one function for both kinds
// ------------------------------------------------------------------
#define MSA_MATH(name)                                      \
  MSA_LOOPS(name, Inexact, []<class T>(const Scalar*) {     \
    if constexpr (kIsComplex<T>) {                          \
      return [](T z) -> T { return complex::name(z); };     \
    } else {                                                \
      return [](V<T> x) -> V<T> { return sleef::name(x); }; \
    }                                                       \
  })
MSA_MATH(exp)
MSA_MATH(log)
MSA_MATH(sin)
MSA_MATH(cos)
MSA_MATH(tan)
MSA_MATH(asin)
MSA_MATH(acos)
MSA_MATH(atan)
MSA_MATH(sinh)
MSA_MATH(cosh)
MSA_MATH(tanh)
MSA_MATH(atanh)

// --- logarithms of large numbers
// SLEEF's asinh, acosh and log1p square or add first, and overflow below the largest number. Beyond
// this one, 1 makes no difference to them any more.
template <class T>
inline constexpr T kOneIsLost = sizeof(T) == 4 ? T(1e10) : T(1e20);
template <class T>
inline V<T> or_log_of_double(V<T> y, V<T> size, V<T> x) {
  if (!any_lane(size > kOneIsLost<T>)) return y;
  const V<T> far = sleef::log(size) + T(M_LN2);
  return size > kOneIsLost<T> ? (x < T(0) ? -far : far) : y;
}
MSA_LOOPS(asinh, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return complex::asinh(z); };
  } else {
    return [](V<T> x) -> V<T> { return or_log_of_double<T>(sleef::asinh(x), size_of<T>(x), x); };
  }
})
MSA_LOOPS(acosh, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return complex::acosh(z); };
  } else {
    return [](V<T> x) -> V<T> { return or_log_of_double<T>(sleef::acosh(x), x, x); };
  }
})

// --- functions that complex numbers reach another way
// ----------------------------------------------
template <class T>
inline T scaled_log(T z, double factor) {
  T v = complex::log(z);
  return {static_cast<Real<T> >(v.re * factor), static_cast<Real<T> >(v.im * factor)};
}
MSA_LOOPS(log2, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return scaled_log(z, M_LOG2E); };
  } else {
    return [](V<T> x) -> V<T> { return sleef::log2(x); };
  }
})
MSA_LOOPS(log10, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return scaled_log(z, M_LOG10E); };
  } else {
    return [](V<T> x) -> V<T> { return sleef::log10(x); };
  }
})
// log(1 + z): |1 + z|^2 - 1 is formed without the cancellation, |z| being small.
template <class T>
inline T complex_log1p(T z) {
  using R = Real<T>;
  R re = z.re + 1, theta = angle_of(z.im, re);
  if (hypot(z.re, z.im) < R(0.5)) return {log_1p(z.re * (2 + z.re) + z.im * z.im) / 2, theta};
  return {natural_log(hypot(re, z.im)), theta};
}
MSA_LOOPS(log1p, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return complex_log1p(z); };
  } else {
    return [](V<T> x) -> V<T> {
      const V<T> y = sleef::log1p(x);
      return any_lane(x > kOneIsLost<T>) ? (x > kOneIsLost<T> ? sleef::log(x) : y) : y;
    };
  }
})
MSA_LOOPS(expm1, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T {
      using R = Real<T>;
      R half = sine(z.im / 2), grown = exp_minus_1(z.re);
      R re = grown * cosine(z.im) - 2 * half * half;
      return {re, (grown + 1) * sine(z.im)};
    };
  } else {
    return [](V<T> x) -> V<T> { return sleef::expm1(x); };
  }
})
MSA_LOOPS(exp2, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return complex::exp(z * T(Real<T>(M_LN2))); };
  } else {
    return [](V<T> x) -> V<T> { return sleef::exp2(x); };
  }
})
MSA_LOOPS(sqrt, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return complex::sqrt(z); };
  } else {
    return [](T x) -> T { return square_root(x); };
  }
})
MSA_LOOPS(rsqrt, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return T(1) / complex::sqrt(z); };
  } else {
    return [](T x) -> T { return T(1) / square_root(x); };
  }
})
MSA_LOOPS(sigmoid, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> T { return T(1) / (T(1) + complex::exp(-z)); };
  } else {
    return [](V<T> x) -> V<T> { return T(1) / (T(1) + sleef::exp(-x)); };
  }
})

MSA_LOOPS(erf, Floats,
          []<class T>(const Scalar*) { return [](V<T> x) -> V<T> { return error_function(x); }; })
MSA_LOOPS(erfc, Floats,
          []<class T>(const Scalar*) { return [](V<T> x) -> V<T> { return sleef::erfc(x); }; })
MSA_LOOPS(lgamma, Floats,
          []<class T>(const Scalar*) { return [](V<T> x) -> V<T> { return sleef::lgamma(x); }; })
MSA_LOOPS(atan2, Floats, []<class T>(const Scalar*) {
  return [](V<T> y, V<T> x) -> V<T> { return sleef::atan2(y, x); };
})
MSA_LOOPS(hypot, Floats, []<class T>(const Scalar*) {
  return [](V<T> x, V<T> y) -> V<T> { return sleef::hypot(x, y); };
})
// Equal infinities have no difference to speak of: theirs counts as 0, or as what the exponentials
// give.
template <class T>
inline T complex_logaddexp(T a, T b) {
  bool endless = a.re == b.re && a.re - a.re != 0;
  if (endless) return a.re < 0 ? b : complex::log(complex::exp(a) + complex::exp(b));
  bool first = a.re >= b.re || a.re != a.re;
  T high = first ? a : b, low = first ? b : a;
  return high + complex_log1p(complex::exp(low - high));
}
MSA_LOOPS(logaddexp, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T a, T b) -> T { return complex_logaddexp(a, b); };
  } else {
    return [](V<T> a, V<T> b) -> V<T> {
      V<T> apart = a == b ? V<T>{} : a > b ? a - b : b - a;
      return (a > b ? a : b) + sleef::log1p(sleef::exp(-apart));
    };
  }
})
MSA_LOOPS(angle, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T z) -> Real<T> { return angle_of(z.im, z.re); };
  } else {
    return [](T x) -> T { return x != x ? x : x < 0 ? T(M_PI) : T(0); };
  }
})

// --- rounding
// --------------------------------------------------------------------------------------
#define MSA_ROUND(name, function)                           \
  MSA_LOOPS(name, RealNumbers, []<class T>(const Scalar*) { \
    return [](T x) -> T {                                   \
      if constexpr (std::is_integral_v<T>)                  \
        return x;                                           \
      else                                                  \
        return function(x);                                 \
    };                                                      \
  })
MSA_ROUND(floor, round_down)
MSA_ROUND(ceil, round_up)
MSA_ROUND(trunc, round_to_zero)
MSA_ROUND(round, round_even)
MSA_LOOPS(frac, Floats,
          []<class T>(const Scalar*) { return [](T x) -> T { return x - round_to_zero(x); }; })

// --- powers
// ----------------------------------------------------------------------------------------
template <class T>
inline T integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : 0;
  T result = 1;
  for (; exponent; exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2) result = static_cast<T>(result * base);
    base = static_cast<T>(base * base);
  }
  return result;
}
template <class T>
inline T complex_power(T base, T exponent) {
  if (exponent == T(0)) return T(1);
  if (base == T(0))
    return exponent.im == 0 && exponent.re > 0 ? T(0) : complex::exp(exponent * complex::log(base));
  return complex::exp(exponent * complex::log(base));
}
constexpr auto make_general_pow = []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T a, T b) -> T { return complex_power(a, b); };
  } else if constexpr (std::is_same_v<T, bool>) {
    return [](bool a, bool b) -> bool { return a || !b; };
  } else if constexpr (std::is_integral_v<T>) {
    return [](T a, T b) -> T { return integer_power(a, b); };
  } else {
    return [](V<T> a, V<T> b) -> V<T> { return sleef::pow(a, b); };
  }
};

// With one exponent for all, common ones are products and roots, as in PyTorch.
template <class T, class F>
inline void one_operand(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                        const F& f) {
  const int64_t two[] = {strides[0], strides[1], strides[3], strides[4]};
  ElementLoop<T, T>::run(data, two, inner, outer, f, std::index_sequence<0>{});
}
template <class T>
inline T root_of(T x) {
  if constexpr (kIsComplex<T>) {
    return complex::sqrt(x);
  } else {
    return square_root(x);
  }
}
template <class T>
inline bool common_power(double exponent, char* const* data, const int64_t* strides, int64_t inner,
                         int64_t outer) {
  auto run = [&](auto f) {
    one_operand<T>(data, strides, inner, outer, f);
    return true;
  };
  if (exponent == 2) return run([](T x) -> T { return x * x; });
  if (exponent == 3) return run([](T x) -> T { return x * x * x; });
  if (exponent == 0.5) return run([](T x) -> T { return root_of(x); });
  if (exponent == -0.5) return run([](T x) -> T { return T(1) / root_of(x); });
  if (exponent == -1) return run([](T x) -> T { return T(1) / x; });
  if (exponent == -2) return run([](T x) -> T { return T(1) / (x * x); });
  if (exponent == 1) return run([](T x) -> T { return x; });
  return false;
}
template <class T>
void pow_loop(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
              const Scalar* params) {
  bool same_exponent = strides[2] == 0 && (outer == 1 || strides[5] == 0);
  const T& exponent = *reinterpret_cast<const T*>(data[2]);
  if constexpr (std::is_floating_point_v<T>) {
    if (same_exponent && common_power<T>(exponent, data, strides, inner, outer)) return;
  } else if constexpr (kIsComplex<T>) {
    if (same_exponent && exponent.im == 0 &&
        common_power<T>(exponent.re, data, strides, inner, outer))
      return;
  }
  loop<decltype(make_general_pow), T>(data, strides, inner, outer, params);
}
template <class... T>
constexpr LoopTable make_pow_table(Types<T...>) {
  LoopTable table;
  ((table.loops[index_of<T>()] = &pow_loop<T>), ...);
  return table;
}
constexpr LoopTable table_pow = make_pow_table(Join<Bool, SmallInts, Inexact>{});
MSA_CHOOSE_TABLE(pow)
#endif
