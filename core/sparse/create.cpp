// Sparse tensors of given parts, the checks of those, and their parts again.
#include "core/sparse/sparse.h"
#include "generated/composed_sparse.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_reduce.h"
#include "generated/ops_sparse.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using sparse::holds;

Tensor number(int64_t value) { return wrapped_number(Scalar(value)); }

// A view of a part: writing to it changes the sparse tensor's elements.
Tensor part(const Tensor& t) { return alias(t, t.layout()); }

const SparseParts& compressed_parts(const char* op, const Tensor& t, bool by_rows) {
  MSA_REQUIRE(is_sparse(t) && !is_coo(t) && sparse_parts(t).by_rows() == by_rows, Runtime, op,
              " expected ", by_rows ? "sparse row compressed" : "sparse column compressed",
              " tensor layout but got ", layout_name(t));
  return sparse_parts(t);
}

// The sizes of the two sparse dimensions of a compressed tensor in its own order: what the
// compressed index counts comes first.
struct Grid {
  int64_t compressed, plain;  // in blocks, where there are any
  Dims batch, block, dense;
};

Grid grid_of(const SparseParts& parts, const Dims& size) {
  const int64_t batch = parts.plain.dim() - 1, blocks = parts.blocked() ? 2 : 0;
  Grid grid;
  grid.batch = sparse::leading(size, batch);
  grid.dense = sparse::trailing(size, batch + 2);
  int64_t rows = size[static_cast<size_t>(batch)], columns = size[static_cast<size_t>(batch) + 1];
  for (int64_t i = 0; i < blocks; ++i)
    grid.block.push_back(parts.values.sizes()[static_cast<size_t>(batch + 1 + i)]);
  if (blocks) {
    MSA_REQUIRE(grid.block[0] > 0 && grid.block[1] > 0 && rows % grid.block[0] == 0 &&
                    columns % grid.block[1] == 0,
                Runtime, "tensor shape[", batch, ":] (", rows, ", ", columns,
                ") must be divisible by the blocksize ", DimsView(grid.block));
    rows /= grid.block[0];
    columns /= grid.block[1];
  }
  grid.compressed = parts.by_rows() ? rows : columns;
  grid.plain = parts.by_rows() ? columns : rows;
  return grid;
}

void check_index_dtype(const char* which, const Tensor& t) {
  MSA_REQUIRE(t.dtype() == DType::I64 || t.dtype() == DType::I32, Runtime, which,
              " must be an int32 or int64 tensor, but got ", t.dtype());
}

// The parts as they are kept, with everything checked that memory safety rests on.
SparseParts compressed(const Tensor& compressed_indices, const Tensor& plain_indices,
                       const Tensor& values, const Dims& size, int64_t layout) {
  MSA_REQUIRE(layout >= 2 && layout <= 5, Runtime,
              "sparse_compressed_tensor: expected layout to be one of sparse_csr, sparse_csc, "
              "sparse_bsr, sparse_bsc");
  SparseParts parts;
  parts.layout = static_cast<SparseLayout>(layout);
  parts.indices = compressed_indices;
  parts.plain = plain_indices;
  parts.values = values;
  check_index_dtype("compressed_indices", compressed_indices);
  check_index_dtype("plain_indices", plain_indices);
  MSA_REQUIRE(compressed_indices.dtype() == plain_indices.dtype(), Runtime,
              "compressed_indices and plain_indices must have the same dtype, got ",
              compressed_indices.dtype(), " and ", plain_indices.dtype());
  const int64_t batch = plain_indices.dim() - 1;
  MSA_REQUIRE(batch >= 0 && compressed_indices.dim() == batch + 1, Runtime,
              "compressed_indices and plain_indices must have the same number of dimensions, at "
              "least 1, got ",
              compressed_indices.dim(), " and ", plain_indices.dim());
  MSA_REQUIRE(static_cast<int64_t>(size.size()) >= batch + 2, Runtime, "size must have at least ",
              batch + 2, " dimensions, got ", DimsView(size));
  const int64_t least = batch + 1 + (parts.blocked() ? 2 : 0);
  MSA_REQUIRE(values.dim() >= least, Runtime, "values must have at least ", least,
              " dimensions, got ", values.dim());
  Grid grid = grid_of(parts, size);
  Dims wanted = sparse::joined(grid.batch, Dims{grid.compressed + 1});
  MSA_REQUIRE(compressed_indices.sizes() == wanted, Runtime,
              "compressed_indices must have the shape ", DimsView(wanted), " for size ",
              DimsView(size), ", got ", DimsView(compressed_indices.sizes()));
  wanted = sparse::joined(grid.batch, Dims{plain_indices.size(-1)});
  MSA_REQUIRE(plain_indices.sizes() == wanted, Runtime, "plain_indices must have the shape ",
              DimsView(wanted), ", got ", DimsView(plain_indices.sizes()));
  wanted = sparse::joined(sparse::joined(wanted, grid.block), grid.dense);
  MSA_REQUIRE(values.sizes() == wanted, Runtime, "values must have the shape ", DimsView(wanted),
              ", got ", DimsView(values.sizes()));
  return parts;
}

void check_compressed_order(const SparseParts& parts, const Grid& grid) {
  const Tensor &ends = parts.indices, &plain = parts.plain;
  Tensor first = ops::select(ends, -1, 0), last = ops::select(ends, -1, -1);
  MSA_REQUIRE(holds(ops::all(ops::eq(first, number(0)))), Runtime,
              "`compressed_indices[..., 0] == 0` is not satisfied.");
  MSA_REQUIRE(holds(ops::all(ops::eq(last, number(parts.nnz())))), Runtime,
              "`compressed_indices[..., -1] == nnz` is not satisfied.");
  Tensor counts = ops::sub(ops::slice(ends, -1, 1), ops::slice(ends, -1, 0, -1));
  MSA_REQUIRE(holds(ops::all(ops::logical_and(ops::ge(counts, number(0)),
                                              ops::le(counts, number(grid.plain))))),
              Runtime,
              "`0 <= compressed_indices[..., 1:] - compressed_indices[..., :-1] <= plain_dim` is "
              "not satisfied.");
  MSA_REQUIRE(holds(ops::all(
                  ops::logical_and(ops::ge(plain, number(0)), ops::lt(plain, number(grid.plain))))),
              Runtime, "`0 <= plain_indices < plain_dim` is not satisfied.");
}

}  // namespace

// --- COO -----------------------------------------------------------------------------------------

void _validate_sparse_coo_tensor_args(const Tensor& indices, const Tensor& values, const Dims& size,
                                      bool is_coalesced) {
  MSA_REQUIRE(indices.dim() == 2, Runtime,
              "indices must be sparse_dim x nnz, but got: ", DimsView(indices.sizes()));
  const int64_t sparse_dim = indices.sizes()[0], nnz = indices.sizes()[1];
  const int64_t dense_dim = values.dim() - 1;
  MSA_REQUIRE(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim, Runtime,
              "number of dimensions must be sparse_dim (", sparse_dim, ") + dense_dim (", dense_dim,
              "), but got ", size.size());
  MSA_REQUIRE(values.dim() > 0 && values.sizes()[0] == nnz, Runtime,
              "indices and values must have same nnz, but got nnz from indices: ", nnz,
              ", nnz from values: ", values.dim() > 0 ? values.sizes()[0] : 0);
  Dims dense = sparse::trailing(size, sparse_dim);
  MSA_REQUIRE(dense == sparse::trailing(values.sizes(), 1), Runtime,
              "values has incorrect size, expected ", DimsView(sparse::joined(Dims{nnz}, dense)),
              ", got ", DimsView(values.sizes()));
  if (nnz == 0 || sparse_dim == 0) return;
  Tensor low = ops::amin(indices, Dims{1}), high = ops::amax(indices, Dims{1});
  for (int64_t d = 0; d < sparse_dim; ++d) {
    const int64_t least = sparse::number(ops::select(low, 0, d)),
                  most = sparse::number(ops::select(high, 0, d));
    MSA_REQUIRE(least >= 0, Runtime, "found negative index ", least, " for dim ", d);
    MSA_REQUIRE(most < size[static_cast<size_t>(d)], Runtime,
                "size is inconsistent with indices: for dim ", d, ", size is ",
                size[static_cast<size_t>(d)], " but found index ", most);
  }
  if (!is_coalesced || nnz < 2) return;
  Tensor flat = sparse::flat_places(ops::to_dtype(indices, DType::I64), size);
  Tensor rising = ops::lt(ops::slice(flat, 0, 0, -1), ops::slice(flat, 0, 1));
  MSA_REQUIRE(holds(ops::all(rising)), Runtime,
              "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
}

Tensor _sparse_coo_tensor_unsafe(const Tensor& indices, const Tensor& values, const Dims& size,
                                 bool is_coalesced) {
  MSA_REQUIRE(!indices.device().is_meta() && !values.device().is_meta(), NotImplemented,
              "sparse_coo_tensor: sparse meta tensors are not supported; use a device with data");
  MSA_REQUIRE(
      indices.dim() == 2 && values.dim() > 0 && values.sizes()[0] == indices.sizes()[1] &&
          sparse::trailing(
              size, std::min<int64_t>(indices.sizes()[0], static_cast<int64_t>(size.size()))) ==
              sparse::trailing(values.sizes(), 1),
      Runtime, "sparse_coo_tensor: the size ", DimsView(size), " does not fit indices of shape ",
      DimsView(indices.sizes()), " and values of shape ", DimsView(values.sizes()));
  return sparse::coo(ops::to_dtype(indices, DType::I64), values, size, is_coalesced);
}

// --- compressed ----------------------------------------------------------------------------------

void _validate_sparse_compressed_tensor_args(const Tensor& compressed_indices,
                                             const Tensor& plain_indices, const Tensor& values,
                                             const Dims& size, int64_t layout) {
  SparseParts parts = compressed(compressed_indices, plain_indices, values, size, layout);
  check_compressed_order(parts, grid_of(parts, size));
}

Tensor _sparse_compressed_tensor_unsafe(const Tensor& compressed_indices,
                                        const Tensor& plain_indices, const Tensor& values,
                                        const Dims& size, int64_t layout) {
  MSA_REQUIRE(!values.device().is_meta(), NotImplemented,
              "sparse_compressed_tensor: sparse meta tensors are not supported; use a device with "
              "data");
  return make_sparse(compressed(compressed_indices, plain_indices, values, size, layout), size);
}

// --- the parts -----------------------------------------------------------------------------------

Tensor _with_values(const Tensor& pattern, const Tensor& values) {
  return with_values(pattern, values);
}

Tensor _values(const Tensor& input) { return part(sparse::coo_parts("_values", input).values); }
Tensor _indices(const Tensor& input) { return part(sparse::coo_parts("_indices", input).indices); }

Tensor values(const Tensor& input) {
  MSA_REQUIRE(is_sparse(input), Runtime, "values expected sparse tensor layout but got Strided");
  const SparseParts& parts = sparse_parts(input);
  MSA_REQUIRE(!parts.is_coo() || parts.coalesced, Runtime,
              "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return ops::_raw_values(input);
}
Tensor _raw_values(const Tensor& input) { return part(sparse_parts(input).values); }

Tensor indices(const Tensor& input) {
  const SparseParts& parts = sparse::coo_parts("indices", input);
  MSA_REQUIRE(parts.coalesced, Runtime,
              "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return part(parts.indices);
}

Tensor crow_indices(const Tensor& input) {
  return part(compressed_parts("crow_indices", input, true).indices);
}
Tensor col_indices(const Tensor& input) {
  return part(compressed_parts("col_indices", input, true).plain);
}
Tensor ccol_indices(const Tensor& input) {
  return part(compressed_parts("ccol_indices", input, false).indices);
}
Tensor row_indices(const Tensor& input) {
  return part(compressed_parts("row_indices", input, false).plain);
}

int64_t _nnz(const Tensor& input) {
  MSA_REQUIRE(is_sparse(input), Runtime, "_nnz expected sparse tensor layout but got Strided");
  return sparse_parts(input).nnz();
}
int64_t sparse_dim(const Tensor& input) {
  return is_sparse(input) ? sparse_parts(input).sparse_dim() : 0;
}
int64_t dense_dim(const Tensor& input) {
  return is_sparse(input) ? sparse::dense_dim(input) : input.dim();
}
bool is_coalesced(const Tensor& input) {
  return sparse::coo_parts("is_coalesced", input).coalesced;
}

// --- in place ------------------------------------------------------------------------------------

Tensor _coalesced_(const Tensor& input, bool coalesced) {
  SparseParts parts = sparse::coo_parts("_coalesced_", input);
  parts.coalesced = coalesced;
  Tensor self = input;
  become(self, make_sparse(std::move(parts), input.sizes()));
  return self;
}

Tensor sparse_resize_(const Tensor& input, const Dims& size, int64_t sparse_dim,
                      int64_t dense_dim) {
  const SparseParts& parts = sparse::coo_parts("sparse_resize_", input);
  MSA_REQUIRE(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim, Runtime,
              "number of dimensions must be sparse_dim (", sparse_dim, ") + dense_dim (", dense_dim,
              "), but got ", size.size());
  Tensor self = input;
  if (parts.nnz() == 0) {
    become(self, sparse::empty_coo(size, sparse_dim, input.dtype(), parts.values.device()));
    return self;
  }
  MSA_REQUIRE(sparse_dim == parts.sparse_dim() && dense_dim == sparse::dense_dim(input), Runtime,
              "sparse_resize_: the numbers of sparse and dense dimensions of a tensor with values "
              "cannot change; use sparse_resize_and_clear_");
  bool fits = sparse::trailing(size, sparse_dim) == sparse::trailing(input.sizes(), sparse_dim);
  for (size_t d = 0; d < size.size(); ++d) fits &= size[d] >= input.sizes()[d];
  MSA_REQUIRE(fits, NotImplemented,
              "sparse_resize_: only growing sparse dimensions of a tensor with values is "
              "supported: from ",
              DimsView(input.sizes()), " to ", DimsView(size),
              " is not; use sparse_resize_and_clear_");
  become(self, sparse::coo(parts.indices, parts.values, size, parts.coalesced));
  return self;
}

Tensor sparse_resize_and_clear_(const Tensor& input, const Dims& size, int64_t sparse_dim,
                                int64_t dense_dim) {
  MSA_REQUIRE(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim, Runtime,
              "number of dimensions must be sparse_dim (", sparse_dim, ") + dense_dim (", dense_dim,
              "), but got ", size.size());
  Tensor self = input;
  Device device = sparse::coo_parts("sparse_resize_and_clear_", input).values.device();
  become(self, sparse::empty_coo(size, sparse_dim, input.dtype(), device));
  return self;
}

}  // namespace msa::composed
