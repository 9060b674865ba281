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
MSA_LOOPS(_bce, Floats, []<class T>(const Scalar*) {
  return [](V<T> x, V<T> target) -> V<T> {
    const V<T> least = V<T>{} - 100;
    const V<T> log_x = sleef::log(x), log_rest = sleef::log1p(-x);
    return (target - 1) * (log_rest < least ? least : log_rest) -
           target * (log_x < least ? least : log_x);
  };
})
MSA_LOOPS(_bce_slope, Floats, []<class T>(const Scalar*) {
  return [](T x, T target) -> T {
    const T spread = (T(1) - x) * x;
    return (x - target) / (spread > T(1e-12) ? spread : T(1e-12));
  };
})
#endif
