// The matrix product of every dtype and any strides; chooses between our own tiles and BLAS. It works
// on raw memory only: callers release the core lock where the work is worth it.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// A matrix somewhere in memory; strides in elements.
struct Matrix {
  void* data;
  int64_t rows, columns, row_stride, column_stride;

  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

// The last two dimensions of a tensor, `data` moved by `offset` elements.
inline Matrix matrix_of(const Tensor& t, int64_t offset = 0) {
  const int64_t n = t.dim();
  return {t.data<char>() + offset * static_cast<int64_t>(t.item_bytes()), t.sizes()[n - 2],
          t.sizes()[n - 1], t.strides()[n - 2], t.strides()[n - 1]};
}

// c = alpha * a b + beta * c; with beta == 0 what c held is not read. Raises for bool.
void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, const Scalar& alpha = 1,
          const Scalar& beta = 0);

// c[i] = alpha * a[i] b[i] + beta * c[i] for every matrix of a batch; strides in elements.
struct Batch {
  int64_t count, a_stride, b_stride, c_stride;
};
void gemm_batch(DType dtype, const Batch& batch, const Matrix& a, const Matrix& b, const Matrix& c,
                const Scalar& alpha = 1, const Scalar& beta = 0);

}  // namespace msa::cpu
