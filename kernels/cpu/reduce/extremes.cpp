// Reductions to the largest or smallest element, with or without where it stands. NaN wins.
#ifndef MSA_ISA
#include "kernels/cpu/reduce/reduce.h"
#define MSA_KERNEL_FILE "kernels/cpu/reduce/extremes.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/reduce/fold.inl"

template <class A>
constexpr A lowest() {
  if constexpr (std::is_floating_point_v<A>) {
    return -A(__builtin_inf());
  } else {
    return A(-1) < A(0) ? A(A(1) << (8 * sizeof(A) - 1)) : A(0);
  }
}
template <class A>
constexpr A highest() {
  if constexpr (std::is_floating_point_v<A>) {
    return A(__builtin_inf());
  } else {
    return A(~lowest<A>());
  }
}

struct Larger {
  template <class A>
  static A start() {
    return lowest<A>();
  }
  template <class A>
  static A of(A a, A b) {
    return (a > b) | (a != a) ? a : b;
  }
  template <class A>
  static bool better(A a, A b) {
    return (a > b) | ((a != a) & (b == b));
  }
};
struct Smaller {
  template <class A>
  static A start() {
    return highest<A>();
  }
  template <class A>
  static A of(A a, A b) {
    return (a < b) | (a != a) ? a : b;
  }
  template <class A>
  static bool better(A a, A b) {
    return (a < b) | ((a != a) & (b == b));
  }
};
struct Same {
  explicit Same(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x;
  }
};
struct Value {
  template <class R, class A>
  static R of(A a, const ReduceInfo&) {
    return static_cast<R>(a);
  }
};

template <class T>
using AmaxOf = Fold<T, typename Plain<T>::type, T, Same, Larger, Value>;
template <class T>
using AminOf = Fold<T, typename Plain<T>::type, T, Same, Smaller, Value>;

// --- with the position: of equals the first
// ----------------------------------------------------------
template <class T>
struct Best {
  T value;
  int64_t index;  // -1: none yet
};

// `Values`: the value is written too, before the index.
template <class Element, class Combine, bool Values>
struct ArgFold {
  using T = typename Plain<Element>::type;
  using Acc = Best<T>;

  static void start(void* acc, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i) static_cast<Acc*>(acc)[i] = {T(0), -1};
  }
  static void offer(Acc& acc, T value, int64_t index) {
    if (acc.index < 0 || Combine::better(value, acc.value)) acc = {value, index};
  }
  // One output: the best of each block is found by vectors, its place only when it beats the rest.
  static void take_run(Acc& acc, const char* in, int64_t step, int64_t n, int64_t first) {
    const Same same(nullptr);
    for (int64_t j = 0; j < n; j += kFoldBlock) {
      int64_t length = n - j < kFoldBlock ? n - j : kFoldBlock;
      const char* block = in + j * step;
      T best = fold_run<T, Same, Combine>(block, step, length, same);
      if (acc.index >= 0 && !Combine::better(best, acc.value)) continue;
      int64_t at = 0;
      for (;; ++at) {
        T v = *reinterpret_cast<const T*>(block + at * step);
        if (v == best || v != v) break;
      }
      acc = {best, first + j + at};
    }
  }
  // Many outputs side by side, row by row; inlined where the step between them is known.
  [[gnu::always_inline]] static void take_rows(Acc* acc, const Slab& s, int64_t output_step) {
    using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    T value[kReduceBlock];
    Index index[kReduceBlock];
    for (int64_t c = 0; c < s.outputs; ++c) {
      bool none = acc[c].index < 0;
      value[c] = none ? *reinterpret_cast<const T*>(s.in + c * output_step) : acc[c].value;
      index[c] = none ? 0 : -1;
    }
    for (int64_t j = 0; j < s.n; ++j) {
      const char* in = s.in + j * s.step;
#pragma GCC ivdep
      for (int64_t c = 0; c < s.outputs; ++c) {
        T v = *reinterpret_cast<const T*>(in + c * output_step);
        bool better = Combine::better(v, value[c]);
        value[c] = better ? v : value[c];
        index[c] = better ? static_cast<Index>(j) : index[c];
      }
    }
    for (int64_t c = 0; c < s.outputs; ++c)
      if (index[c] >= 0) acc[c] = {value[c], s.first + index[c]};
  }
  static void take(void* acc_bytes, const Slab& s, const Scalar*) {
    Acc* acc = static_cast<Acc*>(acc_bytes);
    if (s.outputs > 1 && s.output_step < s.step)
      return s.output_step == sizeof(T) ? take_rows(acc, s, sizeof(T))
                                        : take_rows(acc, s, s.output_step);
    for (int64_t i = 0; i < s.outputs; ++i)
      take_run(acc[i], s.in + i * s.output_step, s.step, s.n, s.first);
  }
  static void merge(void* acc, const void* later, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i) {
      const Acc& other = static_cast<const Acc*>(later)[i];
      if (other.index >= 0) offer(static_cast<Acc*>(acc)[i], other.value, other.index);
    }
  }
  static void finish(const void* acc, int64_t outputs, char* const* out, const int64_t* steps,
                     const ReduceInfo&) {
    for (int64_t i = 0; i < outputs; ++i) {
      const Acc& a = static_cast<const Acc*>(acc)[i];
      if constexpr (Values)
        *reinterpret_cast<Element*>(out[0] + i * steps[0]) = static_cast<Element>(a.value);
      *reinterpret_cast<int64_t*>(out[Values] + i * steps[Values]) = a.index;
    }
  }

  static constexpr DType element = static_cast<DType>(index_of<Element>());
  static constexpr Reducer reducer = {element,    {Values ? element : DType::I64, DType::I64},
                                      1 + Values, sizeof(Acc),
                                      &start,     &take,
                                      &merge,     &finish};
};
template <class T>
using MaxDimOf = ArgFold<T, Larger, true>;
template <class T>
using MinDimOf = ArgFold<T, Smaller, true>;
template <class T>
using ArgmaxOf = ArgFold<T, Larger, false>;
template <class T>
using ArgminOf = ArgFold<T, Smaller, false>;

using Compared = Join<Bool, SmallInts, Floats>;
MSA_REDUCERS(amax, Compared, AmaxOf)
MSA_REDUCERS(amin, Compared, AminOf)
MSA_REDUCERS(max_dim, Compared, MaxDimOf)
MSA_REDUCERS(min_dim, Compared, MinDimOf)
MSA_REDUCERS(argmax, Compared, ArgmaxOf)
MSA_REDUCERS(argmin, Compared, ArgminOf)
#endif
