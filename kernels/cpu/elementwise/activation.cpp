// Loops of activation functions and their derivatives.
#ifndef MSA_ISA
#ifdef __x86_64__
#include <immintrin.h>
#endif
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/activation.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/erf.inl"
using Signed = Join<SmallInts, Floats>;

// --- piecewise linear
// ------------------------------------------------------------------------------
MSA_LOOPS(relu, Signed, []<class T>(const Scalar*) {
  return [](T x) -> T { return x > T(0) || x != x ? x : T(0); };
})
MSA_LOOPS(threshold, Signed, []<class T>(const Scalar* params) {
  return [limit = number<T>(params[0]), value = number<T>(params[1])](T x) -> T {
    return x <= limit ? value : x;
  };
})
MSA_LOOPS(threshold_backward, Signed, []<class T>(const Scalar* params) {
  return [limit = number<T>(params[0])](T grad, T x) -> T { return x <= limit ? T(0) : grad; };
})
MSA_LOOPS(hardtanh, Signed, []<class T>(const Scalar* params) {
  return [low = number<T>(params[0]), high = number<T>(params[1])](T x) -> T {
    return x < low ? low : x > high ? high : x;
  };
})
MSA_LOOPS(hardtanh_backward, Signed, []<class T>(const Scalar* params) {
  return [low = number<T>(params[0]), high = number<T>(params[1])](T grad, T x) -> T {
    return x <= low || x >= high ? T(0) : grad;
  };
})
MSA_LOOPS(_hardshrink, Floats, []<class T>(const Scalar* params) {
  return
      [limit = number<T>(params[0])](T x) -> T { return (x >= -limit) & (x <= limit) ? T(0) : x; };
})
MSA_LOOPS(_softshrink, Floats, []<class T>(const Scalar* params) {
  return [limit = number<T>(params[0])](T x) -> T {
    return x - (x < -limit ? -limit : x > limit ? limit : x);
  };
})
MSA_LOOPS(_shrink_backward, Floats, []<class T>(const Scalar* params) {
  return [limit = number<T>(params[0])](T grad, T x) -> T {
    return (x >= -limit) & (x <= limit) ? T(0) : grad;
  };
})
MSA_LOOPS(leaky_relu, Floats, []<class T>(const Scalar* params) {
  return [slope = number<T>(params[0])](T x) -> T { return x > 0 ? x : x * slope; };
})
MSA_LOOPS(leaky_relu_backward, Floats, []<class T>(const Scalar* params) {
  return [slope = number<T>(params[0])](T grad, T x) -> T { return x > 0 ? grad : grad * slope; };
})
MSA_LOOPS(_prelu, Floats, []<class T>(const Scalar*) {
  return [](T x, T weight) -> T { return x > 0 ? x : x * weight; };
})
MSA_LOOPS(_gate_slope, Floats, []<class T>(const Scalar*) {
  return [](T grad, T first, T gate) -> T { return (1 - gate) * gate * first * grad; };
})
MSA_LOOPS(hardsigmoid, Floats, []<class T>(const Scalar*) {
  return [](T x) -> T {
    T y = x + 3;
    y = y < 0 ? T(0) : y > 6 ? T(6) : y;
    return y / 6;
  };
})
MSA_LOOPS(hardsigmoid_backward, Floats, []<class T>(const Scalar*) {
  return [](T grad, T x) -> T { return x > -3 && x < 3 ? grad * (T(1) / 6) : T(0); };
})
MSA_LOOPS(hardswish, Floats, []<class T>(const Scalar*) {
  return [](T x) -> T {
    T y = x + 3;
    y = y < 0 ? T(0) : y > 6 ? T(6) : y;
    return x * y / 6;
  };
})
MSA_LOOPS(hardswish_backward, Floats, []<class T>(const Scalar*) {
  return [](T grad, T x) -> T { return x <= -3 ? T(0) : x < 3 ? grad * (x / 3 + T(0.5)) : grad; };
})

// --- smooth
// ----------------------------------------------------------------------------------------
MSA_LOOPS(silu, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T x) -> T { return x / (T(1) + complex::exp(-x)); };
  } else {
    return [](V<T> x) -> V<T> { return x / (T(1) + sleef::exp(-x)); };
  }
})
MSA_LOOPS(silu_backward, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T grad, T x) -> T {
      T s = T(1) / (T(1) + complex::exp(-x)), slope = s * (T(1) + x * (T(1) - s));
      return grad * T(slope.re, -slope.im);
    };
  } else {
    return [](V<T> grad, V<T> x) -> V<T> {
      V<T> s = T(1) / (T(1) + sleef::exp(-x));
      return grad * s * (T(1) + x * (T(1) - s));
    };
  }
})
MSA_LOOPS(sigmoid_backward, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T grad, T y) -> T {
      T slope = (T(1) - y) * y;
      return grad * T(slope.re, -slope.im);
    };
  } else {
    return [](T grad, T y) -> T { return grad * (T(1) - y) * y; };
  }
})
MSA_LOOPS(tanh_backward, Inexact, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](T grad, T y) -> T {
      T slope = T(1) - y * y;
      return grad * T(slope.re, -slope.im);
    };
  } else {
    return [](T grad, T y) -> T { return grad * (T(1) - y * y); };
  }
})
// params: beta, threshold; above the threshold the function is x itself.
MSA_LOOPS(softplus, Floats, []<class T>(const Scalar* params) {
  return [beta = number<T>(params[0]), limit = number<T>(params[1])](V<T> x) -> V<T> {
    V<T> scaled = x * beta;
    return scaled > limit ? x : sleef::log1p(sleef::exp(scaled)) / beta;
  };
})
MSA_LOOPS(softplus_backward, Floats, []<class T>(const Scalar* params) {
  return [beta = number<T>(params[0]), limit = number<T>(params[1])](V<T> grad, V<T> x) -> V<T> {
    V<T> scaled = x * beta, grown = sleef::exp(scaled);
    return scaled > limit ? grad : grad * grown / (grown + T(1));
  };
})
// Without exponentials where no lane is below zero, as most activations are not.
// params: alpha, scale, input_scale.
MSA_LOOPS(elu, Floats, []<class T>(const Scalar* params) {
  T scale = number<T>(params[1]);
  return [negative = number<T>(params[0]) * scale, scale,
          slope = number<T>(params[2])](V<T> x) -> V<T> {
    if (!any_negative(x)) return x * scale;
    return x < T(0) ? negative * sleef::expm1(x * slope) : x * scale;
  };
})
MSA_LOOPS(elu_backward, Floats, []<class T>(const Scalar* params) {
  T scale = number<T>(params[1]);
  return [negative = number<T>(params[0]) * scale, scale, slope = number<T>(params[2])](
             V<T> grad, V<T> x) -> V<T> {
    if (!any_lane(~(x > T(0)))) return grad * scale;  // no lane is NaN, either
    return x > T(0) ? grad * scale : grad * slope * negative * sleef::exp(x * slope);
  };
})
MSA_LOOPS(log_sigmoid, Floats, []<class T>(const Scalar*) {
  return [](V<T> x) -> V<T> {
    V<T> size = x < T(0) ? -x : x, low = x < T(0) ? x : V<T>{};
    return low - sleef::log1p(sleef::exp(-size));
  };
})
MSA_LOOPS(log_sigmoid_backward, Floats, []<class T>(const Scalar*) {
  return [](V<T> grad, V<T> x) -> V<T> {
    V<T> below = sleef::exp(x < T(0) ? x : -x);
    return grad * (x < T(0) ? V<T>{} + T(1) : below) / (T(1) + below);
  };
})
MSA_LOOPS(mish, Floats, []<class T>(const Scalar*) {
  return [](V<T> x) -> V<T> { return x * sleef::tanh(sleef::log1p(sleef::exp(x))); };
})
MSA_LOOPS(_mish_backward, Floats, []<class T>(const Scalar*) {
  return [](V<T> grad, V<T> x) -> V<T> {
    V<T> t = sleef::tanh(sleef::log1p(sleef::exp(x))), s = T(1) / (T(1) + sleef::exp(-x));
    return grad * (t + x * s * (T(1) - t * t));
  };
})

// --- gelu
// ------------------------------------------------------------------------------------------
MSA_LOOPS(gelu_erf, Floats, []<class T>(const Scalar*) {
  return [](V<T> x) -> V<T> { return x * T(0.5) * (T(1) + error_function(x * T(M_SQRT1_2))); };
})
MSA_LOOPS(gelu_erf_backward, Floats, []<class T>(const Scalar*) {
  return [](V<T> grad, V<T> x) -> V<T> {
    V<T> below = T(0.5) * (T(1) + error_function(x * T(M_SQRT1_2)));
    V<T> density = T(M_2_SQRTPI * M_SQRT1_2 * 0.5) * sleef::exp(x * x * T(-0.5));
    return grad * (below + x * density);
  };
})
template <class T>
inline V<T> gelu_inner(V<T> x) {
  return T(M_SQRT2 * M_2_SQRTPI * 0.5) * (x + T(0.044715) * (x * x * x));
}
MSA_LOOPS(gelu_tanh, Floats, []<class T>(const Scalar*) {
  return [](V<T> x) -> V<T> { return T(0.5) * x * (T(1) + sleef::tanh(gelu_inner<T>(x))); };
})
MSA_LOOPS(gelu_tanh_backward, Floats, []<class T>(const Scalar*) {
  return [](V<T> grad, V<T> x) -> V<T> {
    V<T> t = sleef::tanh(gelu_inner<T>(x));
    V<T> slope = T(M_SQRT2 * M_2_SQRTPI * 0.5) * (T(1) + T(3 * 0.044715) * x * x);
    return grad * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope);
  };
})
#endif
