// Making sparse tensors of their parts, and small functions that all of core/sparse shares.
#include "core/sparse/sparse.h"

#include "core/autograd/meta.h"
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
#include "generated/ops_view.h"

namespace msa {

bool is_sparse(const TensorList& list) {
  return std::ranges::any_of(list, [](const Tensor& t) { return t.defined() && is_sparse(t); });
}

std::string_view layout_name(const Tensor& t) {
  static constexpr std::string_view kNames[] = {"Strided",   "Sparse",    "SparseCsr",
                                                "SparseCsc", "SparseBsr", "SparseBsc"};
  return kNames[is_sparse(t) ? static_cast<int>(sparse_parts(t).layout) : 0];
}

namespace {

Ref<Storage> store(SparseParts parts) {
  auto* kept = new SparseParts(std::move(parts));
  // No address, so that nothing can read the parts as elements; room for one, as zero strides
  // reach.
  return Storage::wrap(
      nullptr, sizeof(c128), Device{kSparseKind},
      [](void* context) { delete static_cast<SparseParts*>(context); }, kept);
}

}  // namespace

Tensor make_sparse(SparseParts parts, const Dims& sizes) {
  DType dtype = parts.values.dtype();
  for (Tensor* part : {&parts.indices, &parts.plain, &parts.values})
    if (part->defined() && (*part)->meta) *part = detach(*part);
  Layout layout{sizes, Dims(sizes.size(), 0), 0};
  Tensor t = from_storage(store(std::move(parts)), layout, dtype);
  t->contiguous = false;
  return t;
}

Tensor with_values(const Tensor& pattern, const Tensor& values) {
  SparseParts parts = sparse_parts(pattern);
  parts.values = values;
  return make_sparse(std::move(parts), pattern.sizes());
}

void become(Tensor& self, const Tensor& source) {
  TensorImpl& impl = *self.impl();
  const uint32_t version = impl.storage->version;
  impl.storage = store(sparse_parts(source));
  impl.storage->version = version;
  impl.sizes = source.sizes();
  impl.strides = source.strides();
  impl.numel = source.numel();
  impl.dtype = source.dtype();
}

namespace sparse {

void refuse(std::string_view op, const Tensor& t, std::string_view way_out) {
  fail(ErrorKind::NotImplemented, op, ": not implemented for tensors of layout ", layout_name(t),
       "; ", way_out);
}

const SparseParts& coo_parts(std::string_view op, const Tensor& t) {
  MSA_REQUIRE(is_coo(t), Runtime, op, " expected sparse coordinate tensor layout but got ",
              layout_name(t));
  return sparse_parts(t);
}

int64_t dense_dim(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  return t.dim() - parts.sparse_dim() - parts.batch_dim();
}

int64_t number(const Tensor& one) {
  Tensor host = ops::to_device(one, Device{}, DType::I64);
  return *host.data<int64_t>();
}

bool holds(const Tensor& condition) { return number(condition) != 0; }

Tensor flat_places(const Tensor& places, DimsView sizes) {
  const int64_t d = places.sizes()[0];
  if (d == 0) return ops::zeros({places.sizes()[1]}, DType::I64, places.device());
  Tensor flat = ops::select(places, 0, 0);
  for (int64_t i = 1; i < d; ++i)
    flat = ops::add(ops::mul(flat, wrapped_number(Scalar(sizes[i]))), ops::select(places, 0, i));
  return flat;
}

Tensor places_of(const Tensor& flat, DimsView sizes) {
  TensorList rows(sizes.size());
  Tensor rest = flat;
  for (size_t i = sizes.size(); i-- > 0;) {
    Tensor size = wrapped_number(Scalar(std::max<int64_t>(sizes[i], 1)));
    rows[i] = i == 0 ? rest : ops::remainder(rest, size);
    if (i > 0) rest = ops::div_floor(rest, size);
  }
  if (rows.empty()) return ops::empty({0, flat.numel()}, DType::I64, flat.device());
  return ops::stack(rows, 0);
}

Tensor compressed_from_rows(const Tensor& rows, int64_t n_rows) {
  return ops::_searchsorted(rows, ops::arange(Scalar(n_rows + 1), DType::I64, rows.device()), {},
                            false, false);
}

Tensor rows_from_compressed(const Tensor& compressed, int64_t nnz) {
  Tensor counts = ops::sub(ops::slice(compressed, -1, 1), ops::slice(compressed, -1, 0, -1));
  Tensor rows = ops::repeat_interleave_counts(ops::to_dtype(counts, DType::I64));
  MSA_REQUIRE(rows.numel() == nnz, Runtime, "the compressed indices of a sparse tensor count ",
              rows.numel(), " places, but it has ", nnz,
              "; see torch.sparse.check_sparse_tensor_invariants");
  return rows;
}

Dims leading(DimsView sizes, int64_t n) { return Dims(sizes.subspan(0, static_cast<size_t>(n))); }

Dims trailing(DimsView sizes, int64_t from) {
  return Dims(sizes.subspan(static_cast<size_t>(from)));
}

Dims joined(DimsView a, DimsView b) {
  Dims out(a);
  for (int64_t s : b) out.push_back(s);
  return out;
}

Tensor coo(const Tensor& indices, const Tensor& values, const Dims& sizes, bool coalesced) {
  SparseParts parts;
  parts.coalesced = coalesced || indices.sizes()[1] < 2;
  parts.indices = indices;
  parts.values = values;
  return make_sparse(std::move(parts), sizes);
}

Tensor empty_coo(const Dims& sizes, int64_t sparse_dim, DType dtype, Device device) {
  Tensor indices = ops::empty({sparse_dim, 0}, DType::I64, device);
  Dims value_sizes = joined(Dims{0}, trailing(sizes, sparse_dim));
  return coo(indices, ops::empty(value_sizes, dtype, device), sizes, true);
}

}  // namespace sparse

}  // namespace msa
