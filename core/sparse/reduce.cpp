// Sums and norms of sparse tensors, and softmax over the places that they name.
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"
#include "generated/composed_sparse.h"
#include "generated/ops_activation.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"
#include "generated/sparse_reduce.h"

namespace msa::sparse {
namespace {

// The rows of places that are not reduced; with keepdim the others become 0.
Tensor kept_places(const Tensor& indices, DimsView dims, bool keepdim) {
  TensorList rows;
  for (int64_t d = 0; d < indices.sizes()[0]; ++d) {
    const bool reduced = std::ranges::find(dims, d) != dims.end();
    Tensor row = ops::select(indices, 0, d);
    if (!reduced) rows.push_back(row);
    if (reduced && keepdim) rows.push_back(ops::zeros_like(row));
  }
  return ops::stack(rows, 0);
}

// The sum of a COO tensor over some dimensions, built from operators that have gradients.
Tensor coo_sum_over(const Tensor& input, DimsView dims, bool keepdim, OptDType dtype) {
  Tensor t = ops::coalesce(input);
  const int64_t sparse_dim = sparse_parts(t).sparse_dim();
  Dims inner;
  int64_t n_sparse = 0;
  for (int64_t d : dims) {
    n_sparse += d < sparse_dim;
    if (d >= sparse_dim) inner.push_back(d - sparse_dim + 1);
  }
  Tensor values = ops::values(t);
  if (!inner.empty())
    values = ops::sum_dim(values, inner, keepdim, dtype);
  else if (dtype)
    values = ops::to_dtype(values, *dtype);
  else if (is_integral(values.dtype()))
    values = ops::to_dtype(values, DType::I64);
  Dims sizes = reduced_sizes(input.sizes(), dims, keepdim);
  if (n_sparse == sparse_dim) return ops::reshape(ops::sum_dim(values, Dims{0}, false, {}), sizes);
  Tensor places = kept_places(sparse_parts(t).indices, dims, keepdim);
  Tensor sum = ops::_sparse_coo_tensor_unsafe(places, values, sizes, n_sparse == 0);
  return ops::coalesce(sum);
}

}  // namespace

Tensor sum(const Tensor& input, OptDType dtype) {
  return ops::sum(sparse_parts(input).values, dtype);
}

Tensor sum_dim(const Tensor& input, const OptDims& dim, bool keepdim, OptDType dtype) {
  Dims dims = reduced_dims("sum", dim, input.dim());
  if (static_cast<int64_t>(dims.size()) == input.dim() && !keepdim) return sum(input, dtype);
  if (is_coo(input)) return coo_sum_over(input, dims, keepdim, dtype);
  MSA_REQUIRE(keepdim, Runtime,
              "reduction operations on CSR tensors with keepdim=False is unsupported");
  Tensor total = coo_sum_over(ops::_as_layout(input, 1), dims, true, dtype);
  return ops::_to_layout_of(total, input);
}

Tensor any(const Tensor& input) { return ops::any(sparse_parts(input).values); }

Tensor _vector_norm(const Tensor& input, double ord, const OptDims& dim, bool keepdim) {
  if (ord < 0 || (dim && !dim->empty() && static_cast<int64_t>(dim->size()) < input.dim()))
    refuse("norm", input, "only the norm of all elements is supported: to_dense() it first");
  Tensor pattern = is_coo(input) ? ops::coalesce(input) : input;
  const Tensor& values = sparse_parts(pattern).values;
  Tensor norm = values.numel() == 0 ? ops::zeros({}, to_real(input.dtype()), values.device())
                                    : ops::_vector_norm(values, ord, {}, false);
  return keepdim ? ops::view(norm, Dims(input.sizes().size(), 1)) : norm;
}

}  // namespace msa::sparse

namespace msa::composed {

Tensor _sparse_sum(const Tensor& input, const OptDims& dim, OptDType dtype) {
  if (!is_sparse(input))
    return dim ? ops::sum_dim(input, dim, false, dtype) : ops::sum(input, dtype);
  if (!is_coo(input)) {
    MSA_REQUIRE(!dim, Runtime,
                "reduction operations on CSR tensors with keepdim=False is unsupported");
    return ops::sum(ops::values(input), dtype);
  }
  Dims dims = reduced_dims("sum", dim, input.dim());
  if (static_cast<int64_t>(dims.size()) == input.dim())
    return ops::sum(ops::values(ops::coalesce(input)), dtype);
  return sparse::coo_sum_over(input, dims, false, dtype);
}

namespace {

// A coalesced tensor's values, and which of them share all places but that in `dim`.
struct Groups {
  Tensor tensor, values, slot;
  int64_t n = 0;
  int64_t inner_dim = -1;  // of the values, where `dim` is a dense one: then there are no groups
};

Groups groups_along(const char* op, const Tensor& input, int64_t dim, OptDType dtype) {
  sparse::coo_parts(op, input);
  Groups g;
  g.tensor = ops::coalesce(dtype ? ops::to_dtype(input, *dtype) : input);
  const SparseParts& parts = sparse_parts(g.tensor);
  const int64_t d = wrap_dim(dim, input.dim());
  g.values = ops::values(g.tensor);
  if (d >= parts.sparse_dim()) {
    g.inner_dim = d - parts.sparse_dim() + 1;
    return g;
  }
  TensorList others;
  Dims sizes;
  for (int64_t i = 0; i < parts.sparse_dim(); ++i) {
    if (i == d) continue;
    others.push_back(ops::select(parts.indices, 0, i));
    sizes.push_back(input.sizes()[static_cast<size_t>(i)]);
  }
  Tensor keys = others.empty() ? ops::zeros({parts.nnz()}, DType::I64, parts.indices.device())
                               : sparse::flat_places(ops::stack(others, 0), sizes);
  if (parts.nnz() == 0) {
    g.slot = keys;
    return g;
  }
  Tensor order, sorted = keys;
  if (d < parts.sparse_dim() - 1) {  // else they are in order as the places are
    int64_t bound = 1;
    for (int64_t s : sizes) bound *= s;
    order = ops::_place_order(keys, bound);
    sorted = ops::index_select(keys, 0, order);
  }
  Tensor fresh = ops::ne(ops::slice(sorted, 0, 1), ops::slice(sorted, 0, 0, -1));
  Tensor numbers =
      ops::cat({ops::zeros({1}, DType::I64, keys.device()), ops::cumsum(fresh, 0, DType::I64)}, 0);
  g.n = sparse::number(ops::select(numbers, 0, -1)) + 1;
  g.slot = order.defined() ? ops::index_copy(ops::zeros_like(keys), 0, order, numbers) : numbers;
  return g;
}

Tensor zeros_for(const Groups& g) {
  Dims sizes = sparse::joined(Dims{g.n}, sparse::trailing(g.values.sizes(), 1));
  return ops::zeros(sizes, g.values.dtype(), g.values.device());
}

// The values less the largest of their group, which keeps exp from overflowing.
Tensor shifted(const Groups& g) {
  Tensor largest = ops::index_reduce(zeros_for(g), 0, g.slot, detach(g.values), "amax", false);
  return ops::sub(g.values, ops::index_select(largest, 0, g.slot));
}

Tensor totals(const Groups& g, const Tensor& terms) {
  return ops::index_select(ops::index_add(zeros_for(g), 0, g.slot, terms), 0, g.slot);
}

}  // namespace

Tensor softmax_sparse(const Tensor& input, int64_t dim, OptDType dtype) {
  Groups g = groups_along("sparse.softmax", input, dim, dtype);
  if (g.inner_dim >= 0) return ops::_with_values(g.tensor, ops::softmax(g.values, g.inner_dim));
  Tensor terms = ops::exp(shifted(g));
  return ops::_with_values(g.tensor, ops::div(terms, totals(g, terms)));
}

Tensor log_softmax_sparse(const Tensor& input, int64_t dim, OptDType dtype) {
  Groups g = groups_along("sparse.log_softmax", input, dim, dtype);
  if (g.inner_dim >= 0) return ops::_with_values(g.tensor, ops::log_softmax(g.values, g.inner_dim));
  Tensor apart = shifted(g);
  return ops::_with_values(g.tensor, ops::sub(apart, ops::log(totals(g, ops::exp(apart)))));
}

Tensor _log1p_backward(const Tensor& grad, const Tensor& input) {
  const Tensor one = wrapped_number(Scalar(1));
  if (!is_sparse(input)) return ops::div(grad, ops::conj(ops::add(input, one)));
  const Tensor t = is_coo(input) ? ops::coalesce(input) : input;
  Tensor slope = ops::conj(ops::add(ops::_raw_values(t), one));
  return ops::_with_values(t, ops::div(ops::_values_at(grad, t), slope));
}

Tensor _sparse_rows_backward(const Tensor& grad, const Tensor& indices, const Dims& weight_size,
                             int64_t padding_idx, bool scale_grad_by_freq) {
  MSA_REQUIRE(!scale_grad_by_freq, Runtime,
              "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  Tensor rows = ops::to_dtype(ops::reshape(indices, {-1}), DType::I64);
  Tensor values = ops::reshape(grad, {rows.numel(), weight_size[1]});
  if (padding_idx >= 0) {
    Tensor used = ops::ne(rows, wrapped_number(Scalar(padding_idx)));
    Tensor kept = ops::reshape(ops::nonzero(used), {-1});
    rows = ops::index_select(rows, 0, kept);
    values = ops::index_select(values, 0, kept);
  }
  return ops::_sparse_coo_tensor_unsafe(ops::unsqueeze(rows, 0), values, weight_size, false);
}

Tensor _sparse_gather_backward(const Tensor& grad, const Dims& size, int64_t dim,
                               const Tensor& index) {
  const int64_t n = index.dim(), along = wrap_dim(dim, n);
  TensorList rows;
  for (int64_t d = 0; d < n; ++d) {
    Tensor places = index;
    if (d != along) {
      Dims beside(static_cast<size_t>(n), 1);
      beside[static_cast<size_t>(d)] = index.sizes()[static_cast<size_t>(d)];
      places = ops::arange(Scalar(beside[static_cast<size_t>(d)]), DType::I64, index.device());
      places = ops::expand(ops::view(places, beside), index.sizes());
    }
    rows.push_back(ops::reshape(ops::to_dtype(places, DType::I64), {-1}));
  }
  Tensor values = ops::reshape(grad, {-1});
  if (rows.empty()) return ops::reshape(grad, size);
  return ops::_sparse_coo_tensor_unsafe(ops::stack(rows, 0), values, size, false);
}

}  // namespace msa::composed
