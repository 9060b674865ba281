// Matrices as the last two dimensions of tensors.
#include "core/composed/matrices.h"

#include "core/dispatch/host.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_lapack.h"
#include "generated/ops_linalg.h"
#include "generated/ops_view.h"

namespace msa::matrices {

Tensor number(double value) { return wrapped_number(Scalar(value)); }
Scalar value_of(const Tensor& t) {
  const Tensor here = in_host(t);
  return load_scalar(here.dtype(), here.data());
}
Tensor product(const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }
Tensor adjoint(const Tensor& a) { return ops::conj(ops::transpose(a, -2, -1)); }
Tensor diagonal(const Tensor& a) { return ops::diagonal(a, 0, -2, -1); }

Tensor identity(const Tensor& a) {
  const Tensor row = ops::arange(a.size(-2), DType::I64, a.device()),
               column = ops::arange(a.size(-1), DType::I64, a.device());
  return ops::eq(ops::unsqueeze(row, 1), column);
}

Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype) {
  const Tensor order = ops::_linalg_permutation(pivots, rows);
  const Tensor places = ops::arange(rows, DType::I64, pivots.device());
  return ops::to_dtype(ops::eq(ops::unsqueeze(order, -2), ops::unsqueeze(places, -1)), dtype);
}

}  // namespace msa::matrices
