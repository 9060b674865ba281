// Matrix products: who computes them (tiles, row dots, BLAS), what is packed first, how work is
// split.
#include "kernels/cpu/matmul/gemm.h"

#include "kernels/cpu/blas.h"
#include "kernels/cpu/matmul/small_product.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
namespace {

// Multiply-adds from which packing (which BLAS does) and a second thread pay.
constexpr int64_t kBlasWork = int64_t{1} << 24, kThreadWork = int64_t{1} << 20;
constexpr int64_t kOneDnnWork = int64_t{1}
                                << 18;  // from here its bfloat16 products pay for their start

template <class T>
T* data_of(const Matrix& m) {
  return static_cast<T*>(m.data);
}
template <class T>
Matrix moved(Matrix m, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  m.data = data_of<T>(m) + row * m.row_stride + column * m.column_stride;
  m.rows = rows;
  m.columns = columns;
  return m;
}
bool rows_are_vectors(const Matrix& m) { return m.column_stride == 1 || m.columns == 1; }

// A row-major copy of `m`. Columns that are vectors are read in blocks so that cache lines are used
// whole.
template <class To, class From>
void pack(const Matrix& m, To* to) {
  constexpr int64_t kBlock = 16;
  const From* from = data_of<From>(m);
  for (int64_t i0 = 0; i0 < m.rows; i0 += kBlock) {
    const int64_t i1 = std::min(m.rows, i0 + kBlock);
    for (int64_t j = 0; j < m.columns; ++j) {
      for (int64_t i = i0; i < i1; ++i)
        to[i * m.columns + j] = static_cast<To>(from[i * m.row_stride + j * m.column_stride]);
    }
  }
}
template <class T>
Matrix packed(const Matrix& m, T* room) {
  pack<T, T>(m, room);
  return {room, m.rows, m.columns, m.columns, 1};
}

// c = alpha * product + beta * c, where the product stands row-major in `product`.
template <class T, class C>
void blend(const T* product, int64_t row_stride, int64_t column_stride, const Matrix& c, T alpha,
           T beta) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      C& to = data_of<C>(c)[i * c.row_stride + j * c.column_stride];
      T value = alpha * product[i * row_stride + j * column_stride];
      if (beta != T(0)) value += beta * static_cast<T>(to);
      to = static_cast<C>(value);
    }
  }
}

template <class T>
struct Factors {
  T alpha, beta;
};

// --- float and double on one thread -------------------------------------------------------------
// A float that takes up a long sum loses digits of the later terms, so sums are made in pieces.
template <class T>
void tiles(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  const int64_t piece = std::is_same_v<T, float> ? 256 : a.columns;
  for (int64_t k = 0; k < a.columns; k += piece) {
    small_kernels<T>().product({a.rows, c.columns, std::min(piece, a.columns - k),
                                data_of<T>(a) + k * a.column_stride, a.row_stride, a.column_stride,
                                data_of<T>(b) + k * b.row_stride, b.row_stride, data_of<T>(c),
                                c.row_stride, f.alpha, k ? T(1) : f.beta});
  }
}

template <class T>
void vector_product(const Matrix& a, const T* x, T* out, int64_t out_step, Factors<T> f) {
  small_kernels<T>().row_dots(
      {a.rows, a.columns, data_of<T>(a), a.row_stride, x, out, out_step, f.alpha, f.beta});
}

// Columns of b are vectors but rows are not: transpose whichever is less to move.
template <class T>
void transposed_product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  const int64_t pack_b = b.rows * b.columns, pack_a = a.row_stride == 1 ? 0 : a.rows * a.columns;
  if (pack_b <= pack_a + c.rows * c.columns) {
    Scratch<T> room(pack_b);
    return tiles<T>(a, packed(b, room.data()), c, f);
  }
  Scratch<T> room(pack_a), turned(c.rows * c.columns);
  const Matrix right = a.row_stride == 1 ? a.transposed() : packed(a.transposed(), room.data());
  tiles<T>(b.transposed(), right, {turned.data(), c.columns, c.rows, c.rows, 1}, {f.alpha, T(0)});
  blend<T, T>(turned.data(), 1, c.rows, c, T(1), f.beta);
}

// c's rows are vectors here.
template <class T>
void serial(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  if (c.columns == 1 && a.column_stride == 1 && a.columns > 1) {
    if (b.row_stride == 1)
      return vector_product<T>(a, data_of<T>(b), data_of<T>(c), c.row_stride, f);
    Scratch<T> room(b.rows);
    return vector_product<T>(a, static_cast<T*>(packed(b, room.data()).data), data_of<T>(c),
                             c.row_stride, f);
  }
  if (c.columns == 1 && a.row_stride == 1 && c.row_stride == 1)  // its one row, turned
    return tiles<T>(b.transposed(), a.transposed(), c.transposed(), f);
  if (rows_are_vectors(b)) return tiles<T>(a, b, c, f);
  if (c.rows == 1 && b.row_stride == 1 && a.column_stride == 1)
    return vector_product<T>(b.transposed(), data_of<T>(a), data_of<T>(c), 1, f);
  transposed_product<T>(a, b, c, f);
}

// --- BLAS ---------------------------------------------------------------------------------------
bool blas_takes(const Matrix& m) {
  constexpr int64_t kMost = INT32_MAX;
  const bool plain = m.column_stride == 1 && m.row_stride >= m.columns && m.row_stride <= kMost;
  const bool turned = m.row_stride == 1 && m.column_stride >= m.rows && m.column_stride <= kMost;
  return m.rows <= kMost && m.columns <= kMost && (plain || turned);
}

template <class T>
void blas_product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  const bool a_turned = a.column_stride != 1, b_turned = b.column_stride != 1;
  blas::gemm(
      {c.rows, c.columns, a.columns, a.data, a_turned ? a.column_stride : a.row_stride, a_turned,
       b.data, b_turned ? b.column_stride : b.row_stride, b_turned, c.data, c.row_stride},
      f.alpha, f.beta);
}

// Splits c over threads along its longer side, in pieces that suit the tiles.
template <class T, class F>
void split_product(const Matrix& a, const Matrix& b, const Matrix& c, F&& one) {
  constexpr int64_t kStep = 48;
  const bool by_rows = c.rows >= c.columns;
  const int64_t length = by_rows ? c.rows : c.columns;
  parallel((length + kStep - 1) / kStep, 1, [&](int64_t begin, int64_t end) {
    const int64_t from = begin * kStep, count = std::min(length, end * kStep) - from;
    if (by_rows) {
      one(moved<T>(a, from, 0, count, a.columns), b, moved<T>(c, from, 0, count, c.columns));
    } else {
      one(a, moved<T>(b, 0, from, b.rows, count), moved<T>(c, 0, from, c.rows, count));
    }
  });
}

int64_t work_of(const Matrix& a, const Matrix& c) { return c.rows * c.columns * a.columns; }

template <class T>
void product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  if (!rows_are_vectors(c)) {
    if (c.row_stride == 1 || c.rows == 1)
      return product<T>(b.transposed(), a.transposed(), c.transposed(), f);
    Scratch<T> room(c.rows * c.columns);
    product<T>(a, b, {room.data(), c.rows, c.columns, c.columns, 1}, {f.alpha, T(0)});
    return blend<T, T>(room.data(), c.columns, 1, c, T(1), f.beta);
  }
  const int64_t work = work_of(a, c);
  const bool to_blas = work >= kBlasWork && std::min(std::min(c.rows, c.columns), a.columns) >= 8 &&
                       blas_takes(a) && blas_takes(b) && c.row_stride <= INT32_MAX &&
                       blas::available();
  if (work < kThreadWork) return serial<T>(a, b, c, f);
  split_product<T>(a, b, c, [&](const Matrix& pa, const Matrix& pb, const Matrix& pc) {
    to_blas ? blas_product<T>(pa, pb, pc, f) : serial<T>(pa, pb, pc, f);
  });
}

// --- the other dtypes ---------------------------------------------------------------------------
// Half types: products and sums in float, rounded once.
template <class H>
void half_product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<float> f) {
  const bool adds = f.beta == 1;
  if (std::is_same_v<H, bf16> && work_of(a, c) >= kOneDnnWork && f.alpha == 1 &&
      (adds || f.beta == 0)) {
    if (const onednn::Plan* plan = onednn::plan_product(a, b, c, adds))
      return onednn::run(*plan, a.data, b.data, nullptr, c.data);
  }
  Scratch<float> left(a.rows * a.columns), right(b.rows * b.columns), sum(c.rows * c.columns);
  pack<float, H>(a, left.data());
  pack<float, H>(b, right.data());
  product<float>({left.data(), a.rows, a.columns, a.columns, 1},
                 {right.data(), b.rows, b.columns, b.columns, 1},
                 {sum.data(), c.rows, c.columns, c.columns, 1}, {1.0f, 0.0f});
  blend<float, H>(sum.data(), c.columns, 1, c, f.alpha, f.beta);
}

// Integers wrap around; complex numbers below BLAS' size. One row of c at a time.
template <class T>
void plain_product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  Scratch<T> right(b.rows * b.columns);
  const Matrix rows = packed(b, right.data());
  parallel(c.rows, std::max<int64_t>(1, kThreadWork / 8 / (a.columns * c.columns + 1)),
           [&](int64_t begin, int64_t end) {
             Scratch<T> sum(c.columns);
             for (int64_t i = begin; i < end; ++i) {
               std::fill_n(sum.data(), c.columns, T(0));
               for (int64_t k = 0; k < a.columns; ++k) {
                 const T left = data_of<T>(a)[i * a.row_stride + k * a.column_stride];
                 const T* row = data_of<T>(rows) + k * c.columns;
                 for (int64_t j = 0; j < c.columns; ++j) sum.data()[j] += left * row[j];
               }
               blend<T, T>(sum.data(), c.columns, 1, moved<T>(c, i, 0, 1, c.columns), f.alpha,
                           f.beta);
             }
           });
}

template <class T>
void complex_product(const Matrix& a, const Matrix& b, const Matrix& c, Factors<T> f) {
  const bool to_blas = work_of(a, c) >= kBlasWork / 64 && c.column_stride == 1 &&
                       c.row_stride >= c.columns && blas_takes(a) && blas_takes(b) &&
                       blas::available();
  if (!to_blas) return plain_product<T>(a, b, c, f);
  split_product<T>(a, b, c, [&](const Matrix& pa, const Matrix& pb, const Matrix& pc) {
    blas_product<T>(pa, pb, pc, f);
  });
}

template <class T>
Factors<T> factors(const Scalar& alpha, const Scalar& beta) {
  return {alpha.to<T>(), beta.to<T>()};
}

template <class T>
void scale(const Matrix& c, T beta) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      T& to = data_of<T>(c)[i * c.row_stride + j * c.column_stride];
      to = beta == T(0) ? T(0) : static_cast<T>(beta * to);
    }
  }
}

template <class T>
void dispatch(const Matrix& a, const Matrix& b, const Matrix& c, const Scalar& alpha,
              const Scalar& beta) {
  if (a.columns == 0) return scale<T>(c, beta.to<T>());
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    product<T>(a, b, c, factors<T>(alpha, beta));
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    half_product<T>(a, b, c, factors<float>(alpha, beta));
  } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
    complex_product<T>(a, b, c, factors<T>(alpha, beta));
  } else {
    plain_product<T>(a, b, c, factors<T>(alpha, beta));
  }
}

using Function = void (*)(const Matrix&, const Matrix&, const Matrix&, const Scalar&,
                          const Scalar&);

Function function_for(DType dtype) {
  switch (dtype) {
#define MSA_CASE(E, T) \
  case DType::E:       \
    return dispatch<T>;
    MSA_CASE(U8, uint8_t)
    MSA_CASE(I8, int8_t)
    MSA_CASE(I16, int16_t)
    MSA_CASE(I32, int32_t)
    MSA_CASE(I64, int64_t)
    MSA_CASE(F16, f16)
    MSA_CASE(BF16, bf16)
    MSA_CASE(F32, float)
    MSA_CASE(F64, double)
    MSA_CASE(C64, c64)
    MSA_CASE(C128, c128)
#undef MSA_CASE
    default:
      fail(ErrorKind::NotImplemented, "matmul: not implemented for ", dtype,
           ": convert the operands first.");
  }
}

}  // namespace

void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, const Scalar& alpha,
          const Scalar& beta) {
  const Function function = function_for(dtype);
  if (c.rows && c.columns) function(a, b, c, alpha, beta);
}

void gemm_batch(DType dtype, const Batch& batch, const Matrix& a, const Matrix& b, const Matrix& c,
                const Scalar& alpha, const Scalar& beta) {
  const Function function = function_for(dtype);
  if (!c.rows || !c.columns) return;
  const auto item = static_cast<int64_t>(size_bytes(dtype));
  const auto at = [item](Matrix m, int64_t elements) {
    m.data = static_cast<char*>(m.data) + elements * item;
    return m;
  };
  const int64_t work = work_of(a, c);
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      function(at(a, batch.a[i]), at(b, batch.b[i]), at(c, batch.c[i]), alpha, beta);
  };
  if (batch.count < get_num_threads() || batch.count * work < kThreadWork)
    return range(0, batch.count);
  parallel(batch.count, std::max<int64_t>(1, kThreadWork / (work + 1)), range);
}

}  // namespace msa::cpu
