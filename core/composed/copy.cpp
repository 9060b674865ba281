// Views as copies, and copies with one view of them replaced.
#include "generated/composed_copy.h"
#include "generated/ops_create.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

TensorList copies(const TensorList& views) {
  TensorList out;
  for (const Tensor& t : views) out.push_back(ops::clone(t, MemoryFormat::Contiguous));
  return out;
}

// `src` written into what `view` shows of a copy of the input.
template <class View>
Tensor replaced(const char* op, const Tensor& input, const Tensor& src, View view) {
  Tensor out = ops::clone(input), place = view(out);
  MSA_REQUIRE(place.sizes() == src.sizes(), Runtime, op,
              ": expected src to have a size equal to the slice of self. src size = ", src.sizes(),
              ", slice size = ", place.sizes());
  ops::copy_(place, src);
  return out;
}

}  // namespace

Tensor _contiguous_copy(const Tensor& input) { return ops::clone(input, MemoryFormat::Contiguous); }

TensorList unbind_copy(const Tensor& input, int64_t dim) { return copies(ops::unbind(input, dim)); }
TensorList split_copy(const Tensor& input, int64_t split_size, int64_t dim) {
  return copies(ops::split(input, split_size, dim));
}
TensorList split_with_sizes_copy(const Tensor& input, const Dims& split_sizes, int64_t dim) {
  return copies(ops::split_with_sizes(input, split_sizes, dim));
}

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
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Dims& size,
                          const Dims& stride, OptInt storage_offset) {
  return replaced("as_strided_scatter", input, src, [&](const Tensor& t) {
    return ops::as_strided(t, size, stride, storage_offset);
  });
}

}  // namespace msa::composed
