// The register-tile matrix product, compiled for each instruction set: elements of a are broadcast
// one by one, so a may have any strides; rows of b and c are read and written as vectors.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/matmul/small_product.h"
#define MSA_KERNEL_FILE "kernels/cpu/matmul/small_product.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
const SmallKernels<float>* const small_kernels_f32 = MSA_CHOOSE(small_kernels<float>);
const SmallKernels<double>* const small_kernels_f64 = MSA_CHOOSE(small_kernels<double>);
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

constexpr int kTileRows = MSA_VECTOR_BYTES == 64 ? 8 : MSA_VECTOR_BYTES == 32 ? 6 : 4;
constexpr int kTileVecs = 2;

// c[i][j] = alpha * sum_k a[i][k] * b[k][j] + beta * c[i][j] for `Rows` rows and `Vecs` vectors,
// the last of which has `last` lanes.
template <class T, int Rows, int Vecs>
inline void tile(const SmallProduct<T>& p, const T* a, const T* b, T* c, int last) {
  constexpr int kTail = Vecs - 1, lanes = kLanes<T>;
  V<T> sums[Rows][Vecs];
#pragma GCC unroll 8
  for (auto& row : sums) {
#pragma GCC unroll 2
    for (auto& sum : row) sum = V<T>{};
  }
  const bool whole = last == lanes;
  for (int64_t k = 0; k < p.depth; ++k, a += p.a_col, b += p.b_row) {
    V<T> right[Vecs];
#pragma GCC unroll 2
    for (int j = 0; j < kTail; ++j) right[j] = load_lanes(b + j * lanes);
    right[kTail] = whole ? load_lanes(b + kTail * lanes) : load_lanes(b + kTail * lanes, last);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const V<T> left = splat(a[i * p.a_row]);
#pragma GCC unroll 2
      for (int j = 0; j < Vecs; ++j) sums[i][j] = fma(left, right[j], sums[i][j]);
    }
  }
  const bool plain = p.alpha == T(1) && p.beta == T(0);
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < Vecs; ++j) {
      T* to = c + i * p.c_row + j * lanes;
      const int count = j == kTail ? last : lanes;
      V<T> sum = sums[i][j];
      if (!plain) {
        sum = p.alpha * sum;
        if (p.beta != T(0)) sum = fma(splat(p.beta), load_lanes(to, count), sum);
      }
      if (count == lanes) {
        store_lanes(to, sum);
      } else {
        store_lanes(to, sum, count);
      }
    }
  }
}

// All rows of one column panel, `Rows` at a time, what is left in smaller tiles.
template <class T, int Vecs, int Rows = kTileRows>
inline void panel(const SmallProduct<T>& p, int64_t row, int64_t column, int last) {
  for (; p.rows - row >= Rows; row += Rows)
    tile<T, Rows, Vecs>(p, p.a + row * p.a_row, p.b + column, p.c + row * p.c_row + column, last);
  if constexpr (Rows > 1) {
    if (row < p.rows) panel<T, Vecs, Rows / 2>(p, row, column, last);
  }
}

// One row of c from a large b, which is read once and along its rows while a block of sums stays in
// the cache.
template <class T>
void one_row(const SmallProduct<T>& p) {
  constexpr int64_t kBlock = 1024;
  alignas(64) T sums[kBlock];
  for (int64_t column = 0; column < p.columns; column += kBlock) {
    const int64_t n = p.columns - column < kBlock ? p.columns - column : kBlock;
    for (int64_t j = 0; j < n; j += kLanes<T>) store_lanes(sums + j, V<T>{});
    for (int64_t k = 0; k < p.depth; k += 4) {
      const int64_t rows = p.depth - k < 4 ? p.depth - k : 4;
      const T* const b = p.b + k * p.b_row + column;
      V<T> left[4];
      for (int64_t r = 0; r < rows; ++r) left[r] = splat(p.a[(k + r) * p.a_col]);
      by_lanes<T>(n, [&](int64_t j, int count) {
        V<T> sum = load_lanes(sums + j);
        if (rows == 4 && count == kLanes<T>) {
#pragma GCC unroll 4
          for (int r = 0; r < 4; ++r) sum = fma(left[r], load_lanes(b + r * p.b_row + j), sum);
        } else {
          for (int64_t r = 0; r < rows; ++r)
            sum = fma(left[r], load_lanes(b + r * p.b_row + j, count), sum);
        }
        store_lanes(sums + j, sum);
      });
    }
    for (int64_t j = 0; j < n; ++j) {
      T& to = p.c[column + j];
      const T sum = p.alpha * sums[j];
      to = p.beta == T(0) ? sum : sum + p.beta * to;
    }
  }
}

template <class T>
void small_product(const SmallProduct<T>& p) {
  constexpr int lanes = kLanes<T>, width = kTileVecs * lanes;
  constexpr int64_t kManyElements = 1 << 14;
  if (p.rows == 1 && p.depth * p.columns >= kManyElements) return one_row(p);
  int64_t column = 0;
  for (; p.columns - column > lanes; column += width) {
    const int64_t left = p.columns - column;
    panel<T, kTileVecs>(p, 0, column, left >= width ? lanes : static_cast<int>(left - lanes));
  }
  if (column < p.columns) panel<T, 1>(p, 0, column, static_cast<int>(p.columns - column));
}

// `Rows` dot products at once, each in two vectors of partial sums.
template <class T, int Rows>
inline void some_row_dots(const RowDots<T>& p, const T* a, T* out) {
  constexpr int lanes = kLanes<T>;
  V<T> sums[Rows][2] = {};
  int64_t k = 0;
  for (; k + 2 * lanes <= p.depth; k += 2 * lanes) {
    const V<T> first = load_lanes(p.x + k), second = load_lanes(p.x + k + lanes);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] = fma(load_lanes(a + i * p.a_row + k), first, sums[i][0]);
      sums[i][1] = fma(load_lanes(a + i * p.a_row + k + lanes), second, sums[i][1]);
    }
  }
  for (; k < p.depth; k += lanes) {
    const int count = p.depth - k < lanes ? static_cast<int>(p.depth - k) : lanes;
    const V<T> rest = load_lanes(p.x + k, count);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i)
      sums[i][0] = fma(load_lanes(a + i * p.a_row + k, count), rest, sums[i][0]);
  }
  for (int i = 0; i < Rows; ++i) {
    T& to = out[i * p.out_step];
    const T sum = p.alpha * sum_of_lanes<T>(sums[i][0] + sums[i][1]);
    to = p.beta == T(0) ? sum : sum + p.beta * to;
  }
}

template <class T>
void row_dots(const RowDots<T>& p) {
  int64_t i = 0;
  for (; i + 4 <= p.rows; i += 4) some_row_dots<T, 4>(p, p.a + i * p.a_row, p.out + i * p.out_step);
  for (; i < p.rows; ++i) some_row_dots<T, 1>(p, p.a + i * p.a_row, p.out + i * p.out_step);
}

template <class T>
inline constexpr SmallKernels<T> small_kernels = {small_product<T>, row_dots<T>};
#endif
