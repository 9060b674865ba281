// Copies of sparse tensors: as they are, cast, moved, or with nothing in them.
#include "core/sparse/sparse.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/sparse_create.h"

namespace msa::sparse {
namespace {

// Without values, in the same layout.
Tensor nothing_like(const Tensor& t, DType dtype, Device device) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.is_coo()) return empty_coo(t.sizes(), parts.sparse_dim(), dtype, device);
  const auto at = static_cast<size_t>(parts.batch_dim());
  auto without_places = [&](const Tensor& part, DType kind) {
    Dims sizes = part.sizes();
    sizes[at] = 0;
    return ops::empty(sizes, kind, device);
  };
  SparseParts none = parts;
  none.indices = ops::zeros(parts.indices.sizes(), parts.indices.dtype(), device);
  none.plain = without_places(parts.plain, parts.plain.dtype());
  none.values = without_places(parts.values, dtype);
  return make_sparse(std::move(none), t.sizes());
}

Tensor moved(const Tensor& part, OptDevice device) {
  return part.defined() ? ops::to_device(part, device) : part;
}

void refuse_format(const char* op, OptFormat format) {
  MSA_REQUIRE(!format || *format == MemoryFormat::Preserve, Runtime, op,
              ": unsupported memory format option; sparse tensors have none");
}

}  // namespace

Tensor zeros_like(const Tensor& input, OptDType dtype, OptDevice device, OptFormat format) {
  refuse_format("zeros_like", format);
  return nothing_like(input, dtype.value_or(input.dtype()), device.value_or(true_device(input)));
}

Tensor empty_like(const Tensor& input, OptDType dtype, OptDevice device, OptFormat format) {
  return zeros_like(input, dtype, device, format);
}

Tensor clone(const Tensor& input, OptFormat format) {
  refuse_format("clone", format);
  SparseParts parts = sparse_parts(input);
  for (Tensor* part : {&parts.indices, &parts.plain, &parts.values})
    if (part->defined()) *part = ops::clone(*part);
  return make_sparse(std::move(parts), input.sizes());
}

Tensor _to_copy(const Tensor& input, OptDType dtype, OptDevice device, OptFormat format) {
  if (device && device->kind == kSparseKind) device.reset();  // asked for by a gradient
  if (!is_sparse(input)) return ops::_to_copy(input, dtype, device, format);
  refuse_format("to", format);
  SparseParts parts = sparse_parts(input);
  parts.indices = moved(parts.indices, device);
  parts.plain = moved(parts.plain, device);
  parts.values = ops::_to_copy(parts.values, dtype, device);
  return make_sparse(std::move(parts), input.sizes());
}

void copy_(Tensor& self, const Tensor& src, bool) {
  MSA_REQUIRE(is_sparse(self) && is_sparse(src), Runtime,
              "copy_() between dense and sparse Tensors is not implemented! Found self layout ",
              layout_name(self), " and src layout ", layout_name(src));
  MSA_REQUIRE(sparse_parts(self).layout == sparse_parts(src).layout, Runtime,
              "copy_(): the layouts differ: ", layout_name(self), " and ", layout_name(src));
  MSA_REQUIRE(self.sizes() == src.sizes(), Runtime,
              "copy_(): the sizes differ: ", DimsView(self.sizes()), " and ",
              DimsView(src.sizes()));
  become(self, _to_copy(src, self.dtype(), true_device(self), {}));
}

void zero_(Tensor& self) { become(self, nothing_like(self, self.dtype(), true_device(self))); }

}  // namespace msa::sparse
