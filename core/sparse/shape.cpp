// Sparse tensors turned, taken apart and put together; copies of their places, sharing their
// values.
#include "core/sparse/sparse.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"
#include "generated/sparse_index.h"
#include "generated/sparse_view.h"

namespace msa::sparse {
namespace {

// Values with dimension `d` of the tensor, a dense one, in their own count: the list comes first.
int64_t value_dim(const SparseParts& parts, int64_t d) { return d - parts.sparse_dim() + 1; }

Tensor row(const Tensor& indices, int64_t d) { return ops::select(indices, 0, d); }

// The places with row `d` replaced, or left out where `by` is undefined.
Tensor with_row(const Tensor& indices, int64_t d, const Tensor& by) {
  TensorList rows;
  for (int64_t i = 0; i < indices.sizes()[0]; ++i)
    if (i != d || by.defined()) rows.push_back(i == d ? by : row(indices, i));
  if (rows.empty()) return ops::empty({0, indices.sizes()[1]}, DType::I64, indices.device());
  return ops::stack(rows, 0);
}

Dims without(const Dims& sizes, int64_t d) {
  Dims out = sizes;
  out.erase(static_cast<size_t>(d));
  return out;
}

SparseLayout turned(SparseLayout layout) {
  switch (layout) {
    case SparseLayout::Csr:
      return SparseLayout::Csc;
    case SparseLayout::Csc:
      return SparseLayout::Csr;
    case SparseLayout::Bsr:
      return SparseLayout::Bsc;
    case SparseLayout::Bsc:
      return SparseLayout::Bsr;
    case SparseLayout::Coo:
      break;
  }
  return SparseLayout::Coo;
}

// A compressed tensor read the other way: its rows are the columns of the transposed one.
Tensor turned_compressed(const Tensor& input, int64_t a, int64_t b) {
  SparseParts parts = sparse_parts(input);
  const int64_t first = parts.batch_dim();
  if (std::min(a, b) != first || std::max(a, b) != first + 1)
    refuse("transpose", input, "only its two sparse dimensions can be exchanged");
  parts.layout = turned(parts.layout);
  if (parts.blocked()) parts.values = ops::transpose(parts.values, first + 1, first + 2);
  Dims sizes = input.sizes();
  std::swap(sizes[static_cast<size_t>(first)], sizes[static_cast<size_t>(first) + 1]);
  return make_sparse(std::move(parts), sizes);
}

}  // namespace

Tensor permute(const Tensor& input, const Dims& dims) {
  const int64_t n = input.dim();
  MSA_REQUIRE(static_cast<int64_t>(dims.size()) == n, Runtime, "permute(sparse_coo): number of ",
              "dimensions in the tensor input does not match the length of the desired ordering ",
              "of dimensions i.e. input.dim() = ", n, " is not equal to len(dims) = ", dims.size());
  Dims order, sizes;
  for (int64_t d : dims) {
    order.push_back(wrap_dim(d, n));
    sizes.push_back(input.sizes()[static_cast<size_t>(order.back())]);
  }
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t d = 0; d < n; ++d)
    MSA_REQUIRE(sorted[static_cast<size_t>(d)] == d, Runtime,
                "permute(): duplicate dims are not allowed.");
  if (order == sorted) return make_sparse(sparse_parts(input), input.sizes());
  if (!is_coo(input)) {
    if (n != 2) refuse("permute", input, "only matrices can be transposed");
    return turned_compressed(input, 0, 1);
  }
  const SparseParts& parts = sparse_parts(input);
  const int64_t sparse_dim = parts.sparse_dim();
  TensorList rows;
  Dims value_order{0};
  bool moves_places = false;
  for (int64_t d = 0; d < n; ++d) {
    const int64_t from = order[static_cast<size_t>(d)];
    MSA_REQUIRE((from < sparse_dim) == (d < sparse_dim), Runtime,
                "permute(): transpositions between sparse and dense dimensions are not allowed. ",
                "Got permutation ", DimsView(dims), " of a tensor with ", sparse_dim,
                " sparse dimensions");
    if (d < sparse_dim) {
      rows.push_back(row(parts.indices, from));
      moves_places |= from != d;
    } else {
      value_order.push_back(value_dim(parts, from));
    }
  }
  Tensor indices = moves_places ? ops::stack(rows, 0) : parts.indices;
  return coo(indices, ops::permute(parts.values, value_order), sizes,
             parts.coalesced && !moves_places);
}

Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, input.dim()), b = wrap_dim(dim1, input.dim());
  if (!is_coo(input) && a != b) return turned_compressed(input, a, b);
  Dims order;
  for (int64_t d = 0; d < input.dim(); ++d) order.push_back(d == a ? b : d == b ? a : d);
  return permute(input, order);
}

Tensor t(const Tensor& input) {
  MSA_REQUIRE(input.dim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is ",
              input.dim(), "D");
  return input.dim() < 2 ? make_sparse(sparse_parts(input), input.sizes()) : transpose(input, 0, 1);
}

Tensor unsqueeze(const Tensor& input, int64_t dim) {
  const SparseParts& parts = coo_parts("unsqueeze", input);
  const int64_t d = wrap_dim(dim, input.dim() + 1);
  Dims sizes = input.sizes();
  sizes.insert(static_cast<size_t>(d), 1);
  if (d > parts.sparse_dim())
    return coo(parts.indices, ops::unsqueeze(parts.values, value_dim(parts, d)), sizes,
               parts.coalesced);
  TensorList rows;
  for (int64_t i = 0; i < parts.sparse_dim(); ++i) rows.push_back(row(parts.indices, i));
  rows.insert(rows.begin() + d, ops::zeros({parts.nnz()}, DType::I64, parts.indices.device()));
  return coo(ops::stack(rows, 0), parts.values, sizes, parts.coalesced);
}

Tensor select(const Tensor& input, int64_t dim, int64_t index) {
  MSA_REQUIRE(input.dim() > 0, Index, "select() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, input.dim()), size = input.sizes()[static_cast<size_t>(d)];
  MSA_REQUIRE(index >= -size && index < size, Index, "select(): index ", index,
              " out of range for tensor of size ", DimsView(input.sizes()), " at dimension ", d);
  const int64_t at = index < 0 ? index + size : index;
  const Tensor from = is_coo(input) ? input : ops::_as_layout(input, 1);
  const SparseParts& parts = sparse_parts(from);
  Dims sizes = without(input.sizes(), d);
  if (d >= parts.sparse_dim())
    return coo(parts.indices, ops::select(parts.values, value_dim(parts, d), at), sizes,
               parts.coalesced);
  Tensor here = ops::eq(row(parts.indices, d), wrapped_number(Scalar(at)));
  Tensor kept = ops::reshape(ops::nonzero(here), {-1});
  Tensor values = ops::index_select(parts.values, 0, kept);
  if (parts.sparse_dim() == 1) return ops::sum_dim(values, Dims{0}, false, values.dtype());
  Tensor indices = with_row(ops::index_select(parts.indices, 1, kept), d, {});
  return coo(indices, values, sizes, parts.coalesced);
}

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  const SparseParts& parts = coo_parts("index_select", input);
  MSA_REQUIRE(index.dim() == 1 && !is_sparse(index) && is_integral(index.dtype()), Index,
              "index_select(): index must be a strided vector of int32 or int64");
  const int64_t d = wrap_dim(dim, input.dim()), size = input.sizes()[static_cast<size_t>(d)];
  Dims sizes = input.sizes();
  sizes[static_cast<size_t>(d)] = index.numel();
  if (d >= parts.sparse_dim())
    return coo(parts.indices, ops::index_select(parts.values, value_dim(parts, d), index), sizes,
               parts.coalesced);
  Tensor wanted = ops::to_dtype(index, DType::I64);
  Tensor within = ops::logical_and(ops::ge(wanted, wrapped_number(Scalar(0))),
                                   ops::lt(wanted, wrapped_number(Scalar(size))));
  MSA_REQUIRE(holds(ops::all(within)), Index, "index_select(): index out of range for dimension ",
              d, " of size ", size);
  // The entries in order of that dimension; each wanted index names a range of them.
  Tensor order = ops::_place_order(row(parts.indices, d), size);
  Tensor sorted = ops::index_select(row(parts.indices, d), 0, order);
  Tensor starts = ops::_searchsorted(sorted, wanted, {}, false, false);
  Tensor ends = ops::_searchsorted(sorted, wanted, {}, true, false);
  Spread met = spread_ranges(starts, ops::sub(ends, starts));
  Tensor entries = ops::index_select(order, 0, met.at);
  Tensor indices = with_row(ops::index_select(parts.indices, 1, entries), d, met.range);
  return coo(indices, ops::index_select(parts.values, 0, entries), sizes, false);
}

Tensor cat(const TensorList& tensors, int64_t dim) {
  const Tensor& lead = tensors[0];
  for (const Tensor& t : tensors) {
    MSA_REQUIRE(is_coo(t), Runtime, "Concatenating sparse tensors, but a ", layout_name(t),
                " tensor was found; all must be sparse COO");
    MSA_REQUIRE(
        t.dim() == lead.dim() && sparse_parts(t).sparse_dim() == sparse_parts(lead).sparse_dim(),
        Runtime, "All tensors must have the same sparse_dim and dense_dim, got sizes ",
        DimsView(lead.sizes()), " and ", DimsView(t.sizes()));
  }
  const int64_t d = wrap_dim(dim, lead.dim()), sparse_dim = sparse_parts(lead).sparse_dim();
  if (d >= sparse_dim)
    refuse("cat", lead, "dense dimensions cannot be concatenated; use a sparse one");
  TensorList indices, values;
  Dims sizes = lead.sizes();
  int64_t before = 0;
  for (const Tensor& t : tensors) {
    const SparseParts& parts = sparse_parts(t);
    MSA_REQUIRE(without(t.sizes(), d) == without(lead.sizes(), d), Runtime,
                "Sizes of tensors must match except in dimension ", d, ". Got ",
                DimsView(lead.sizes()), " and ", DimsView(t.sizes()));
    Tensor moved = ops::add(row(parts.indices, d), wrapped_number(Scalar(before)));
    indices.push_back(with_row(parts.indices, d, moved));
    values.push_back(parts.values);
    before += t.sizes()[static_cast<size_t>(d)];
  }
  sizes[static_cast<size_t>(d)] = before;
  return coo(ops::cat(indices, 1), ops::cat(values, 0), sizes, false);
}

}  // namespace msa::sparse
