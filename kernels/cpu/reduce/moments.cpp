// Variance and standard deviation: block by block around the block's own mean, then merged.
#ifndef MSA_ISA
#include "kernels/cpu/reduce/reduce.h"
#define MSA_KERNEL_FILE "kernels/cpu/reduce/moments.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/reduce/fold.inl"

// Of the elements seen so far: how many, their mean, the sum of squared deviations from it.
struct Moments {
  double n, mean, squares;

  void join(const Moments& o) {
    if (o.n == 0) return;
    double total = n + o.n, apart = o.mean - mean;
    mean += apart * (o.n / total);
    squares += o.squares + apart * apart * (n * o.n / total);
    n = total;
  }
};

struct Same {
  template <class X>
  X operator()(X x) const {
    return x;
  }
};
template <class T>
struct Deviation {
  T center;
  template <class X>
  X operator()(X x) const {
    return x - center;
  }
};
template <class T>
struct SquaredDeviation {
  T center;
  template <class X>
  X operator()(X x) const {
    return (x - center) * (x - center);
  }
};

// The sums of deviations from `center` (near the mean) and of their squares, as moments.
template <class T>
inline Moments from_deviations(T center, double n, double sum, double squares) {
  return {n, static_cast<double>(center) + sum / n, squares - sum * sum / n};
}

// Whether squares of T added up without leaving its range: a sum that is lost, or so small that
// terms of it may be, has to be formed again in double.
template <class T>
inline bool in_range(T squares) {
  return !std::is_same_v<T, float> || (squares > T(1e-30) && squares < T(1e38));
}

// The same of n elements, in double, or of equal ones at once: padding and dead units are common.
template <class T>
inline Moments wide_moments(const char* in, int64_t step, int64_t n) {
  const T first = *reinterpret_cast<const T*>(in);
  int64_t equal = 1;
  while (equal < n && *reinterpret_cast<const T*>(in + equal * step) == first) ++equal;
  if (equal == n) return {static_cast<double>(n), static_cast<double>(first), 0};
  double total = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) total += *reinterpret_cast<const T*>(in + i * step);
  const double center = total / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double apart = *reinterpret_cast<const T*>(in + i * step) - center;
    sum += apart;
    squares += apart * apart;
  }
  return from_deviations(center, static_cast<double>(n), sum, squares);
}

enum class Result { Var, Std, VarMean, StdMean };

template <class T, Result Kind>
struct MomentFold {
  static constexpr bool root = Kind == Result::Std || Kind == Result::StdMean;
  static constexpr bool with_mean = Kind == Result::VarMean || Kind == Result::StdMean;

  static void start(void* acc, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i) static_cast<Moments*>(acc)[i] = {0, 0, 0};
  }
  static void take_run(Moments& acc, const char* in, int64_t step, int64_t n) {
    for (int64_t j = 0; j < n; j += kFoldBlock) {
      int64_t length = n - j < kFoldBlock ? n - j : kFoldBlock;
      const char* block = in + j * step;
      T center = fold_run<T, Same, Plus>(block, step, length, Same{}) / static_cast<T>(length);
      T sum = fold_run<T, Deviation<T>, Plus>(block, step, length, Deviation<T>{center});
      T squares =
          fold_run<T, SquaredDeviation<T>, Plus>(block, step, length, SquaredDeviation<T>{center});
      acc.join(in_range(squares)
                   ? from_deviations(center, static_cast<double>(length), sum, squares)
                   : wide_moments<T>(block, step, length));
    }
  }
  static void take_rows(Moments* acc, const Slab& s) {
    T center[kReduceBlock], sum[kReduceBlock], squares[kReduceBlock];
    for (int64_t j = 0; j < s.n; j += kFoldRows) {
      int64_t rows = s.n - j < kFoldRows ? s.n - j : kFoldRows;
      const char* const first = s.in + j * s.step;
      const char* in = first;
      fold_rows<T, Same, Plus>(center, in, s.output_step, s.outputs, s.step, rows, Same{});
      for (int64_t c = 0; c < s.outputs; ++c) {
        center[c] /= static_cast<T>(rows);
        sum[c] = squares[c] = 0;
      }
      for (int64_t r = 0; r < rows; ++r, in += s.step)
        for (int64_t c = 0; c < s.outputs; ++c) {
          T apart = *reinterpret_cast<const T*>(in + c * s.output_step) - center[c];
          sum[c] += apart;
          squares[c] += apart * apart;
        }
      for (int64_t c = 0; c < s.outputs; ++c)
        acc[c].join(in_range(squares[c])
                        ? from_deviations(center[c], static_cast<double>(rows), sum[c], squares[c])
                        : wide_moments<T>(first + c * s.output_step, s.step, rows));
    }
  }
  static void take(void* acc_bytes, const Slab& s, const Scalar*) {
    Moments* acc = static_cast<Moments*>(acc_bytes);
    if (s.outputs > 1 && s.output_step < s.step) return take_rows(acc, s);
    for (int64_t i = 0; i < s.outputs; ++i) take_run(acc[i], s.in + i * s.output_step, s.step, s.n);
  }
  static void merge(void* acc, const void* later, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i)
      static_cast<Moments*>(acc)[i].join(static_cast<const Moments*>(later)[i]);
  }
  // params: the correction, taken from the count to divide by.
  static void finish(const void* acc, int64_t outputs, char* const* out, const int64_t* steps,
                     const ReduceInfo& info) {
    double divisor = static_cast<double>(info.count) - info.params[0].to_double();
    for (int64_t i = 0; i < outputs; ++i) {
      Moments m = static_cast<const Moments*>(acc)[i];
      if (info.count == 0) m.squares = m.mean = __builtin_nan("");
      double variance = m.squares / (divisor > 0 ? divisor : 0.0);
      *reinterpret_cast<T*>(out[0] + i * steps[0]) =
          static_cast<T>(root ? square_root(variance) : variance);
      if constexpr (with_mean)
        *reinterpret_cast<T*>(out[1] + i * steps[1]) = static_cast<T>(m.mean);
    }
  }

  static constexpr DType element = static_cast<DType>(index_of<T>());
  static constexpr Reducer reducer = {
      element, {element, element}, 1 + with_mean, sizeof(Moments), &start, &take, &merge, &finish};
};
template <class T>
using VarOf = MomentFold<T, Result::Var>;
template <class T>
using StdOf = MomentFold<T, Result::Std>;
template <class T>
using VarMeanOf = MomentFold<T, Result::VarMean>;
template <class T>
using StdMeanOf = MomentFold<T, Result::StdMean>;
MSA_REDUCERS(var, Floats, VarOf)
MSA_REDUCERS(std, Floats, StdOf)
MSA_REDUCERS(var_mean, Floats, VarMeanOf)
MSA_REDUCERS(std_mean, Floats, StdMeanOf)
#endif
