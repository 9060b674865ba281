// Loops of the four operations and their relatives.
#ifndef MSA_ISA
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/loop_failure.h"
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/arithmetic.cpp"
#include "kernels/cpu/each_isa.h"
#else

// x + factor * y, rounded once where the instruction set can, as PyTorch's loops do.
template <class T>
inline T plus_multiple(T x, T factor, T y) {
#ifndef MSA_ISA_IS_BASE
  if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(factor, y, x);
  if constexpr (std::is_same_v<T, double>) return __builtin_fma(factor, y, x);
#endif
  return x + factor * y;
}

MSA_LOOPS(add, AllTypes, []<class T>(const Scalar* params) {
  return [alpha = number<T>(params[0])](T a, T b) -> T { return plus_multiple<T>(a, alpha, b); };
})
MSA_LOOPS(sub, Numbers, []<class T>(const Scalar* params) {
  const T factor = -number<T>(params[0]);
  return [factor](T a, T b) -> T { return plus_multiple<T>(a, factor, b); };
})
MSA_LOOPS(rsub, Numbers, []<class T>(const Scalar* params) {
  const T factor = -number<T>(params[0]);
  return [factor](T a, T b) -> T { return plus_multiple<T>(b, factor, a); };
})
MSA_LOOPS(mul, AllTypes, []<class T>(const Scalar*) { return [](T a, T b) -> T { return a * b; }; })
MSA_LOOPS(div, Inexact, []<class T>(const Scalar*) { return [](T a, T b) -> T { return a / b; }; })
MSA_LOOPS(neg, Numbers, []<class T>(const Scalar*) { return [](T a) -> T { return -a; }; })
MSA_LOOPS(reciprocal, Inexact,
          []<class T>(const Scalar*) { return [](T a) -> T { return T(1) / a; }; })
MSA_LOOPS(abs, Numbers, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T a) -> Real<T> { return hypot(a.re, a.im); };
  } else if constexpr (std::is_floating_point_v<T>) {
    return [](T a) -> T { return magnitude(a); };
  } else {
    return [](T a) -> T { return a < T(0) ? -a : a; };
  }
})
MSA_LOOPS(sign, Ordered,
          []<class T>(const Scalar*) { return [](T a) -> T { return (a > T(0)) - (a < T(0)); }; })
MSA_LOOPS(sgn, AllTypes, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T a) -> T {
      Real<T> length = hypot(a.re, a.im);
      return length == 0 ? T(0) : T(a.re / length, a.im / length);
    };
  } else {
    return [](T a) -> T { return (a > T(0)) - (a < T(0)); };
  }
})

MSA_LOOPS(_conj_physical, Complexes, []<class T>(const Scalar*) {
  return [](T a) -> T { return {a.re, -a.im}; };
})

// --- division with rounding
// -----------------------------------------------------------------------
#include "kernels/cpu/lanes.inl"

// C's fmod. While the quotient fits the mantissa it is at most one off, and a fused multiply-add
// gives the rest exactly; where it does not, all lanes go to the C library.
template <class T>
inline V<T> rest_toward_zero(V<T> a, V<T> b) {
#ifndef MSA_ISA_IS_BASE
  constexpr T limit = sizeof(T) == 4 ? T(1 << 22) : T(int64_t{1} << 51);
  const V<T> size = size_of<T>(a), divisor = size_of<T>(b), quotient = size / divisor;
  if (!any_lane(!((quotient < limit) & (divisor < T(__builtin_inf()))))) {
    V<T> rest = fma(-nearest_whole<T>(quotient), divisor, size);
    rest = rest < T(0) ? rest + divisor : rest;
    rest = rest >= divisor ? rest - divisor : rest;
    return rest == T(0) ? a * T(0) : a < T(0) ? -rest : rest;
  }
#endif
  V<T> rest;
  for (int i = 0; i < kLanes<T>; ++i) rest[i] = remainder_toward_zero(a[i], b[i]);
  return rest;
}

template <class T>
inline V<T> round_down(V<T> x) {
  constexpr T limit = sizeof(T) == 4 ? T(1 << 23) : T(int64_t{1} << 52);
  const V<T> size = size_of<T>(x), near = nearest_whole<T>(size), whole = x < T(0) ? -near : near;
  return size < limit ? (whole > x ? whole - T(1) : whole) : x;
}

// Python's floor division: exact also where a / b rounds up to an integer.
template <class T>
inline T floor_divide(T a, T b) {
  if (b == 0) {
    note_division_by_zero();
    return 0;
  }
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T> >(a));
  T quotient = static_cast<T>(a / b);
  return (a % b != 0 && (a < 0) != (b < 0)) ? static_cast<T>(quotient - 1) : quotient;
}
template <class T>
inline V<T> floor_divide_floats(V<T> a, V<T> b) {
  const V<T> rest = rest_toward_zero<T>(a, b), ratio = a / b;
  V<T> quotient = (a - rest) / b;
  quotient = (rest != T(0)) & ((b < T(0)) != (rest < T(0))) ? quotient - T(1) : quotient;
  const V<T> below = round_down<T>(quotient);
  const V<T> whole = quotient - below > T(0.5) ? below + T(1) : below;
  return b == T(0) ? ratio : quotient == T(0) ? ratio * T(0) : whole;
}
MSA_LOOPS(floor_divide, RealNumbers, []<class T>(const Scalar*) {
  if constexpr (std::is_integral_v<T>) {
    return [](T a, T b) -> T { return floor_divide(a, b); };
  } else {
    return [](V<T> a, V<T> b) -> V<T> { return floor_divide_floats<T>(a, b); };
  }
})
MSA_LOOPS(div_trunc, RealNumbers, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) {
        note_division_by_zero();
        return 0;
      }
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T> >(a));
      return a / b;
    } else {
      return round_to_zero(a / b);
    }
  };
})
// The rest of an integer division as C gives it.
template <class T>
inline T integer_rest(T a, T b) {
  if (b == 0) {
    note_division_by_zero();
    return 0;
  }
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return 0;
  return static_cast<T>(a % b);
}
MSA_LOOPS(fmod, RealNumbers, []<class T>(const Scalar*) {
  if constexpr (std::is_integral_v<T>) {
    return [](T a, T b) -> T { return integer_rest(a, b); };
  } else {
    return [](V<T> a, V<T> b) -> V<T> { return rest_toward_zero<T>(a, b); };
  }
})
MSA_LOOPS(remainder, RealNumbers, []<class T>(const Scalar*) {
  if constexpr (std::is_integral_v<T>) {
    return [](T a, T b) -> T {
      T rest = integer_rest(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    };
  } else {
    return [](V<T> a, V<T> b) -> V<T> {
      const V<T> rest = rest_toward_zero<T>(a, b);
      return (rest != T(0)) & ((rest < T(0)) != (b < T(0))) ? rest + b : rest;
    };
  }
})

// --- three operands
// -------------------------------------------------------------------------------
template <class T>
inline T interpolate(T a, T b, T weight) {
  bool near_a;
  if constexpr (kIsComplex<T>) {
    near_a = hypot(weight.re, weight.im) < Real<T>(0.5);
  } else {
    near_a = magnitude(weight) < T(0.5);
  }
  return plus_multiple<T>(near_a ? a : b, near_a ? weight : weight - T(1), b - a);
}
MSA_LOOPS(lerp_scalar, Inexact, []<class T>(const Scalar* params) {
  return [weight = number<T>(params[0])](T a, T b) -> T { return interpolate(a, b, weight); };
})
MSA_LOOPS(lerp_tensor, Inexact, []<class T>(const Scalar*) {
  return [](T a, T b, T weight) -> T { return interpolate(a, b, weight); };
})
MSA_LOOPS(addcmul, Numbers, []<class T>(const Scalar* params) {
  return [value = number<T>(params[0])](T a, T b, T c) -> T {
    return plus_multiple<T>(a, value * b, c);
  };
})
MSA_LOOPS(addcdiv, Inexact, []<class T>(const Scalar* params) {
  return [value = number<T>(params[0])](T a, T b, T c) -> T { return a + value * b / c; };
})
#endif
