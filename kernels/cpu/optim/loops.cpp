// The optimizers' arithmetic, one PyTorch operation after the other so that every rounding is the
// same: add with alpha, lerp and addcmul are fused multiply-adds there, addcdiv is not.
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

// What depends on no element: a number as a vector.
template <class T>
using Number = V<typename Access<T>::Real>;
template <class T>
inline Number<T> number(double x) {
  return splat(static_cast<typename Access<T>::Real>(x));
}

// The same as the operators take factors (add's alpha), limits and summands: rounded to T first.
template <class T>
inline Number<T> rounded(double x) {
  return Access<T>::round(number<T>(x));
}

template <class T>
inline V<T> maximum(V<T> a, V<T> b) {
  return a != a ? a : a > b ? a : b;  // NaN stays
}

// lerp(from, to, weight), from whichever end is nearer.
template <class T>
struct Lerp {
  explicit Lerp(double weight)
      : near(weight < 0.5), toward(number<T>(near ? weight : weight - 1)) {}
  Number<T> operator()(Number<T> from, Number<T> to) const {
    return Access<T>::round(fma(toward, to - from, near ? from : to));
  }
  bool near;
  Number<T> toward;
};

// The running mean of squares: kept * beta + (1 - beta) * x * x.
template <class T>
struct MeanSquare {
  explicit MeanSquare(double beta_) : beta(number<T>(beta_)), fresh(number<T>(1 - beta_)) {}
  Number<T> operator()(Number<T> kept, Number<T> x) const {
    return Access<T>::round(fma(fresh * x, x, Access<T>::round(kept * beta)));
  }
  Number<T> beta, fresh;
};

// The rounded root of x, plus eps.
template <class T>
inline Number<T> root_plus(Number<T> x, Number<T> eps) {
  return Access<T>::round(Access<T>::round(root_of(x)) + eps);
}

// --- the steps: each makes a function of parameter, gradient and states, which it changes --------
template <class T>
auto update(const SgdStep& s, const OptimRows<T>& rows) {
  using A = Access<T>;
  return [kept = rows.states[0] != nullptr, first = s.first, nesterov = s.nesterov,
          momentum = number<T>(s.momentum), ahead = rounded<T>(s.momentum),
          fresh = rounded<T>(1 - s.dampening),
          rate = rounded<T>(-s.lr)](auto& p, auto g, auto* state) {
    if (kept) {
      auto& buffer = state[0];
      buffer = first ? g : A::round(fma(g, fresh, A::round(buffer * momentum)));
      g = nesterov ? A::round(fma(buffer, ahead, g)) : buffer;
    }
    p = fma(g, rate, p);
  };
}

template <class T>
auto update(const AdamStep& s, const OptimRows<T>& rows) {
  using A = Access<T>;
  return [lerp = Lerp<T>(1 - s.beta1), mean_square = MeanSquare<T>(s.beta2),
          root = number<T>(s.root), eps = rounded<T>(s.eps), rate = number<T>(-s.step_size),
          amsgrad = rows.states[2] != nullptr](auto& p, auto g, auto* state) {
    state[0] = lerp(state[0], g);
    state[1] = mean_square(state[1], g);
    if (amsgrad) state[2] = maximum<typename A::Real>(state[2], state[1]);
    const auto spread = A::round(root_of(state[amsgrad ? 2 : 1]));
    p += rate * state[0] / A::round(A::round(spread / root) + eps);
  };
}

template <class T>
auto update(const RmspropStep& s, const OptimRows<T>& rows) {
  using A = Access<T>;
  return [centered = rows.states[1] != nullptr, kept = rows.states[2] != nullptr,
          mean_square = MeanSquare<T>(s.alpha), lerp = Lerp<T>(1 - s.alpha),
          eps = rounded<T>(s.eps), momentum = number<T>(s.momentum), rate = number<T>(-s.lr),
          factor = rounded<T>(-s.lr)](auto& p, auto g, auto* state) {
    auto variance = state[0] = mean_square(state[0], g);
    if (centered) {
      state[1] = lerp(state[1], g);
      variance = A::round(fma(-state[1], state[1], variance));
    }
    const auto below = root_plus<T>(variance, eps);
    if (kept) {
      state[2] = A::round(A::round(state[2] * momentum) + g / below);
      p = fma(state[2], factor, p);
    } else {
      p += rate * g / below;
    }
  };
}

template <class T>
auto update(const AdagradStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [rate = number<T>(-s.rate), eps = rounded<T>(s.eps)](auto& p, auto g, auto* state) {
    state[0] = A::round(fma(g, g, state[0]));
    p += rate * g / root_plus<T>(state[0], eps);
  };
}

template <class T>
auto update(const AdadeltaStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [mean_square = MeanSquare<T>(s.rho), eps = rounded<T>(s.eps), rate = rounded<T>(-s.lr)](
             auto& p, auto g, auto* state) {
    state[0] = mean_square(state[0], g);
    const auto size_of_steps = A::round(root_of(A::round(state[1] + eps))),
               size_of_gradients = A::round(root_of(A::round(state[0] + eps)));
    const auto delta = A::round(A::round(size_of_steps / size_of_gradients) * g);
    state[1] = mean_square(state[1], delta);
    p = fma(delta, rate, p);
  };
}

template <class T>
auto update(const AdamaxStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  using R = typename A::Real;
  return [lerp = Lerp<T>(1 - s.beta1), beta2 = number<T>(s.beta2), eps = rounded<T>(s.eps),
          rate = number<T>(-s.rate)](auto& p, auto g, auto* state) {
    state[0] = lerp(state[0], g);
    state[1] = maximum<R>(A::round(state[1] * beta2), A::round(size_of<R>(g) + eps));
    p += rate * state[0] / state[1];
  };
}

template <class T>
auto update(const NadamStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [lerp = Lerp<T>(1 - s.beta1), mean_square = MeanSquare<T>(s.beta2),
          correction = number<T>(s.correction2), eps = rounded<T>(s.eps),
          of_grad = number<T>(-s.grad_rate),
          of_average = number<T>(-s.average_rate)](auto& p, auto g, auto* state) {
    state[0] = lerp(state[0], g);
    state[1] = mean_square(state[1], g);
    const auto below = root_plus<T>(A::round(state[1] / correction), eps);
    p = A::round(p + of_grad * g / below);
    p += of_average * state[0] / below;
  };
}

template <class T>
auto update(const RadamStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [lerp = Lerp<T>(1 - s.beta1), mean_square = MeanSquare<T>(s.beta2),
          correction = number<T>(s.correction1), root = number<T>(s.root2), eps = rounded<T>(s.eps),
          lr = number<T>(s.lr), rectified = s.rectifier != 0,
          rectifier = number<T>(s.rectifier)](auto& p, auto g, auto* state) {
    state[0] = lerp(state[0], g);
    state[1] = mean_square(state[1], g);
    auto change = A::round(A::round(state[0] / correction) * lr);
    if (rectified) {
      const auto adaptive = A::round(A::round(1 / root_plus<T>(state[1], eps)) * root);
      change = A::round(A::round(change * adaptive) * rectifier);
    }
    p -= change;
  };
}

template <class T>
auto update(const AsgdStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [keep = number<T>(s.keep), rate = rounded<T>(-s.eta), mu = number<T>(s.mu),
          copies = s.mu == 1](auto& p, auto g, auto* state) {
    p = A::round(fma(g, rate, A::round(p * keep)));
    state[0] = copies ? p : A::round(state[0] + A::round(A::round(p - state[0]) * mu));
  };
}

template <class T>
auto update(const RpropStep& s, const OptimRows<T>&) {
  using A = Access<T>;
  return [shrink = rounded<T>(s.shrink), grow = rounded<T>(s.grow), least = rounded<T>(s.least),
          most = rounded<T>(s.most)](auto& p, auto g, auto* state) {
    const Number<T> zero{}, one = number<T>(1);
    const auto agreement = A::round(g * state[0]);
    const auto factor = agreement > zero ? grow : agreement < zero ? shrink : one;
    const auto size = A::round(state[1] * factor);
    state[1] = size < least ? least : size > most ? most : size;
    state[0] = agreement < zero ? zero : g;  // after a change of sign, no step
    p -= state[0] > zero ? state[1] : state[0] < zero ? -state[1] : zero;
  };
}

// The pass itself: loads, the start of every step, its update, stores.
template <class T, class Step>
void run(const Step& step, const OptimRows<T>& rows, int64_t n) {
  using A = Access<T>;
  using R = typename A::Real;
  constexpr size_t states = Step::kStates;
  const Number<T> decay = rounded<T>(step.start.weight_decay),
                  shrink = number<T>(step.start.shrink);
  const bool maximize = step.start.maximize, decays = step.start.weight_decay != 0,
             shrinks = step.start.shrink != 1;
  const auto change = update<T>(step, rows);
  by_lanes<R>(n, [&](int64_t i, int lanes) {
    V<R> p = A::load(rows.param + i, lanes), g = A::load(rows.grad + i, lanes), state[states];
    for (size_t k = 0; k < states; ++k)
      state[k] = rows.states[k] ? A::load(rows.states[k] + i, lanes) : V<R>{};
    if (maximize) g = -g;
    if (shrinks) p = A::round(p * shrink);
    if (decays) g = A::round(fma(p, decay, g));
    change(p, g, state);
    A::store(rows.param + i, p, lanes);
    for (size_t k = 0; k < states; ++k)
      if (rows.states[k]) A::store(rows.states[k] + i, state[k], lanes);
  });
}

template <class T, class... Steps>
constexpr OptimLoopsOf<T, Steps...> all(const OptimLoopsOf<T, Steps...>*) {
  return {{run<T, Steps>}...};
}

}  // namespace optim

template <class T>
inline constexpr OptimLoops<T> optim_loops_of =
    optim::all(static_cast<const OptimLoops<T>*>(nullptr));
#endif
