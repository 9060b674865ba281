// Loops of losses that have a formula of their own for each element.
#ifndef MSA_ISA
#define MSA_KERNEL_FILE "kernels/cpu/loss/elements.cpp"
#include "kernels/cpu/each_isa.h"
#else

MSA_LOOPS(_smooth_l1, Floats, []<class T>(const Scalar* params) {
  return [beta = number<T>(params[0])](T x, T target) -> T {
    const T z = x < target ? target - x : x - target;
    return z < beta ? T(0.5) * z * z / beta : z - T(0.5) * beta;
  };
})
MSA_LOOPS(_huber, Floats, []<class T>(const Scalar* params) {
  return [delta = number<T>(params[0])](T x, T target) -> T {
    const T z = x < target ? target - x : x - target;
    return z <= delta ? T(0.5) * z * z : delta * (z - T(0.5) * delta);
  };
})
MSA_LOOPS(_clipped_product, Floats, []<class T>(const Scalar* params) {
  return [limit = number<T>(params[0])](T grad, T apart) -> T {
    return grad * (apart < -limit ? -limit : apart > limit ? limit : apart);
  };
})
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
using FloatsAndHalves = Join<Floats, Types<f16, bf16> >;

// Halves round at each step.
MSA_LOOPS(_bce, FloatsAndHalves, []<class T>(const Scalar*) {
  if constexpr (kIsHalf<T>) {
    return [](T x, T target) -> T {
      const T log_x = T(natural_log(static_cast<float>(x))), log_rest = T(log_1p(-x));
      const T from_rest = T(T(target - 1.0f) * (log_rest < -100.0f ? T(-100.0f) : log_rest));
      return T(from_rest - T(target * (log_x < -100.0f ? T(-100.0f) : log_x)));
    };
  } else {
    return [](V<T> x, V<T> target) -> V<T> {
      const V<T> least = V<T>{} - 100;
      const V<T> log_x = sleef::log(x), log_rest = sleef::log1p(-x);
      return (target - 1) * (log_rest < least ? least : log_rest) -
             target * (log_x < least ? least : log_x);
    };
  }
})
MSA_LOOPS(_bce_backward, FloatsAndHalves, []<class T>(const Scalar*) {
  return [](T grad, T x, T target) -> T {
    const T least = T(1e-12), spread = T(T(T(1) - x) * x);
    return T(T(grad * T(x - target)) / (spread > least ? spread : least));
  };
})
#endif
