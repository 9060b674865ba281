// The matrix product of every dtype and any strides; chooses between our own tiles and BLAS. It
// works on raw memory only: callers release the core lock where the work is worth it.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// A matrix somewhere in memory; strides in elements.
struct Matrix {
  void* data;
  int64_t rows, columns, row_stride, column_stride;

  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

// c = alpha * a b + beta * c; with beta == 0 what c held is not read. Raises for bool.
void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, const Scalar& alpha = 1,
          const Scalar& beta = 0);

// The same for `count` matrices; matrix i of each operand starts at its offset i (in elements).
struct Batch {
  int64_t count;
  const int64_t *a, *b, *c;
};
void gemm_batch(DType dtype, const Batch& batch, const Matrix& a, const Matrix& b, const Matrix& c,
                const Scalar& alpha = 1, const Scalar& beta = 0);

}  // namespace msa::cpu
