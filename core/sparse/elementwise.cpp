// Sums, products, quotients and powers of sparse tensors, and their copies.
#include "core/dispatch/elementwise.h"

#include "core/sparse/sparse.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_math.h"
#include "generated/ops_reduce.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"
#include "generated/sparse_elementwise.h"
#include "generated/sparse_math.h"

namespace msa::sparse {
namespace {

int64_t layout_number(const Tensor& t) { return static_cast<int64_t>(sparse_parts(t).layout); }

Tensor as_coo(const Tensor& t) { return ops::_as_layout(t, 1); }

// Runs a function of COO tensors on compressed ones; the result has their layout.
template <class F>
Tensor through_coo(const char* op, const Tensor& a, const Tensor& b, F function) {
  MSA_REQUIRE(layout_number(a) == layout_number(b), NotImplemented, op,
              ": not implemented between the layouts ", layout_name(a), " and ", layout_name(b),
              "; convert one with to_sparse()");
  return ops::_to_layout_of(function(as_coo(a), as_coo(b)), a);
}

void require_same_sizes(const char* op, const Tensor& a, const Tensor& b) {
  MSA_REQUIRE(a.sizes() == b.sizes(), Runtime, op,
              ": expected 'self' and 'other' to have same size, but self has size ",
              DimsView(a.sizes()), " while other has size ", DimsView(b.sizes()),
              " (sparse tensors do not broadcast here)");
}

bool same_compressed_places(const Tensor& a, const Tensor& b) {
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  return p.layout == q.layout && p.indices.impl() == q.indices.impl() &&
         p.plain.impl() == q.plain.impl();
}

Tensor times(const Tensor& t, const Scalar& factor) {
  return factor == 1.0 ? t : ops::mul(t, wrapped_number(factor));
}

Scalar negated(const Scalar& s) {
  if (s.is_complex()) return Scalar(-s.to_complex());
  return s.kind() == Scalar::Kind::Float ? Scalar(-s.to_double()) : Scalar(-s.to_int());
}

// --- sums ----------------------------------------------------------------------------------------

Tensor coo_sum(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  MSA_REQUIRE(p.sparse_dim() == q.sparse_dim(), Runtime, "add: 'self' has ", p.sparse_dim(),
              " sparse dimensions, 'other' ", q.sparse_dim(), "; they must be the same");
  const Tensor* both[] = {&a, &b};
  DType dtype = result_type(std::span<const Tensor* const>(both));
  Tensor first = ops::to_dtype(p.values, dtype),
         second = times(ops::to_dtype(q.values, dtype), alpha);
  if (p.nnz() == q.nnz() && holds(ops::all(ops::eq(p.indices, q.indices))))
    return coo(p.indices, ops::add(first, second), a.sizes(), p.coalesced && q.coalesced);
  Tensor sum = coo(ops::cat({p.indices, q.indices}, 1), ops::cat({first, second}, 0), a.sizes(),
                   p.nnz() == 0 ? q.coalesced : q.nnz() == 0 && p.coalesced);
  return p.coalesced && q.coalesced ? ops::coalesce(sum) : sum;
}

// The dense tensor as one list of what the sparse tensor's places name; a view, or undefined.
Tensor listed(const Tensor& dense, int64_t sparse_dim) {
  if (!dense.is_contiguous() || dense.numel() == 0) return {};
  int64_t n = 1;
  for (int64_t d = 0; d < sparse_dim; ++d) n *= dense.sizes()[static_cast<size_t>(d)];
  return ops::view(dense, joined(Dims{n}, trailing(dense.sizes(), sparse_dim)));
}

void add_into(Tensor& dense, const Tensor& other, const Scalar& alpha) {
  const SparseParts& parts = sparse_parts(other);
  Tensor list = parts.is_coo() ? listed(dense, parts.sparse_dim()) : Tensor();
  if (list.defined() && is_inexact(dense.dtype())) {
    Dims lead = leading(other.sizes(), parts.sparse_dim());
    Tensor values = ops::to_dtype(parts.values, dense.dtype());
    ops::index_add_(list, 0, flat_places(parts.indices, lead), values, alpha);
  } else {
    Tensor place = alias(dense, dense.layout());
    ops::copy_(place, ops::add(dense, ops::to_dense(other), alpha));
  }
}

Tensor dense_sum(const Tensor& dense, const Tensor& other, const Scalar& alpha) {
  require_same_sizes("add", dense, other);
  const Tensor* both[] = {&dense, &other};
  DType dtype = result_type(std::span<const Tensor* const>(both));
  Tensor sum = ops::_to_copy(dense, dtype, {}, MemoryFormat::Contiguous);
  add_into(sum, other, alpha);
  return sum;
}

}  // namespace

Tensor add(const Tensor& input, const Tensor& other, const Scalar& alpha) {
  if (!is_sparse(input)) return dense_sum(input, other, alpha);
  if (!is_sparse(other)) {
    MSA_REQUIRE(!is_coo(input), Runtime,
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
    return dense_sum(times(other, alpha), input, 1);
  }
  require_same_sizes("add", input, other);
  if (same_compressed_places(input, other) && !is_coo(input))
    return with_values(input,
                       ops::add(sparse_parts(input).values, sparse_parts(other).values, alpha));
  if (is_coo(input) && is_coo(other)) return coo_sum(input, other, alpha);
  return through_coo("add", input, other, [&](const Tensor& a, const Tensor& b) {
    return coo_sum(ops::coalesce(a), ops::coalesce(b), alpha);
  });
}

void add_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  const Tensor* both[] = {&self, &other};
  DType dtype = result_type(std::span<const Tensor* const>(both));
  MSA_REQUIRE(can_cast(dtype, self.dtype()), Runtime, "add_: result type ", dtype,
              " can't be cast to the desired output type ", self.dtype());
  if (!is_sparse(self)) {
    require_same_sizes("add_", self, other);
    add_into(self, other, alpha);
    return;
  }
  Tensor sum = add(self, other, alpha);
  MSA_REQUIRE(is_sparse(sum), Runtime,
              "add_: a sparse tensor cannot take the sum with a dense one; use add(dense, sparse)");
  become(self, ops::to_dtype(sum, self.dtype()));
}

Tensor sub(const Tensor& input, const Tensor& other, const Scalar& alpha) {
  return add(input, other, negated(alpha));
}

void sub_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  add_(self, other, negated(alpha));
}

// --- products ------------------------------------------------------------------------------------

namespace {

// What the two have in common: the values of both at the places that both name.
Tensor coo_product(const Tensor& a, const Tensor& b) {
  require_same_sizes("mul", a, b);
  Tensor x = ops::coalesce(a), y = ops::coalesce(b);
  const SparseParts &p = sparse_parts(x), &q = sparse_parts(y);
  MSA_REQUIRE(p.sparse_dim() == q.sparse_dim(), Runtime, "mul: 'self' has ", p.sparse_dim(),
              " sparse dimensions, 'other' ", q.sparse_dim(), "; they must be the same");
  if (p.indices.impl() == q.indices.impl()) return with_values(x, ops::mul(p.values, q.values));
  if (p.nnz() == 0 || q.nnz() == 0) {
    Tensor none = ops::mul(ops::slice(p.values, 0, 0, 0), ops::slice(q.values, 0, 0, 0));
    return coo(ops::slice(p.indices, 1, 0, 0), none, a.sizes(), true);
  }
  Dims lead = leading(a.sizes(), p.sparse_dim());
  Tensor wanted = flat_places(p.indices, lead), keys = flat_places(q.indices, lead);
  Tensor at = ops::_searchsorted(keys, wanted, {}, false, false);
  at = ops::where(ops::lt(at, wrapped_number(Scalar(q.nnz()))), at, wrapped_number(Scalar(0)));
  Tensor found = ops::eq(ops::index_select(keys, 0, at), wanted);
  Tensor shared = ops::reshape(ops::nonzero(found), {-1});
  Tensor theirs = ops::index_select(q.values, 0, ops::index_select(at, 0, shared));
  return coo(ops::index_select(p.indices, 1, shared),
             ops::mul(ops::index_select(p.values, 0, shared), theirs), a.sizes(), true);
}

// A dense factor at the places of a COO tensor; dimensions of size 1 are never spread out.
Tensor factor_at(const Tensor& dense, const Tensor& pattern) {
  const SparseParts& parts = sparse_parts(pattern);
  Tensor factor = dense;
  while (factor.dim() < pattern.dim()) factor = ops::unsqueeze(factor, 0);
  Tensor flat = ops::zeros({parts.nnz()}, DType::I64, parts.indices.device());
  int64_t n = 1;
  for (int64_t d = 0; d < parts.sparse_dim(); ++d) {
    const int64_t size = factor.sizes()[static_cast<size_t>(d)];
    n *= size;
    if (size > 1)
      flat =
          ops::add(ops::mul(flat, wrapped_number(Scalar(size))), ops::select(parts.indices, 0, d));
  }
  Dims rest = trailing(factor.sizes(), parts.sparse_dim());
  return ops::index_select(ops::reshape(factor, joined(Dims{n}, rest)), 0, flat);
}

bool spreads_to(const Tensor& small, const Tensor& large) {
  const int64_t beside = large.dim() - small.dim();
  if (beside < 0) return false;
  for (int64_t d = 0; d < small.dim(); ++d) {
    const int64_t size = small.sizes()[static_cast<size_t>(d)];
    if (size != 1 && size != large.sizes()[static_cast<size_t>(beside + d)]) return false;
  }
  return true;
}

Tensor dense_product(const Tensor& t, const Tensor& dense, bool swapped) {
  const Tensor& values = sparse_parts(t).values;
  auto product = [&](const Tensor& factor) {
    return with_values(t, swapped ? ops::mul(factor, values) : ops::mul(values, factor));
  };
  if (dense.dim() == 0) return product(dense);
  MSA_REQUIRE(spreads_to(dense, t), Runtime, "mul: the dense factor of shape ",
              DimsView(dense.sizes()), " does not broadcast to the sparse one's shape ",
              DimsView(t.sizes()), "; to_dense() it first");
  if (is_coo(t)) return product(factor_at(dense, t));
  return product(ops::_values_at(ops::expand(dense, t.sizes()), t));
}

}  // namespace

Tensor mul(const Tensor& input, const Tensor& other) {
  if (!is_sparse(input)) return dense_product(other, input, true);
  if (!is_sparse(other)) return dense_product(input, other, false);
  require_same_sizes("mul", input, other);
  if (is_coo(input) && is_coo(other)) return coo_product(input, other);
  if (same_compressed_places(input, other))
    return with_values(input, ops::mul(sparse_parts(input).values, sparse_parts(other).values));
  return through_coo("mul", input, other, coo_product);
}

// --- quotients and powers ------------------------------------------------------------------------

namespace {

const Tensor& checked_divisor(const Tensor& input, const Tensor& other) {
  MSA_REQUIRE(is_sparse(input) && !is_sparse(other) && other.dim() == 0, Runtime,
              "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ",
              DimsView(other.sizes()), " for divisor)");
  return other;
}

Tensor added_up(const Tensor& t) { return is_coo(t) ? ops::coalesce(t) : t; }

}  // namespace

Tensor div(const Tensor& input, const Tensor& other) {
  const Tensor& divisor = checked_divisor(input, other);
  return with_values(input, ops::div(sparse_parts(input).values, divisor));
}

Tensor div_floor(const Tensor& input, const Tensor& other) {
  const Tensor& divisor = checked_divisor(input, other);
  Tensor pattern = added_up(input);
  return with_values(pattern, ops::div_floor(sparse_parts(pattern).values, divisor));
}

Tensor div_trunc(const Tensor& input, const Tensor& other) {
  const Tensor& divisor = checked_divisor(input, other);
  Tensor pattern = added_up(input);
  return with_values(pattern, ops::div_trunc(sparse_parts(pattern).values, divisor));
}

Tensor floor_divide(const Tensor& input, const Tensor& other) { return div_floor(input, other); }

Tensor pow(const Tensor& input, const Tensor& exponent) {
  if (!is_sparse(input) || is_sparse(exponent) || exponent.dim() > 0)
    refuse("pow", is_sparse(input) ? input : exponent, "only a number can be the exponent");
  MSA_REQUIRE(holds(ops::ne(exponent, wrapped_number(Scalar(0)))), Runtime,
              "pow: cannot raise to zeroth power on sparse tensor; it would make the result "
              "tensor dense");
  Tensor pattern = added_up(input);
  return with_values(pattern, ops::pow(sparse_parts(pattern).values, exponent));
}

Tensor threshold_backward(const Tensor& grad_output, const Tensor& input, const Scalar& threshold) {
  if (!is_sparse(input)) refuse("threshold_backward", grad_output, "convert it with to_dense()");
  Tensor pattern = added_up(input);
  Tensor grad = ops::_values_at(grad_output, pattern);
  return with_values(pattern,
                     ops::threshold_backward(grad, sparse_parts(pattern).values, threshold));
}

}  // namespace msa::sparse
