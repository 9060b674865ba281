// Products of sparse matrices with dense and sparse ones.
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"
#include "generated/composed_sparse.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_reduce.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"
#include "generated/sparse_linalg.h"

namespace msa::sparse {
namespace {

void check_matrices(const char* op, const Tensor& a, const Tensor& b) {
  MSA_REQUIRE(a.dim() == 2 && b.dim() == 2, Runtime, op, ": Expected 2D matrices, got ", a.dim(),
              "D and ", b.dim(), "D tensors");
  MSA_REQUIRE(a.sizes()[1] == b.sizes()[0], Runtime, op,
              ": mat1 and mat2 shapes cannot be multiplied (", a.sizes()[0], "x", a.sizes()[1],
              " and ", b.sizes()[0], "x", b.sizes()[1], ")");
  MSA_REQUIRE(a.dtype() == b.dtype(), Runtime, op,
              ": expected both matrices to have the same dtype, but got: ", a.dtype(), " and ",
              b.dtype());
  for (const Tensor* t : {&a, &b})
    MSA_REQUIRE(!is_sparse(*t) || (dense_dim(*t) == 0 && sparse_parts(*t).sparse_dim() == 2),
                Runtime, op, ": expected sparse matrices without dense dimensions, got ",
                dense_dim(*t), " of them");
}

// A sparse matrix whose rows are compressed; from whatever it is.
Tensor by_rows(const Tensor& t) {
  return ops::_as_layout(t, static_cast<int64_t>(SparseLayout::Csr));
}

Tensor sparse_dense(const Tensor& a, const Tensor& dense) {
  const Tensor rows = by_rows(a);
  const SparseParts& parts = sparse_parts(rows);
  return ops::_csr_product(parts.indices, parts.plain, parts.values, dense);
}

Tensor sparse_sparse(const Tensor& a, const Tensor& b) {
  const Tensor left = by_rows(a), right = by_rows(b);
  const SparseParts &p = sparse_parts(left), &q = sparse_parts(right);
  SparseParts made;
  made.layout = SparseLayout::Csr;
  std::tie(made.indices, made.plain, made.values) = ops::_csr_csr_product(
      p.indices, p.plain, p.values, q.indices, q.plain, q.values, b.sizes()[1]);
  Tensor product = make_sparse(std::move(made), {a.sizes()[0], b.sizes()[1]});
  return sparse_parts(a).blocked() ? product : ops::_to_layout_of(product, a);
}

Tensor in_float(const Tensor& t) { return ops::to_dtype(t, DType::F32); }

Tensor scaled(const Tensor& t, const Scalar& factor) {
  return factor == 1.0 ? t : ops::mul(t, wrapped_number(factor));
}

}  // namespace

Spread spread_ranges(const Tensor& starts, const Tensor& counts) {
  Tensor range = ops::repeat_interleave_counts(counts);
  Tensor before = ops::sub(ops::cumsum(counts, 0), counts);
  Tensor within = ops::sub(ops::arange(Scalar(range.numel()), DType::I64, range.device()),
                           ops::index_select(before, 0, range));
  return {range, ops::add(ops::index_select(starts, 0, range), within)};
}

Tensor mm(const Tensor& input, const Tensor& mat2) {
  check_matrices("mm", input, mat2);
  if (is_sparse(input) && is_sparse(mat2)) return sparse_sparse(input, mat2);
  if (is_sparse(input)) return sparse_dense(input, mat2);
  return ops::t(sparse_dense(ops::t(mat2), ops::t(input)));
}

Tensor mv(const Tensor& input, const Tensor& vec) {
  MSA_REQUIRE(vec.dim() == 1 && !is_sparse(vec), Runtime,
              "mv: the vector must be a strided 1-D tensor, got ", vec.dim(), "-D ",
              layout_name(vec));
  return ops::select(mm(input, ops::unsqueeze(vec, 1)), 1, 0);
}

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  MSA_REQUIRE(input.dim() == 3 && mat2.dim() == 3 && input.sizes()[0] == mat2.sizes()[0], Runtime,
              "bmm: expected two batches of matrices of one length, got shapes ",
              DimsView(input.sizes()), " and ", DimsView(mat2.sizes()));
  MSA_REQUIRE(input.sizes()[0] > 0, NotImplemented, "bmm: empty sparse batches are not supported");
  TensorList products;
  for (int64_t b = 0; b < input.sizes()[0]; ++b)
    products.push_back(ops::mm(ops::select(input, 0, b), ops::select(mat2, 0, b)));
  return ops::stack(products, 0);
}

Tensor matmul(const Tensor& input, const Tensor& other) {
  if (input.dim() == 2 && other.dim() == 2) return mm(input, other);
  if (input.dim() == 2 && other.dim() == 1 && is_sparse(input)) return mv(input, other);
  if (input.dim() == 1 && other.dim() == 2 && is_sparse(other)) return mv(ops::t(other), input);
  if (input.dim() == 3 && other.dim() == 3) return bmm(input, other);
  if (!is_sparse(input) && input.dim() > 2 && other.dim() == 2) {  // rows of all batches at once
    Tensor rows = ops::reshape(input, {-1, input.size(-1)});
    Dims sizes = joined(leading(input.sizes(), input.dim() - 1), Dims{other.sizes()[1]});
    return ops::reshape(mm(rows, other), sizes);
  }
  refuse("matmul", is_sparse(input) ? input : other, "convert it with to_dense() first");
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Tensor product = ops::matmul(input, ops::t(weight));
  return bias.defined() ? ops::add(product, bias) : product;
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  Tensor product = scaled(ops::mm(mat1, mat2), alpha);
  if (beta == 0.0) return product;
  Tensor start = scaled(input, beta);
  if (is_sparse(start) && !is_sparse(product)) return ops::add(product, start);
  if (is_sparse(product) && !is_sparse(start) && !(start.sizes() == product.sizes()))
    start = ops::expand(start, product.sizes());
  return ops::add(start, product);
}

}  // namespace msa::sparse

namespace msa::composed {

Tensor mm_sparse(const Tensor& input, const Tensor& mat2) {
  MSA_REQUIRE(is_sparse(input) || is_sparse(mat2), Runtime,
              "sparse.mm: one matrix at least must be sparse; use torch.mm for dense ones");
  return ops::mm(input, mat2);
}

Tensor addmm_sparse(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                    const Scalar& alpha) {
  Tensor product = sparse::scaled(ops::mm_sparse(mat1, mat2), alpha);
  return beta == 0.0 ? product : ops::add(sparse::scaled(input, beta), product);
}

Tensor _sampled_mm(const Tensor& input, const Tensor& mat2, const Tensor& mask) {
  if (!is_sparse(mask)) return ops::mm(input, mat2);
  if (is_half(input.dtype()))
    return ops::to_dtype(ops::_sampled_mm(sparse::in_float(input), sparse::in_float(mat2), mask),
                         input.dtype());
  if (is_sparse(input) || is_sparse(mat2) || sparse_parts(mask).blocked())
    return ops::sparse_mask(ops::mm(input, mat2), mask);
  Tensor pattern = is_coo(mask) ? ops::coalesce(detach(mask)) : mask;
  const Tensor places = ops::_as_layout(detach(pattern), 1);
  const bool same_order = is_coo(pattern) || sparse_parts(pattern).by_rows();
  if (!same_order) return ops::sparse_mask(ops::mm(input, mat2), mask);
  const Tensor& indices = sparse_parts(places).indices;
  Tensor rows = ops::index_select(input, 0, ops::select(indices, 0, 0));
  Tensor columns = ops::index_select(ops::t(mat2), 0, ops::select(indices, 0, 1));
  return ops::_with_values(pattern, ops::sum_dim(ops::mul(rows, columns), Dims{1}));
}

namespace {

// A batch of CSR samples: the products in full, then their places.
Tensor sampled_batch(const Tensor& input, const Tensor& mat1, const Tensor& mat2) {
  return ops::sparse_mask(ops::matmul(mat1, mat2), input);
}

}  // namespace

namespace {

// The terms that are first to equal the best of their row; 0 in place of the others. So the whole
// gradient goes to one term.
Tensor first_equal(const Tensor& terms, const Tensor& best, const Tensor& rows,
                   const Tensor& index) {
  Tensor equal =
      ops::logical_or(ops::eq(terms, ops::index_select(best, 0, rows)), ops::isnan(terms));
  const int64_t n = terms.sizes()[0];
  Tensor number = ops::expand(ops::unsqueeze(ops::arange(Scalar(n), DType::I64, terms.device()), 1),
                              terms.sizes());
  Tensor candidates = ops::where(equal, number, wrapped_number(Scalar(n)));
  Tensor none = ops::full(best.sizes(), Scalar(n), DType::I64, terms.device());
  Tensor first = ops::scatter_reduce(none, 0, index, candidates, "amin", true);
  Tensor chosen = ops::eq(number, ops::index_select(first, 0, rows));
  return ops::where(chosen, terms, wrapped_number(Scalar(0)));
}

}  // namespace

Tensor sampled_addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                     const Scalar& beta, const Scalar& alpha) {
  MSA_REQUIRE(is_sparse(input) && sparse_parts(input).layout == SparseLayout::Csr, Runtime,
              "sampled_addmm: Expected self to have sparse csr layout, but got ",
              layout_name(input));
  MSA_REQUIRE(!is_sparse(mat1) && !is_sparse(mat2), Runtime,
              "sampled_addmm: Expected mat1 and mat2 to have strided layout, but got ",
              layout_name(mat1), " and ", layout_name(mat2));
  MSA_REQUIRE(mat1.dim() >= 2 && mat2.dim() >= 2 && mat1.size(-1) == mat2.size(-2), Runtime,
              "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (", DimsView(mat1.sizes()),
              " and ", DimsView(mat2.sizes()), ")");
  MSA_REQUIRE(input.dim() == mat1.dim() && input.size(-2) == mat1.size(-2) &&
                  input.size(-1) == mat2.size(-1),
              Runtime, "sampled_addmm: self.shape ", DimsView(input.sizes()),
              " must match the product of mat1 and mat2 of shapes ", DimsView(mat1.sizes()),
              " and ", DimsView(mat2.sizes()));
  Tensor product =
      input.dim() == 2 ? ops::_sampled_mm(mat1, mat2, input) : sampled_batch(input, mat1, mat2);
  product = sparse::scaled(product, alpha);
  return beta == 0.0 ? product : ops::add(sparse::scaled(input, beta), product);
}

Tensor mm_reduce(const Tensor& input, const Tensor& mat2, std::string_view reduce) {
  MSA_REQUIRE(is_sparse(input) && sparse_parts(input).layout == SparseLayout::Csr, Runtime,
              "sparse.mm: with reduce= the first matrix must be in the CSR layout, got ",
              layout_name(input));
  MSA_REQUIRE(!is_sparse(mat2), Runtime,
              "sparse.mm: with reduce= the second matrix must be strided, got ", layout_name(mat2));
  sparse::check_matrices("sparse.mm", input, mat2);
  if (is_half(input.dtype()))  // rounded once
    return ops::to_dtype(ops::mm_reduce(sparse::in_float(input), sparse::in_float(mat2), reduce),
                         input.dtype());
  const SparseParts& parts = sparse_parts(input);
  const int64_t n = input.sizes()[0];
  Tensor rows = sparse::rows_from_compressed(parts.indices, parts.nnz());
  Tensor terms =
      ops::mul(ops::unsqueeze(ops::values(input), 1), ops::index_select(mat2, 0, parts.plain));
  Tensor start = ops::zeros({n, mat2.sizes()[1]}, terms.dtype(), terms.device());
  if (reduce == "sum") return ops::index_add(start, 0, rows, terms);
  Tensor index = ops::expand(ops::unsqueeze(rows, 1), terms.sizes());
  if (reduce == "mean") return ops::scatter_reduce(start, 0, index, terms, reduce, false);
  MSA_REQUIRE(reduce == "amax" || reduce == "amin", Runtime,
              "sparse.mm: reduce must be sum, mean, amax or amin, got ", reduce);
  Tensor best = ops::scatter_reduce(start, 0, index, detach(terms), reduce, false);
  return ops::index_add(start, 0, rows, first_equal(terms, best, rows, index));
}

}  // namespace msa::composed
