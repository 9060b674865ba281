// Sparse tensors: their parts, how one is made of them, and how calls on one find its operators.
//
// A sparse tensor is a TensorImpl whose storage holds parts instead of bytes, on a device kind of
// its own. No kernel takes that kind, so every operator hands such a call to `sparse_backend()`,
// which knows the rows with a `sparse` field and refuses all others.
#pragma once
#include "core/dispatch/layers.h"
#include "core/dispatch/opaque.h"

namespace msa {

enum class SparseLayout : uint8_t { Coo = 1, Csr, Csc, Bsr, Bsc };  // numbered as torch.layout is

struct SparseParts {
  SparseLayout layout = SparseLayout::Coo;
  bool coalesced = false;  // COO: places in order, none twice
  Tensor indices;          // COO: (sparse_dim, nnz); compressed: (*batch, rows + 1)
  Tensor plain;            // compressed: (*batch, nnz)
  Tensor values;           // COO: (nnz, *dense); compressed: (*batch, nnz, *block, *dense)

  bool is_coo() const { return layout == SparseLayout::Coo; }
  bool by_rows() const { return layout == SparseLayout::Csr || layout == SparseLayout::Bsr; }
  bool blocked() const { return layout >= SparseLayout::Bsr; }
  int64_t batch_dim() const { return is_coo() ? 0 : plain.dim() - 1; }
  int64_t nnz() const { return is_coo() ? indices.sizes()[1] : plain.size(-1); }
  int64_t sparse_dim() const { return is_coo() ? indices.sizes()[0] : 2; }
};

inline bool is_sparse(const Tensor& t) {
  return __builtin_expect(t->storage->device.kind == kSparseKind, 0);
}
bool is_sparse(const TensorList& list);
inline const SparseParts& sparse_parts(const Tensor& t) {
  return *static_cast<const SparseParts*>(t->storage->context);
}
inline bool is_coo(const Tensor& t) { return is_sparse(t) && sparse_parts(t).is_coo(); }
// Where the elements really are.
inline Device true_device(const Tensor& t) {
  if (!is_opaque(t)) return t.device();
  if (is_sparse(t)) return sparse_parts(t).values.device();
  return is_python(t) ? python_parts(t).device : placed(t.device());
}
std::string_view layout_name(const Tensor& t);  // "SparseCsr", "Strided"

// The parts are taken without their histories; nothing is checked.
Tensor make_sparse(SparseParts parts, const Dims& sizes);
// The same places with other values (of any dtype).
Tensor with_values(const Tensor& pattern, const Tensor& values);
// `self` takes the contents of `source`, as an in-place change does: aliases keep what they had.
void become(Tensor& self, const Tensor& source);

// How the rows answer to sparse tensors (generated from their `sparse` fields).
struct SparseHandler {
  enum class How : uint8_t { Own, Values, Linear };
  How how = How::Own;
  Boxed function = nullptr;  // How::Own: returns the result
  Boxed inplace = nullptr;   // How::Own: changes args[0]; null: the result is put there
};
struct SparseRow {
  const OpInfo* op;
  SparseHandler handler;
};
extern const SparseRow sparse_table[];
extern const size_t sparse_count;

Backend& sparse_backend();

namespace sparse {
[[noreturn]] void refuse(std::string_view op, const Tensor& t, std::string_view way_out);
const SparseParts& coo_parts(std::string_view op, const Tensor& t);  // raises unless COO
int64_t dense_dim(const Tensor& t);
int64_t number(const Tensor& one);  // of an integral tensor with one element
bool holds(const Tensor& condition);
// Positions (n,) of places (d, n) in an array of `sizes`, row by row.
Tensor flat_places(const Tensor& places, DimsView sizes);
Tensor places_of(const Tensor& flat, DimsView sizes);  // the other way
// What a sparse matrix's rows are: COO sorted by rows as CSR's compressed index.
Tensor compressed_from_rows(const Tensor& rows, int64_t n_rows);
Tensor rows_from_compressed(const Tensor& compressed, int64_t nnz);
Dims leading(DimsView sizes, int64_t n);
Dims trailing(DimsView sizes, int64_t from);
Dims joined(DimsView a, DimsView b);
// Ranges written out: for each, in turn, its number and every place it covers.
struct Spread {
  Tensor range, at;
};
Spread spread_ranges(const Tensor& starts, const Tensor& counts);
Tensor coo(const Tensor& indices, const Tensor& values, const Dims& sizes, bool coalesced);
Tensor empty_coo(const Dims& sizes, int64_t sparse_dim, DType dtype, Device device);
}  // namespace sparse

}  // namespace msa
