// Loops of softmax: along rows the lanes of a vector work on one row, across columns each on its
// own.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/softmax/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/softmax/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
const SoftmaxLoops<float>* const softmax_loops_f32 = MSA_CHOOSE(softmax_loops<float>);
const SoftmaxLoops<double>* const softmax_loops_f64 = MSA_CHOOSE(softmax_loops<double>);
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

namespace softmax {

// --- one row ------------------------------------------------------------------------------------
template <class T>
inline V<T> only_first(V<T> v, int count) {
  for (int i = count; i < kLanes<T>; ++i) v[i] = 0;
  return v;
}

template <class T>
inline T row_max(const T* x, int64_t n) {
  T best = x[0];
  int64_t i = 0;
  if (n >= kLanes<T>) {
    V<T> most = load_lanes(x);
    for (; i + kLanes<T> <= n; i += kLanes<T>) most = larger<T>(load_lanes(x + i), most);
    best = largest_lane<T>(most);
  }
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

// The sum of f(offset, lanes) over a row; lanes past the end count as nothing.
template <class T, class F>
inline T row_sum(int64_t n, F&& f) {
  V<T> sum{};
  by_lanes<T>(n, [&](int64_t i, int lanes) {
    const V<T> v = f(i, lanes);
    sum += lanes == kLanes<T> ? v : only_first<T>(v, lanes);
  });
  return sum_of_lanes<T>(sum);
}

template <class T>
inline void row(const T* x, T* y, int64_t n) {
  const T most = row_max(x, n);
  const T sum = row_sum<T>(n, [&](int64_t i, int lanes) {
    const V<T> e = sleef::exp(load_lanes(x + i, lanes) - most);
    store_lanes(y + i, e, lanes);
    return e;
  });
  const T scale = 1 / sum;
  by_lanes<T>(n, [&](int64_t i, int lanes) {
    store_lanes(y + i, load_lanes(y + i, lanes) * scale, lanes);
  });
}

template <class T>
inline void log_row(const T* x, T* y, int64_t n, T (*rounded)(T)) {
  const T most = row_max(x, n);
  T sum = row_sum<T>(
      n, [&](int64_t i, int lanes) { return sleef::exp(load_lanes(x + i, lanes) - most); });
  if (rounded) sum = rounded(sum);
  T log_sum = sleef::log(splat(sum))[0];
  if (rounded) log_sum = rounded(log_sum);
  by_lanes<T>(n, [&](int64_t i, int lanes) {
    store_lanes(y + i, load_lanes(x + i, lanes) - most - log_sum, lanes);
  });
}

template <class T>
inline void backward_row(const T* grad, const T* y, T* out, int64_t n) {
  const T sum = row_sum<T>(n, [&](int64_t i, int lanes) {
    return load_lanes(grad + i, lanes) * load_lanes(y + i, lanes);
  });
  by_lanes<T>(n, [&](int64_t i, int lanes) {
    store_lanes(out + i, (load_lanes(grad + i, lanes) - sum) * load_lanes(y + i, lanes), lanes);
  });
}

template <class T>
inline void log_backward_row(const T* grad, const T* y, T* out, int64_t n) {
  const T sum = row_sum<T>(n, [&](int64_t i, int lanes) { return load_lanes(grad + i, lanes); });
  by_lanes<T>(n, [&](int64_t i, int lanes) {
    store_lanes(out + i, load_lanes(grad + i, lanes) - sleef::exp(load_lanes(y + i, lanes)) * sum,
                lanes);
  });
}

// --- columns: one for each lane -----------------------------------------------------------------
template <class T>
struct Columns {
  int64_t n, step;
  int lanes;
  V<T> load(const T* p, int64_t i) const { return load_lanes(p + i * step, lanes); }
  void store(T* p, int64_t i, V<T> v) const { store_lanes(p + i * step, v, lanes); }
  V<T> max(const T* x) const {
    V<T> most = load(x, 0);
    for (int64_t i = 1; i < n; ++i) most = larger<T>(load(x, i), most);
    return most;
  }
};

template <class T>
inline void columns(const Columns<T>& c, const T* x, T* y) {
  const V<T> most = c.max(x);
  V<T> sum{};
  for (int64_t i = 0; i < c.n; ++i) {
    const V<T> e = sleef::exp(c.load(x, i) - most);
    c.store(y, i, e);
    sum += e;
  }
  const V<T> scale = T(1) / sum;
  for (int64_t i = 0; i < c.n; ++i) c.store(y, i, c.load(y, i) * scale);
}

template <class T>
inline void log_columns(const Columns<T>& c, const T* x, T* y) {
  const V<T> most = c.max(x);
  V<T> sum{};
  for (int64_t i = 0; i < c.n; ++i) sum += sleef::exp(c.load(x, i) - most);
  const V<T> log_sum = sleef::log(sum);
  for (int64_t i = 0; i < c.n; ++i) c.store(y, i, c.load(x, i) - most - log_sum);
}

template <class T>
inline void backward_columns(const Columns<T>& c, const T* grad, const T* y, T* out) {
  V<T> sum{};
  for (int64_t i = 0; i < c.n; ++i) sum += c.load(grad, i) * c.load(y, i);
  for (int64_t i = 0; i < c.n; ++i) c.store(out, i, (c.load(grad, i) - sum) * c.load(y, i));
}

template <class T>
inline void log_backward_columns(const Columns<T>& c, const T* grad, const T* y, T* out) {
  V<T> sum{};
  for (int64_t i = 0; i < c.n; ++i) sum += c.load(grad, i);
  for (int64_t i = 0; i < c.n; ++i)
    c.store(out, i, c.load(grad, i) - sleef::exp(c.load(y, i)) * sum);
}

// --- blocks -------------------------------------------------------------------------------------
// on_row(offset) for each row, or on_columns(columns, offset) for each vector of columns.
template <class T, class Row, class Cols>
inline void each(const SoftmaxBlocks<T>& b, Row&& on_row, Cols&& on_columns) {
  for (int64_t o = 0; o < b.outer; ++o) {
    const int64_t base = o * b.n * b.inner;
    if (b.inner == 1) {
      on_row(base);
    } else {
      by_lanes<T>(b.inner, [&](int64_t i, int lanes) {
        on_columns(Columns<T>{b.n, b.inner, lanes}, base + i);
      });
    }
  }
}

template <class T>
void forward(const SoftmaxBlocks<T>& b) {
  each(
      b, [&](int64_t at) { row(b.first + at, b.out + at, b.n); },
      [&](const Columns<T>& c, int64_t at) { columns(c, b.first + at, b.out + at); });
}
template <class T>
void log_forward(const SoftmaxBlocks<T>& b) {
  each(
      b, [&](int64_t at) { log_row(b.first + at, b.out + at, b.n, b.rounded); },
      [&](const Columns<T>& c, int64_t at) { log_columns(c, b.first + at, b.out + at); });
}
template <class T>
void backward(const SoftmaxBlocks<T>& b) {
  each(
      b, [&](int64_t at) { backward_row(b.first + at, b.second + at, b.out + at, b.n); },
      [&](const Columns<T>& c, int64_t at) {
        backward_columns(c, b.first + at, b.second + at, b.out + at);
      });
}
template <class T>
void log_backward(const SoftmaxBlocks<T>& b) {
  each(
      b, [&](int64_t at) { log_backward_row(b.first + at, b.second + at, b.out + at, b.n); },
      [&](const Columns<T>& c, int64_t at) {
        log_backward_columns(c, b.first + at, b.second + at, b.out + at);
      });
}

}  // namespace softmax

template <class T>
inline constexpr SoftmaxLoops<T> softmax_loops = {softmax::forward<T>, softmax::log_forward<T>,
                                                  softmax::backward<T>, softmax::log_backward<T>};
#endif
