// Loops of comparisons, logic, tests of floating values, and the larger and smaller of two.
#ifndef MSA_ISA
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/compare.cpp"
#include "kernels/cpu/each_isa.h"
#else

MSA_LOOPS(eq, AllTypes, []<class T>(const Scalar*) { return [](T a, T b) { return a == b; }; })
MSA_LOOPS(ne, AllTypes, []<class T>(const Scalar*) { return [](T a, T b) { return a != b; }; })
MSA_LOOPS(lt, Ordered, []<class T>(const Scalar*) { return [](T a, T b) { return a < b; }; })
MSA_LOOPS(le, Ordered, []<class T>(const Scalar*) { return [](T a, T b) { return a <= b; }; })
MSA_LOOPS(gt, Ordered, []<class T>(const Scalar*) { return [](T a, T b) { return a > b; }; })
MSA_LOOPS(ge, Ordered, []<class T>(const Scalar*) { return [](T a, T b) { return a >= b; }; })

MSA_LOOPS(logical_and, AllTypes, []<class T>(const Scalar*) {
  return [](T a, T b) -> bool { return (a != T(0)) & (b != T(0)); };
})
MSA_LOOPS(logical_or, AllTypes, []<class T>(const Scalar*) {
  return [](T a, T b) -> bool { return (a != T(0)) | (b != T(0)); };
})
MSA_LOOPS(logical_xor, AllTypes, []<class T>(const Scalar*) {
  return [](T a, T b) -> bool { return (a != T(0)) != (b != T(0)); };
})
MSA_LOOPS(logical_not, AllTypes,
          []<class T>(const Scalar*) { return [](T a) -> bool { return a == T(0); }; })

// --- tests of one value
// -----------------------------------------------------------------------------
template <class T>
inline bool is_nan(T a) {
  if constexpr (kIsComplex<T>) {
    return a.re != a.re || a.im != a.im;
  } else {
    return a != a;
  }
}
template <class T>
inline bool is_infinite(T a) {
  if constexpr (kIsComplex<T>) {
    return is_infinite(a.re) | is_infinite(a.im);
  } else if constexpr (std::is_floating_point_v<T>) {
    return magnitude(a) == T(__builtin_inf());
  } else {
    return false;
  }
}
template <class T>
inline bool is_finite(T a) {
  if constexpr (kIsComplex<T>) {
    return is_finite(a.re) & is_finite(a.im);
  } else if constexpr (std::is_floating_point_v<T>) {
    return magnitude(a) < T(__builtin_inf());
  } else {
    return true;
  }
}
MSA_LOOPS(isnan, AllTypes, []<class T>(const Scalar*) { return [](T a) { return is_nan(a); }; })
MSA_LOOPS(isinf, AllTypes,
          []<class T>(const Scalar*) { return [](T a) { return is_infinite(a); }; })
MSA_LOOPS(isfinite, AllTypes,
          []<class T>(const Scalar*) { return [](T a) { return is_finite(a); }; })
template <class T>
inline bool is_this_infinity(T a, double infinity) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == T(infinity);
  } else {
    return false;
  }
}
MSA_LOOPS(isposinf, Ordered, []<class T>(const Scalar*) {
  return [](T a) { return is_this_infinity(a, __builtin_inf()); };
})
MSA_LOOPS(isneginf, Ordered, []<class T>(const Scalar*) {
  return [](T a) { return is_this_infinity(a, -__builtin_inf()); };
})
MSA_LOOPS(signbit, Ordered, []<class T>(const Scalar*) {
  return [](T a) -> bool {
    if constexpr (std::is_floating_point_v<T>) {
      return with_sign(T(1), a) < 0;
    } else {
      return a < T(0);
    }
  };
})

// --- the larger, the smaller: NaN wins, except where the name says otherwise
// --------------------------
template <class T>
inline T larger(T a, T b) {
  const T most = a > b ? a : b;  // chosen twice: GCC makes no vectors of `|` between comparisons
  return a != a ? a : most;
}
template <class T>
inline T smaller(T a, T b) {
  const T least = a < b ? a : b;
  return a != a ? a : least;
}
MSA_LOOPS(maximum, Ordered,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return larger(a, b); }; })
MSA_LOOPS(minimum, Ordered,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return smaller(a, b); }; })
MSA_LOOPS(fmax, Ordered, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    const T most = a >= b ? a : b;
    return b != b ? a : most;
  };
})
MSA_LOOPS(fmin, Ordered, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    const T least = a <= b ? a : b;
    return b != b ? a : least;
  };
})
MSA_LOOPS(clamp_min, Ordered,
          []<class T>(const Scalar*) { return [](T a, T low) -> T { return larger(a, low); }; })
MSA_LOOPS(clamp_max, Ordered,
          []<class T>(const Scalar*) { return [](T a, T high) -> T { return smaller(a, high); }; })
// A NaN bound gives NaN; where the bounds cross, the upper one holds.
MSA_LOOPS(clamp_between, Ordered, []<class T>(const Scalar*) {
  return [](T a, T low, T high) -> T { return smaller(larger(a, low), high); };
})
// Bounds that are no NaN.
MSA_LOOPS(_clamp_to_numbers, Floats, []<class T>(const Scalar* params) {
  return [low = number<T>(params[0]), high = number<T>(params[1])](T a) -> T {
    const T most = a < low ? low : a;
    return most > high ? high : most;
  };
})
#endif
