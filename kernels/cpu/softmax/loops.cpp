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

// --- columns ------------------------------------------------------------------------------------
// Columns side by side, read a row at a time: a column alone would touch a cache line for each
// element.
constexpr int64_t kColumns = 512;
constexpr int64_t kHalvesInVector = 32;  // what PyTorch computes at once, without rounding
template <class T>
struct Columns {
  int64_t n, step, width;
  int64_t alone;    // the first of the columns that do not fill a vector
  T (*rounded)(T);  // what their exponentials are rounded to; null: nothing

  // each(offset in the block, column, lanes) for all elements.
  template <class F>
  void rows(F&& each) const {
    for (int64_t i = 0; i < n; ++i)
      by_lanes<T>(width, [&](int64_t c, int lanes) { each(i * step + c, c, lanes); });
  }
  template <class F>
  void across(F&& each) const {
    by_lanes<T>(width, each);
  }
  void start(T* values, T with) const {
    for (int64_t c = 0; c < width; ++c) values[c] = with;
  }
  void largest(const T* x, T* most) const {
    across([&](int64_t c, int lanes) { store_lanes(most + c, load_lanes(x + c, lanes), lanes); });
    rows([&](int64_t at, int64_t c, int lanes) {
      store_lanes(most + c, larger<T>(load_lanes(x + at, lanes), load_lanes(most + c, lanes)),
                  lanes);
    });
  }
  static void add(T* sums, int64_t c, V<T> v, int lanes) {
    store_lanes(sums + c, load_lanes(sums + c, lanes) + v, lanes);
  }
};

template <class T>
inline void columns(const Columns<T>& b, const T* x, T* y) {
  T most[kColumns], sum[kColumns];
  b.largest(x, most);
  b.start(sum, 0);
  b.rows([&](int64_t at, int64_t c, int lanes) {
    const V<T> e = sleef::exp(load_lanes(x + at, lanes) - load_lanes(most + c, lanes));
    store_lanes(y + at, e, lanes);
    b.add(sum, c, e, lanes);
  });
  if (b.rounded) {
    for (int64_t i = 0; i < b.n; ++i)
      for (int64_t c = b.alone; c < b.width; ++c) y[i * b.step + c] = b.rounded(y[i * b.step + c]);
  }
  for (int64_t c = 0; c < b.width; ++c) sum[c] = 1 / sum[c];
  b.rows([&](int64_t at, int64_t c, int lanes) {
    store_lanes(y + at, load_lanes(y + at, lanes) * load_lanes(sum + c, lanes), lanes);
  });
}

template <class T>
inline void log_columns(const Columns<T>& b, const T* x, T* y) {
  T most[kColumns], sum[kColumns];
  b.largest(x, most);
  b.start(sum, 0);
  b.rows([&](int64_t at, int64_t c, int lanes) {
    b.add(sum, c, sleef::exp(load_lanes(x + at, lanes) - load_lanes(most + c, lanes)), lanes);
  });
  b.across([&](int64_t c, int lanes) {
    store_lanes(sum + c, sleef::log(load_lanes(sum + c, lanes)), lanes);
  });
  b.rows([&](int64_t at, int64_t c, int lanes) {
    store_lanes(
        y + at,
        load_lanes(x + at, lanes) - load_lanes(most + c, lanes) - load_lanes(sum + c, lanes),
        lanes);
  });
}

template <class T>
inline void backward_columns(const Columns<T>& b, const T* grad, const T* y, T* out) {
  T sum[kColumns];
  b.start(sum, 0);
  b.rows([&](int64_t at, int64_t c, int lanes) {
    b.add(sum, c, load_lanes(grad + at, lanes) * load_lanes(y + at, lanes), lanes);
  });
  b.rows([&](int64_t at, int64_t c, int lanes) {
    store_lanes(
        out + at,
        (load_lanes(grad + at, lanes) - load_lanes(sum + c, lanes)) * load_lanes(y + at, lanes),
        lanes);
  });
}

template <class T>
inline void log_backward_columns(const Columns<T>& b, const T* grad, const T* y, T* out) {
  T sum[kColumns];
  b.start(sum, 0);
  b.rows([&](int64_t at, int64_t c, int lanes) {
    b.add(sum, c, load_lanes(grad + at, lanes), lanes);
  });
  b.rows([&](int64_t at, int64_t c, int lanes) {
    store_lanes(out + at,
                load_lanes(grad + at, lanes) -
                    sleef::exp(load_lanes(y + at, lanes)) * load_lanes(sum + c, lanes),
                lanes);
  });
}

// --- blocks -------------------------------------------------------------------------------------
// on_row(offset) for each row, or on_columns(columns, offset) for each block of columns.
template <class T, class Row, class Cols>
inline void each(const SoftmaxBlocks<T>& b, Row&& on_row, Cols&& on_columns) {
  for (int64_t o = 0; o < b.outer; ++o) {
    const int64_t base = o * b.n * b.inner;
    if (b.inner == 1) {
      on_row(base);
      continue;
    }
    for (int64_t c = b.first_column; c < b.last_column; c += kColumns) {
      const int64_t width = b.last_column - c < kColumns ? b.last_column - c : kColumns;
      const int64_t whole = b.inner - b.inner % kHalvesInVector - c;
      const int64_t alone = whole < 0 ? 0 : whole < width ? whole : width;
      on_columns(Columns<T>{b.n, b.inner, width, alone, b.rounded}, base + c);
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
