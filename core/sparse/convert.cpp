// Between dense tensors and the sparse layouts, and adding up what one place names twice.
//
// Every layout is seen as cells: the elements, or blocks of them, that one index names. A dense
// tensor in the order of cells is (cells, *block, *dense); a sparse one names some of the cells.
#include "core/autograd/meta.h"
#include "core/sparse/sparse.h"
#include "generated/composed_sparse.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_reduce.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using sparse::joined;
using sparse::leading;
using sparse::trailing;

Tensor number(int64_t value) { return wrapped_number(Scalar(value)); }

int64_t count(DimsView sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

// n slots of the shape of one value, each the sum of the values that `slot` sends there.
Tensor sums(int64_t n, const Tensor& slot, const Tensor& values) {
  const bool logical = values.dtype() == DType::Bool;  // true where any is
  Tensor source = logical ? ops::to_dtype(values, DType::U8) : values;
  Tensor out =
      ops::zeros(joined(Dims{n}, trailing(values.sizes(), 1)), source.dtype(), values.device());
  ops::index_add_(out, 0, slot, source);
  return logical ? ops::to_dtype(out, DType::Bool) : out;
}

// What cells a sparse tensor divides its size into.
struct Cells {
  Dims grid;   // batch and sparse dimensions, in cells
  Dims block;  // of one cell; empty: an element
  Dims dense;

  explicit Cells(const Tensor& t) {
    const SparseParts& parts = sparse_parts(t);
    const int64_t sparse = parts.batch_dim() + parts.sparse_dim();
    grid = leading(t.sizes(), sparse);
    dense = trailing(t.sizes(), sparse);
    if (!parts.blocked()) return;
    const auto first = static_cast<size_t>(parts.batch_dim());
    block = {parts.values.sizes()[first + 1], parts.values.sizes()[first + 2]};
    grid[first] /= block[0];
    grid[first + 1] /= block[1];
  }

  // The dimensions of a dense tensor that has the blocks apart: (*grid, *block, *dense).
  Dims order() const {
    Dims order;
    const auto n = static_cast<int64_t>(grid.size());
    for (int64_t i = 0; i < n - 2; ++i) order.push_back(i);
    for (int64_t d : {n - 2, n, n - 1, n + 1}) order.push_back(d);
    for (int64_t i = 0; i < static_cast<int64_t>(dense.size()); ++i) order.push_back(n + 2 + i);
    return order;
  }

  Tensor from_dense(const Tensor& t) const {
    Dims flat = joined(Dims{count(grid)}, joined(block, dense));
    if (block.empty()) return ops::reshape(t, flat);
    Dims apart = leading(grid, static_cast<int64_t>(grid.size()) - 2);
    for (size_t i : {grid.size() - 2, grid.size() - 1}) {
      apart.push_back(grid[i]);
      apart.push_back(block[i + 2 - grid.size()]);
    }
    return ops::reshape(ops::permute(ops::reshape(t, joined(apart, dense)), order()), flat);
  }

  Tensor to_dense(const Tensor& cells, const Dims& sizes) const {
    if (block.empty()) return ops::reshape(cells, sizes);
    Tensor apart = ops::reshape(cells, joined(joined(grid, block), dense));
    return ops::reshape(ops::permute(apart, order()), sizes);  // its own inverse
  }
};

// The cells (batch * nnz,) that a sparse tensor names.
Tensor named_cells(const Tensor& t, const Cells& cells) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.is_coo()) return sparse::flat_places(parts.indices, cells.grid);
  const int64_t batches = count(leading(cells.grid, parts.batch_dim())), nnz = parts.nnz();
  const int64_t n_rows = cells.grid[cells.grid.size() - 2], n_columns = cells.grid.back();
  Tensor ends = ops::reshape(parts.indices, {batches, parts.indices.size(-1)});
  Tensor plain = ops::to_dtype(ops::reshape(parts.plain, {batches, nnz}), DType::I64);
  TensorList flat;
  for (int64_t b = 0; b < batches; ++b) {
    Tensor outer = sparse::rows_from_compressed(ops::select(ends, 0, b), nnz);
    Tensor inner = ops::select(plain, 0, b);
    if (!parts.by_rows()) std::swap(outer, inner);
    flat.push_back(ops::add(ops::add(ops::mul(outer, number(n_columns)), inner),
                            number(b * n_rows * n_columns)));
  }
  if (flat.empty()) return ops::zeros({0}, DType::I64, parts.values.device());
  return flat.size() == 1 ? flat[0] : ops::cat(flat, 0);
}

// Values as one list over all batches: (batch * nnz, *block, *dense).
Tensor one_list(const Tensor& values, const Cells& cells, int64_t batch_dim) {
  const int64_t n = count(leading(values.sizes(), batch_dim + 1));
  return ops::reshape(values, joined(Dims{n}, joined(cells.block, cells.dense)));
}

// --- COO and compressed --------------------------------------------------------------------------

// A COO tensor that names every element of a compressed one.
Tensor coo_of(const Tensor& t) {
  if (is_coo(t)) return t;
  const SparseParts& parts = sparse_parts(t);
  if (!parts.blocked() && parts.batch_dim() == 0) {
    Tensor outer = sparse::rows_from_compressed(parts.indices, parts.nnz());
    Tensor inner = ops::to_dtype(parts.plain, DType::I64);
    if (parts.by_rows())
      return sparse::coo(ops::stack({outer, inner}, 0), parts.values, t.sizes(), true);
    return ops::coalesce(
        sparse::coo(ops::stack({inner, outer}, 0), parts.values, t.sizes(), false));
  }
  Cells cells(t);
  Tensor places = sparse::places_of(named_cells(t, cells), cells.grid);
  Tensor values = one_list(parts.values, cells, parts.batch_dim());
  const auto n = static_cast<int64_t>(cells.grid.size());
  if (parts.blocked()) {
    const int64_t height = cells.block[0], width = cells.block[1], nnz = values.sizes()[0];
    Tensor within = ops::arange(Scalar(height * width), DType::I64, values.device());
    TensorList rows;
    for (int64_t d = 0; d < n; ++d) {
      Tensor cell = ops::unsqueeze(ops::select(places, 0, d), 1);
      Tensor fine =
          d == n - 2
              ? ops::add(ops::mul(cell, number(height)), ops::div_floor(within, number(width)))
          : d == n - 1
              ? ops::add(ops::mul(cell, number(width)), ops::remainder(within, number(width)))
              : ops::expand(cell, {nnz, height * width});
      rows.push_back(ops::reshape(fine, {-1}));
    }
    places = ops::stack(rows, 0);
    values = ops::reshape(values, joined(Dims{nnz * height * width}, cells.dense));
  }
  const bool in_order = parts.by_rows() && !parts.blocked();
  Tensor out = sparse::coo(places, values, t.sizes(), in_order);
  return in_order ? out : ops::coalesce(out);
}

// A matrix's compressed form; its places are those of a coalesced COO tensor.
Tensor compressed_of(const Tensor& matrix, SparseLayout layout, const OptDims& blocksize) {
  Tensor t = ops::coalesce(matrix);
  const SparseParts& coo = sparse_parts(t);
  MSA_REQUIRE(coo.sparse_dim() == 2, Runtime,
              "to_sparse: a COO tensor must have 2 sparse dimensions to be converted to a "
              "compressed layout, got ",
              coo.sparse_dim());
  SparseParts parts;
  parts.layout = layout;
  Tensor rows = ops::select(coo.indices, 0, 0), columns = ops::select(coo.indices, 0, 1);
  Tensor values = coo.values;
  int64_t n_rows = t.sizes()[0], n_columns = t.sizes()[1];
  if (parts.blocked()) {
    MSA_REQUIRE(blocksize && blocksize->size() == 2, Runtime,
                "to_sparse: blocksize must be two ints, such as (2, 3)");
    const int64_t height = (*blocksize)[0], width = (*blocksize)[1];
    MSA_REQUIRE(height > 0 && width > 0 && n_rows % height == 0 && n_columns % width == 0, Runtime,
                "to_sparse: the size ", DimsView(t.sizes()),
                " must be divisible by the blocksize (", height, ", ", width, ")");
    n_rows /= height;
    n_columns /= width;
    Tensor cell = ops::add(ops::mul(ops::div_floor(rows, number(height)), number(n_columns)),
                           ops::div_floor(columns, number(width)));
    Tensor within = ops::add(ops::mul(ops::remainder(rows, number(height)), number(width)),
                             ops::remainder(columns, number(width)));
    Tensor used = sparse_parts(ops::coalesce(sparse::coo(ops::unsqueeze(cell, 0),
                                                         ops::zeros_like(cell, DType::U8),
                                                         {n_rows * n_columns}, false)))
                      .indices;
    Tensor names = ops::select(used, 0, 0);
    Tensor slot = ops::add(
        ops::mul(ops::_searchsorted(names, cell, {}, false, false), number(height * width)),
        within);
    values = ops::reshape(sums(names.numel() * height * width, slot, values),
                          joined(Dims{names.numel(), height, width}, trailing(t.sizes(), 2)));
    rows = ops::div_floor(names, number(n_columns));
    columns = ops::remainder(names, number(n_columns));
  }
  if (!parts.by_rows()) {
    std::swap(rows, columns);
    std::swap(n_rows, n_columns);
    Tensor order = ops::_place_order(rows, n_rows);  // stable: rows stay in order in each column
    rows = ops::index_select(rows, 0, order);
    columns = ops::index_select(columns, 0, order);
    values = ops::index_select(values, 0, order);
  }
  parts.indices = sparse::compressed_from_rows(rows, n_rows);
  parts.plain = ops::clone(columns);
  parts.values = values;
  return make_sparse(std::move(parts), t.sizes());
}

Tensor coo_from_dense(const Tensor& input, int64_t sparse_dim) {
  Dims lead = leading(input.sizes(), sparse_dim), rest = trailing(input.sizes(), sparse_dim);
  Tensor set = ops::ne(input, number(0));
  Dims inner;
  for (int64_t d = sparse_dim; d < input.dim(); ++d) inner.push_back(d);
  if (!inner.empty()) set = ops::any_dim(set, inner);
  Tensor flat = ops::select(ops::t(ops::nonzero(ops::reshape(set, {-1}))), 0, 0);
  Tensor cells = ops::reshape(input, joined(Dims{count(lead)}, rest));
  return sparse::coo(sparse::places_of(flat, lead), ops::index_select(cells, 0, flat),
                     input.sizes(), true);
}

// --- batches of compressed matrices --------------------------------------------------------------

// The matrices of a batch, as sparse tensors of their own.
TensorList matrices_of(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  const int64_t batch = parts.batch_dim(), n = count(leading(t.sizes(), batch));
  auto flat = [&](const Tensor& part) {
    return ops::reshape(part, joined(Dims{n}, trailing(part.sizes(), batch)));
  };
  Tensor indices = flat(parts.indices), plain = flat(parts.plain), values = flat(parts.values);
  TensorList out;
  for (int64_t b = 0; b < n; ++b) {
    SparseParts one = parts;
    one.indices = ops::select(indices, 0, b);
    one.plain = ops::select(plain, 0, b);
    one.values = ops::select(values, 0, b);
    out.push_back(make_sparse(std::move(one), trailing(t.sizes(), batch)));
  }
  return out;
}

Tensor batched(const TensorList& matrices, const Dims& batch) {
  MSA_REQUIRE(!matrices.empty(), NotImplemented,
              "to_sparse: empty batches have no compressed form; use the COO layout");
  TensorList indices, plain, values;
  for (const Tensor& m : matrices) {
    const SparseParts& parts = sparse_parts(m);
    MSA_REQUIRE(parts.nnz() == sparse_parts(matrices[0]).nnz(), Runtime,
                "Expect the same number of specified elements per batch.");
    indices.push_back(parts.indices);
    plain.push_back(parts.plain);
    values.push_back(parts.values);
  }
  auto stacked = [&](const TensorList& list) {
    Tensor all = ops::stack(list, 0);
    return ops::reshape(all, joined(batch, trailing(all.sizes(), 1)));
  };
  SparseParts parts;
  parts.layout = sparse_parts(matrices[0]).layout;
  parts.indices = stacked(indices);
  parts.plain = stacked(plain);
  parts.values = stacked(values);
  return make_sparse(std::move(parts), joined(batch, matrices[0].sizes()));
}

}  // namespace

// --- coalescing ----------------------------------------------------------------------------------

Tensor coalesce(const Tensor& input) {
  return sparse::coo_parts("coalesce", input).coalesced ? input : ops::_coalesce(input);
}

Tensor _coalesce(const Tensor& input) {
  const SparseParts& parts = sparse_parts(input);
  auto [indices, values] =
      ops::_coalesce_parts(parts.indices, parts.values, leading(input.sizes(), parts.sparse_dim()));
  return sparse::coo(indices, values, input.sizes(), true);
}

// --- to dense, and the elements at given places --------------------------------------------------

Tensor to_dense(const Tensor& input, OptDType dtype, OptBool masked_grad) {
  Tensor dense = is_sparse(input) ? ops::_to_dense(input, masked_grad.value_or(true)) : input;
  return dtype ? ops::to_dtype(dense, *dtype) : dense;
}

Tensor _to_dense(const Tensor& input, bool) {
  const SparseParts& parts = sparse_parts(input);
  Cells cells(input);
  Tensor values = one_list(parts.values, cells, parts.batch_dim());
  Tensor filled = sums(count(cells.grid), named_cells(input, cells), values);
  return cells.to_dense(filled, input.sizes());
}

Tensor _to_dense_backward(const Tensor& grad, const Tensor& input, bool masked_grad) {
  if (masked_grad) return ops::sparse_mask(grad, is_coo(input) ? ops::coalesce(input) : input);
  return ops::_to_layout_of(grad, input);
}

namespace {

bool same_places(const Tensor& a, const Tensor& b) {
  const SparseParts &p = sparse_parts(a), &q = sparse_parts(b);
  if (p.layout != q.layout || (p.is_coo() && !(p.coalesced && q.coalesced))) return false;
  auto same = [](const Tensor& x, const Tensor& y) { return !x.defined() || x.impl() == y.impl(); };
  return same(p.indices, q.indices) && same(p.plain, q.plain);
}

// The elements of one COO tensor at the places of another: found by search, 0 where there are none.
Tensor looked_up(const Tensor& input, const Tensor& pattern) {
  Tensor from = ops::coalesce(input);
  const SparseParts &have = sparse_parts(from), &want = sparse_parts(pattern);
  if (have.nnz() == 0) return ops::zeros(want.values.sizes(), input.dtype(), true_device(input));
  Dims lead = leading(input.sizes(), have.sparse_dim());
  Tensor keys = sparse::flat_places(have.indices, lead);
  Tensor wanted = sparse::flat_places(want.indices, lead);
  Tensor at = ops::_searchsorted(keys, wanted, {}, false, false);
  at = ops::where(ops::lt(at, number(have.nnz())), at, number(0));
  Tensor found = ops::eq(ops::index_select(keys, 0, at), wanted);
  Tensor values = ops::index_select(ops::values(from), 0, at);
  Dims beside = joined(Dims{want.nnz()}, Dims(static_cast<size_t>(values.dim() - 1), 1));
  return ops::where(ops::view(found, beside), values, number(0));
}

}  // namespace

Tensor _values_at(const Tensor& input, const Tensor& pattern) {
  MSA_REQUIRE(input.sizes() == pattern.sizes(), Runtime,
              "sparse_mask(): operands have incompatible sizes; self has size ",
              DimsView(input.sizes()), " but mask has size ", DimsView(pattern.sizes()));
  const SparseParts& parts = sparse_parts(pattern);
  if (is_sparse(input)) {
    if (same_places(input, pattern)) return ops::_raw_values(input);
    if (is_coo(input) && parts.is_coo() && sparse_parts(input).sparse_dim() == parts.sparse_dim())
      return looked_up(input, pattern);
    return ops::_values_at(ops::to_dense(input), pattern);
  }
  Cells cells(pattern);
  Tensor values = ops::index_select(cells.from_dense(input), 0, named_cells(pattern, cells));
  return ops::reshape(values, parts.values.sizes());
}

Tensor sparse_mask(const Tensor& input, const Tensor& mask) {
  MSA_REQUIRE(is_sparse(mask), Runtime,
              "sparse_mask(): the mask must be sparse, but its layout is Strided");
  const Tensor pattern = is_coo(mask) && is_sparse(input) ? ops::coalesce(detach(mask)) : mask;
  return ops::_with_values(pattern, ops::_values_at(input, pattern));
}

// --- between layouts -----------------------------------------------------------------------------

Tensor _to_sparse_coo(const Tensor& input, int64_t sparse_dim) {
  MSA_REQUIRE(sparse_dim >= 0 && sparse_dim <= input.dim() && (sparse_dim > 0 || input.dim() == 0),
              Runtime, "sparse_dim argument must be in >=", input.dim() ? 1 : 0,
              " and <=", input.dim(), ", but got ", sparse_dim);
  return coo_from_dense(input, sparse_dim);
}

Tensor _to_sparse_compressed(const Tensor& input, int64_t layout, const OptDims& blocksize,
                             OptInt dense_dim) {
  const int64_t dense = dense_dim.value_or(0), batch = input.dim() - dense - 2;
  MSA_REQUIRE(dense >= 0 && batch >= 0, Runtime,
              "to_sparse: a compressed layout needs two sparse dimensions, but the tensor has ",
              input.dim(), " dimensions, ", dense, " of them dense");
  const auto kind = static_cast<SparseLayout>(layout);
  if (batch == 0) return compressed_of(coo_from_dense(input, 2), kind, blocksize);
  Dims lead = leading(input.sizes(), batch), rest = trailing(input.sizes(), batch);
  Tensor all = ops::reshape(input, joined(Dims{count(lead)}, rest));
  TensorList matrices;
  for (int64_t b = 0; b < all.sizes()[0]; ++b)
    matrices.push_back(compressed_of(coo_from_dense(ops::select(all, 0, b), 2), kind, blocksize));
  return batched(matrices, lead);
}

Tensor _relayout(const Tensor& input, int64_t layout, const OptDims& blocksize) {
  const auto kind = static_cast<SparseLayout>(layout);
  if (kind == SparseLayout::Coo) return coo_of(input);
  if (sparse_parts(input).batch_dim() == 0) return compressed_of(coo_of(input), kind, blocksize);
  TensorList matrices;
  for (const Tensor& m : matrices_of(input))
    matrices.push_back(compressed_of(coo_of(m), kind, blocksize));
  return batched(matrices, leading(input.sizes(), sparse_parts(input).batch_dim()));
}

Tensor _as_layout(const Tensor& input, int64_t layout, const OptDims& blocksize, OptInt dense_dim,
                  OptInt sparse_dim) {
  MSA_REQUIRE(layout >= 0 && layout <= 5, NotImplemented,
              "layout=: jagged tensors are not supported; pad them and use torch.strided");
  if (layout == 0) return ops::to_dense(input);
  if (is_sparse(input)) {
    const SparseParts& parts = sparse_parts(input);
    const bool same_blocks = !parts.blocked() || !blocksize || Cells(input).block == *blocksize;
    if (static_cast<int64_t>(parts.layout) == layout && same_blocks) {
      MSA_REQUIRE(!sparse_dim || *sparse_dim == parts.sparse_dim(), Runtime,
                  "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=",
                  "self.sparse_dim() is not supported");
      return input;
    }
    return ops::_relayout(input, layout, blocksize);
  }
  if (layout > 1) return ops::_to_sparse_compressed(input, layout, blocksize, dense_dim);
  return ops::_to_sparse_coo(input, sparse_dim.value_or(input.dim() - dense_dim.value_or(0)));
}

Tensor _to_layout_of(const Tensor& input, const Tensor& other) {
  if (!is_sparse(other)) return ops::to_dense(input);
  const SparseParts& parts = sparse_parts(other);
  OptDims block;
  if (parts.blocked()) block = Cells(other).block;
  OptInt dense, sparse;
  if (parts.is_coo() && !is_sparse(input)) sparse = parts.sparse_dim();
  if (!parts.is_coo()) dense = sparse::dense_dim(other);
  return ops::_as_layout(input, static_cast<int64_t>(parts.layout), block, dense, sparse);
}

}  // namespace msa::composed
