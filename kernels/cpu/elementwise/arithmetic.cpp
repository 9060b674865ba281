// Loops of the four operations and their relatives.
#ifndef MSA_ISA
#include "kernels/cpu/loop_failure.h"
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/arithmetic.cpp"
#include "kernels/cpu/each_isa.h"
#else

MSA_LOOPS(add, AllTypes, []<class T>(const Scalar* params) {
  return [alpha = number<T>(params[0])](T a, T b) -> T { return a + alpha * b; };
})
MSA_LOOPS(sub, Numbers, []<class T>(const Scalar* params) {
  return [alpha = number<T>(params[0])](T a, T b) -> T { return a - alpha * b; };
})
MSA_LOOPS(rsub, Numbers, []<class T>(const Scalar* params) {
  return [alpha = number<T>(params[0])](T a, T b) -> T { return b - alpha * a; };
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

MSA_LOOPS(conj_physical, AllTypes, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T a) -> T { return {a.re, -a.im}; };
  } else {
    return [](T a) -> T { return a; };
  }
})

// --- division with rounding
// ----------------------------------------------------------------------- Python's floor division:
// exact also where a / b rounds up to an integer.
template <class T>
inline T floor_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) {
      note_division_by_zero();
      return 0;
    }
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T> >(a));
    T quotient = static_cast<T>(a / b);
    return (a % b != 0 && (a < 0) != (b < 0)) ? static_cast<T>(quotient - 1) : quotient;
  } else {
    if (b == 0) return a / b;
    T rest = remainder_toward_zero(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= T(1);
    if (quotient == 0) return with_sign(T(0), a / b);
    T whole = round_down(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  }
}
MSA_LOOPS(floor_divide, RealNumbers,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return floor_divide(a, b); }; })
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
MSA_LOOPS(fmod, RealNumbers, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) {
        note_division_by_zero();
        return 0;
      }
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return 0;
      return a % b;
    } else {
      return remainder_toward_zero(a, b);
    }
  };
})
MSA_LOOPS(remainder, RealNumbers, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) {
        note_division_by_zero();
        return 0;
      }
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return 0;
      T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      T rest = remainder_toward_zero(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  };
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
  return near_a ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}
MSA_LOOPS(lerp_scalar, Inexact, []<class T>(const Scalar* params) {
  return [weight = number<T>(params[0])](T a, T b) -> T { return interpolate(a, b, weight); };
})
MSA_LOOPS(lerp_tensor, Inexact, []<class T>(const Scalar*) {
  return [](T a, T b, T weight) -> T { return interpolate(a, b, weight); };
})
MSA_LOOPS(addcmul, Numbers, []<class T>(const Scalar* params) {
  return [value = number<T>(params[0])](T a, T b, T c) -> T { return a + value * b * c; };
})
MSA_LOOPS(addcdiv, Inexact, []<class T>(const Scalar* params) {
  return [value = number<T>(params[0])](T a, T b, T c) -> T { return a + value * b / c; };
})
#endif
