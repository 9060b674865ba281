// Matrix products of batched tensors, all made of `matmul`, which takes any batch in front.
#include "core/transforms/own.h"
#include "generated/batched_linalg.h"
#include "generated/batched_product.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_linalg.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::batched {
namespace {

void require_rank(const char* op, const Tensor& t, int64_t rank) {
  MSA_REQUIRE(t.dim() == rank, Runtime, op, ": expected a tensor of ", rank,
              " dimensions, but its shape is ", DimsView(t.sizes()));
}

Tensor scaled(const Tensor& t, const Scalar& factor) {
  return factor.to_complex() == c128(1) ? t : ops::mul(t, wrapped_number(factor));
}

// beta * input + alpha * product
Tensor sum_of(const Tensor& input, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
  const Tensor second = scaled(product, alpha);
  if (beta.to_complex() != c128(0)) return ops::add(scaled(input, beta), second);
  return ops::_expand(second, broadcast_sizes("addmm", input.sizes(), second.sizes()));
}

}  // namespace

Tensor matmul(const Tensor& input, const Tensor& other) {
  const Batch batch(input, other);
  MSA_REQUIRE(input.dim() && other.dim(), Runtime,
              "matmul: both arguments to matmul need to be at least 1D, but they are ", input.dim(),
              "D and ", other.dim(), "D");
  const bool row = input.dim() == 1, column = other.dim() == 1;
  const int64_t rank = std::max<int64_t>({2, input.dim(), other.dim()});
  Tensor a = row ? ops::unsqueeze(batch.front(input), -2) : batch.front(input, rank);
  Tensor b = column ? ops::unsqueeze(batch.front(other), -1) : batch.front(other, rank);
  if (row && batch.has(input)) a = in_front({a, 0}, rank);
  if (column && batch.has(other)) b = in_front({b, 0}, rank);
  Tensor product = ops::matmul(a, b);
  if (row) product = ops::squeeze_dim(product, -2);
  if (column) product = ops::squeeze_dim(product, -1);
  return batch.made(product);
}

Tensor mm(const Tensor& input, const Tensor& mat2) {
  require_rank("mm", input, 2);
  require_rank("mm", mat2, 2);
  return ops::matmul(input, mat2);
}
Tensor bmm(const Tensor& input, const Tensor& mat2) {
  require_rank("bmm", input, 3);
  require_rank("bmm", mat2, 3);
  return ops::matmul(input, mat2);
}
Tensor mv(const Tensor& input, const Tensor& vec) {
  require_rank("mv", input, 2);
  require_rank("mv", vec, 1);
  return ops::matmul(input, vec);
}
Tensor dot(const Tensor& input, const Tensor& tensor) {
  require_rank("dot", input, 1);
  require_rank("dot", tensor, 1);
  return ops::matmul(input, tensor);
}
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  return sum_of(input, mm(mat1, mat2), beta, alpha);
}
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return sum_of(input, mv(mat, vec), beta, alpha);
}
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return sum_of(input, bmm(batch1, batch2), beta, alpha);
}
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  return sum_of(input, ops::sum_dim(bmm(batch1, batch2), Dims{0}), beta, alpha);
}
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  require_rank("addr", vec1, 1);
  require_rank("addr", vec2, 1);
  return sum_of(input, ops::mul(ops::unsqueeze(vec1, 1), vec2), beta, alpha);
}
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor product = ops::matmul(input, ops::t(weight));
  return bias.defined() ? ops::add(product, bias) : product;
}

}  // namespace msa::batched
