// Products and distances made of matrix products and elementwise ones.
#include <algorithm>

#include "core/base/warn.h"
#include "core/composed/values.h"
#include "core/dispatch/elementwise.h"
#include "generated/composed_product.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_product.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// A factor as the elements' own type has it: integers cut its fraction off, halves round it.
Tensor factor(const Scalar& value, DType dtype) { return scalar_tensor(value, dtype); }

}  // namespace

Tensor inner(const Tensor& input, const Tensor& other) {
  if (input.dim() == 0 || other.dim() == 0) return ops::mul(input, other);
  MSA_REQUIRE(input.size(-1) == other.size(-1), Runtime,
              "inner() the last dimension must match on both input tensors but got shapes ",
              input.sizes(), " and ", other.sizes());
  return ops::tensordot(input, other, {-1}, {-1});
}

Tensor kron(const Tensor& input, const Tensor& other) {
  int64_t ndim = std::max(input.dim(), other.dim());
  Dims a, b, joined;
  for (int64_t d = 0; d < ndim; ++d) {
    int64_t i = d - (ndim - input.dim()), j = d - (ndim - other.dim());
    int64_t left = i < 0 ? 1 : input.sizes()[i], right = j < 0 ? 1 : other.sizes()[j];
    a.push_back(left);
    a.push_back(1);
    b.push_back(1);
    b.push_back(right);
    joined.push_back(left * right);
  }
  return ops::reshape(ops::mul(ops::reshape(input, a), ops::reshape(other, b)), joined);
}

Tensor tensordot(const Tensor& input, const Tensor& other, const Dims& dims_self,
                 const Dims& dims_other) {
  MSA_REQUIRE(dims_self.size() == dims_other.size(), Runtime,
              "tensordot: both dimension lists should have same length, got ", dims_self, " and ",
              dims_other);
  MSA_REQUIRE(input.dtype() == other.dtype(), Runtime,
              "tensordot: both inputs should have same dtype, got ", input.dtype(), " and ",
              other.dtype());
  Dims left, right, sizes;
  int64_t shared = 1, rows = 1, columns = 1;
  auto among = [](const Dims& dims, int64_t d, int64_t ndim) {
    return std::any_of(dims.begin(), dims.end(), [&](int64_t x) { return wrap_dim(x, ndim) == d; });
  };
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (among(dims_self, d, input.dim())) continue;
    left.push_back(d);
    sizes.push_back(input.sizes()[d]);
    rows *= input.sizes()[d];
  }
  Tensor a = input, b = other;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    int64_t x = wrap_dim(dims_self[i], input.dim()), y = wrap_dim(dims_other[i], other.dim());
    int64_t m = input.sizes()[x], n = other.sizes()[y];
    MSA_REQUIRE(m == n || m == 1 || n == 1, Runtime,
                "tensordot: contracted dimensions need to match, but first has size ", m,
                " in dim ", x, " and second has size ", n, " in dim ", y);
    if (m == 1 && n != 1) b = ops::sum_dim(b, Dims{y}, true, b.dtype());
    if (n == 1 && m != 1) a = ops::sum_dim(a, Dims{x}, true, a.dtype());
    shared *= m == n ? m : 1;
    left.push_back(x);
    right.push_back(y);
  }
  for (int64_t d = 0; d < other.dim(); ++d) {
    if (among(dims_other, d, other.dim())) continue;
    right.push_back(d);
    sizes.push_back(other.sizes()[d]);
    columns *= other.sizes()[d];
  }
  return ops::reshape(ops::mm(ops::reshape(ops::permute(a, left), {rows, shared}),
                              ops::reshape(ops::permute(b, right), {shared, columns})),
                      sizes);
}

Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  MSA_REQUIRE(vec1.dim() == 1 && vec2.dim() == 1, Runtime,
              "addr: Expected 1-D argument vec1 and vec2, but got ", vec1.dim(), "-D and ",
              vec2.dim(), "-D");
  const Tensor* all[] = {&input, &vec1, &vec2};
  const DType dtype = result_type(all);
  const Tensor wide = ops::_expand(input, {vec1.size(0), vec2.size(0)});
  const bool alike = input.dtype() == dtype && vec1.dtype() == dtype && vec2.dtype() == dtype;
  if (beta == 1 && alike && is_inexact(dtype) && !is_half(dtype))  // in one pass
    return ops::addcmul(wide, ops::unsqueeze(vec1, 1), ops::unsqueeze(vec2, 0), alpha);
  const Tensor scaled = alpha == 1 ? vec1 : ops::mul(factor(alpha, dtype), vec1);
  const Tensor product = ops::outer(scaled, vec2);
  if (beta == 0) return ops::to_dtype(product, dtype);  // the input's NaN do not count
  return ops::add(beta == 1 ? wide : ops::mul(factor(beta, dtype), wide), product);
}

Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  MSA_REQUIRE(batch1.dim() == 3 && batch2.dim() == 3, Runtime,
              "addbmm: batch1 and batch2 must be 3D tensors, got ", batch1.dim(), "D and ",
              batch2.dim(), "D");
  MSA_REQUIRE(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1), Runtime,
              "addbmm: batch1 and batch2 must have same number of batches and fitting sizes, got ",
              batch1.sizes(), " and ", batch2.sizes());
  require_same_dtype("addbmm", input, batch1);
  Tensor sum = ops::_expand(input, {batch1.size(1), batch2.size(2)});
  if (batch1.size(0) == 0) return ops::mul(sum, factor(beta, sum.dtype()));
  for (int64_t i = 0; i < batch1.size(0); ++i)
    sum = ops::addmm(sum, ops::select(batch1, 0, i), ops::select(batch2, 0, i),
                     i ? Scalar(1) : beta, alpha);
  return sum;
}

Tensor cross(const Tensor& input, const Tensor& other, OptInt dim) {
  MSA_REQUIRE(input.dim() == other.dim(), Runtime,
              "linalg.cross: inputs must have the same number of dimensions, got ", input.sizes(),
              " and ", other.sizes());
  require_same_dtype("linalg.cross", input, other);
  Dims sizes = broadcast_sizes("cross", input.sizes(), other.sizes());
  auto ndim = static_cast<int64_t>(sizes.size()), d = int64_t{0};
  if (dim) {
    d = wrap_dim(*dim, ndim);
  } else {
    while (d < ndim && sizes[d] != 3) ++d;
    MSA_REQUIRE(d < ndim, Runtime, "cross: no dimension of size 3 in input of shape ", sizes);
    warn("cross: without dim= the first dimension of size 3 is taken (", d,
         "), which is deprecated; pass dim=", d);
  }
  MSA_REQUIRE(ndim > 0 && input.sizes()[d] == 3 && other.sizes()[d] == 3, Runtime,
              "linalg.cross: inputs dimension ", d, " must have length 3. Got ", input.sizes(),
              " and ", other.sizes());
  Tensor a = ops::_expand(input, sizes), b = ops::_expand(other, sizes);
  auto turned = [&](const Tensor& t, int64_t by) { return ops::roll(t, {by}, {d}); };
  return ops::sub(ops::mul(turned(a, -1), turned(b, 1)), ops::mul(turned(a, 1), turned(b, -1)));
}

Tensor dist(const Tensor& input, const Tensor& other, const Scalar& p) {
  return ops::vector_norm(ops::sub(input, other), p);
}

// By a product |a|^2 + |b|^2 - 2ab; equal points are 0 apart and have no gradient.
Tensor _cdist(const Tensor& x1, const Tensor& x2, double p, bool by_product) {
  if (!by_product || p != 2)
    return ops::vector_norm(ops::sub(ops::unsqueeze(x1, -2), ops::unsqueeze(x2, -3)), Scalar(p),
                            Dims{-1});
  auto squares = [](const Tensor& x) { return ops::sum_dim(ops::mul(x, x), Dims{-1}, true); };
  Tensor products = ops::mul(ops::matmul(x1, ops::transpose(x2, -2, -1)), number(-2));
  Tensor sum = ops::add(ops::add(products, squares(x1)), ops::transpose(squares(x2), -2, -1));
  Tensor none = ops::le(sum, number(0));
  return ops::masked_fill(ops::sqrt(ops::masked_fill(sum, none, number(1))), none, number(0));
}

}  // namespace msa::composed
