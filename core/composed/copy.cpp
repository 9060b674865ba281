// Views as copies, and copies with one view of them replaced.
#include "core/sparse/sparse.h"
#include "generated/composed_copy.h"
#include "generated/ops_copy.h"
#include "generated/ops_create.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

void check_slice(const char* op, const Tensor& place, const Tensor& src) {
  if (is_sparse(place)) sparse::refuse(op, place, "convert it with to_dense() first");
  MSA_REQUIRE(place.sizes() == src.sizes(), Runtime, op,
              ": expected src to have a size equal to the slice of self. src size = ", src.sizes(),
              ", slice size = ", place.sizes());
}

int64_t storage_numel(const Tensor& t) {
  return static_cast<int64_t>(t->storage->bytes / t.item_bytes());
}

// A copy whose elements lie as the input's do: with gaps, and shared where it shares them.
Tensor clone_as_laid_out(const Tensor& input) {
  if (input.numel() == 0 || input.is_contiguous()) return ops::clone(input);
  int64_t reach = 1;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (input.size(d) > 1 && input.strides()[d] == 0) return ops::clone(input);
    reach += (input.size(d) - 1) * input.strides()[d];
  }
  const Tensor span = ops::as_strided(input, Dims{reach}, Dims{1}, OptInt());
  return ops::as_strided(ops::clone(span, MemoryFormat::Contiguous), input.sizes(), input.strides(),
                         int64_t{0});
}

// `src` written into what `view` shows of a copy of the input.
template <class View>
Tensor replaced(const char* op, const Tensor& input, const Tensor& src, View view) {
  Tensor out = clone_as_laid_out(input), place = view(out);
  check_slice(op, place, src);
  ops::copy_(place, src);
  return out;
}

}  // namespace

Tensor _contiguous_copy(const Tensor& input) { return ops::clone(input, MemoryFormat::Contiguous); }

Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  return replaced("select_scatter", input, src,
                  [&](const Tensor& t) { return ops::select(t, dim, index); });
}
Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim, OptInt start, OptInt end,
                     int64_t step) {
  return replaced("slice_scatter", input, src,
                  [&](const Tensor& t) { return ops::slice(t, dim, start, end, step); });
}
Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return replaced("diagonal_scatter", input, src,
                  [&](const Tensor& t) { return ops::diagonal(t, offset, dim1, dim2); });
}
Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  MSA_REQUIRE(dim < std::max<int64_t>(1, input.dim()), Runtime, "narrow_copy: dim is ", dim,
              ", but the input is ", input, ".");
  return ops::_contiguous_copy(ops::narrow(input, dim, start, length));
}
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Dims& size,
                          const Dims& stride, OptInt storage_offset) {
  // A copy of all the memory up to the input's end, so that places mean the same in it.
  const int64_t length = storage_numel(input);
  const Tensor memory =
      ops::clone(ops::as_strided(input, {length}, {1}, 0), MemoryFormat::Contiguous);
  const Tensor out = ops::as_strided(memory, input.sizes(), input.strides(), input.offset());
  Tensor place = ops::as_strided(memory, size, stride, storage_offset.value_or(input.offset()));
  check_slice("as_strided_scatter", place, src);
  ops::copy_(place, src);
  return out;
}

}  // namespace msa::composed
