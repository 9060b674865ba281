// Small words for matrices as the last two dimensions of tensors, shared by compositions and
// gradients.
#pragma once
#include "core/dispatch/options.h"

namespace msa::matrices {

Tensor number(double value);
Scalar value_of(const Tensor& t);  // of a 0-d tensor, wherever it lives
Tensor product(const Tensor& a, const Tensor& b);
Tensor adjoint(const Tensor& a);  // conjugate transposed
Tensor diagonal(const Tensor& a);
Tensor identity(const Tensor& a);  // a boolean mask of the diagonal, of a's last two sizes
// The matrices P with A = P (L U), from LAPACK's row swaps.
Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype);

}  // namespace msa::matrices
