// The optimizers' arithmetic, one PyTorch operation after the other so that every rounding is the
// same: add with alpha, lerp are fused multiply-adds there, addcmul and addcdiv are not.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/optim/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/optim/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_OPTIM_LOOPS(T)                                                    \
  template <>                                                                 \
  const OptimLoops<T>& optim_loops<T>() {                                     \
    static const OptimLoops<T>* const chosen = MSA_CHOOSE(optim_loops_of<T>); \
    return *chosen;                                                           \
  }
MSA_OPTIM_LOOPS(float)
MSA_OPTIM_LOOPS(double)
MSA_OPTIM_LOOPS(f16)
MSA_OPTIM_LOOPS(bf16)
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

namespace optim {

// How T is loaded, stored and rounded: whole vectors for float and double; half types hold float
// vectors whose lanes are rounded to T after each operation.
template <class T>
struct Access {
  using Real = T;
  static V<T> load(const T* p, int lanes) { return load_lanes(p, lanes); }
  static void store(T* p, V<T> v, int lanes) { store_lanes(p, v, lanes); }
  static V<T> round(V<T> v) { return v; }
};
template <class H>
struct HalfAccess {
  using Real = float;
  static V<float> load(const H* p, int lanes) {
    V<float> v{};
    for (int i = 0; i < lanes; ++i) v[i] = p[i];
    return v;
  }
  static void store(H* p, V<float> v, int lanes) {
    for (int i = 0; i < lanes; ++i) p[i] = H(v[i]);
  }
  static V<float> round(V<float> v) {
    for (int i = 0; i < kLanes<float>; ++i) v[i] = H(v[i]);
    return v;
  }
};
template <>
struct Access<f16> : HalfAccess<f16> {};
template <>
struct Access<bf16> : HalfAccess<bf16> {};

inline V<float> root_of(V<float> v) {
  float lanes[kLanes<float>];
  store_lanes(lanes, v);
  for (float& x : lanes) x = __builtin_sqrtf(x);
  return load_lanes(lanes);
}
inline V<double> root_of(V<double> v) {
  double lanes[kLanes<double>];
  store_lanes(lanes, v);
  for (double& x : lanes) x = __builtin_sqrt(x);
  return load_lanes(lanes);
}

template <class T>
void sgd(const SgdStep& s, T* param, const T* grad, T* buffer, int64_t n) {
  using A = Access<T>;
  using R = typename A::Real;
  const V<R> decay = splat(static_cast<R>(s.weight_decay)),
             momentum = splat(static_cast<R>(s.momentum));
  const V<R> fresh = splat(static_cast<R>(1 - s.dampening)), rate = splat(static_cast<R>(-s.lr));
  by_lanes<R>(n, [&](int64_t i, int lanes) {
    V<R> g = A::load(grad + i, lanes);
    const V<R> p = A::load(param + i, lanes);
    if (s.maximize) g = -g;
    if (s.weight_decay != 0) g = A::round(fma(p, decay, g));
    if (s.momentum != 0) {
      V<R> b = g;
      if (!s.first) b = A::round(fma(g, fresh, A::round(A::load(buffer + i, lanes) * momentum)));
      A::store(buffer + i, b, lanes);
      g = s.nesterov ? A::round(fma(b, momentum, g)) : b;
    }
    A::store(param + i, fma(g, rate, p), lanes);
  });
}

template <class T>
void adam(const AdamStep& s, T* param, const T* grad, T* average, T* square, T* largest,
          int64_t n) {
  using A = Access<T>;
  using R = typename A::Real;
  const V<R> decay = splat(static_cast<R>(s.weight_decay)),
             shrink = splat(static_cast<R>(s.shrink));
  const R weight = static_cast<R>(1 - s.beta1);
  const bool near = weight < R(0.5) && weight > R(-0.5);
  const V<R> toward = splat(near ? weight : weight - 1);
  const V<R> beta2 = splat(static_cast<R>(s.beta2)), fresh = splat(static_cast<R>(1 - s.beta2));
  const V<R> root = splat(static_cast<R>(s.root)), eps = splat(static_cast<R>(s.eps));
  const V<R> rate = splat(static_cast<R>(-s.step_size));
  by_lanes<R>(n, [&](int64_t i, int lanes) {
    V<R> g = A::load(grad + i, lanes), p = A::load(param + i, lanes);
    if (s.maximize) g = -g;
    if (s.shrink != 1) p = A::round(p * shrink);
    if (s.weight_decay != 0) g = A::round(fma(p, decay, g));
    V<R> m = A::load(average + i, lanes), v = A::load(square + i, lanes);
    m = A::round(fma(toward, g - m, near ? m : g));
    v = A::round(A::round(v * beta2) + fresh * g * g);
    A::store(average + i, m, lanes);
    A::store(square + i, v, lanes);
    if (largest) {
      v = larger<R>(A::load(largest + i, lanes), v);
      A::store(largest + i, v, lanes);
    }
    const V<R> below = A::round(A::round(A::round(root_of(v)) / root) + eps);
    A::store(param + i, p + rate * m / below, lanes);
  });
}

}  // namespace optim

template <class T>
inline constexpr OptimLoops<T> optim_loops_of = {optim::sgd<T>, optim::adam<T>};
#endif
