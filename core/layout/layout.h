// Sizes and strides, and the pure functions over them: contiguity, broadcasting, view rules.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/small_vec.h"

namespace msa {

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// A view of a storage: sizes and strides in elements, `offset` in elements from the storage's
// start.
struct Layout {
  Dims sizes, strides;
  int64_t offset = 0;
};

int64_t product(DimsView sizes);
Dims contiguous_strides(DimsView sizes);
Dims channels_last_strides(DimsView sizes);  // 4-d or 5-d
bool is_contiguous(DimsView sizes, DimsView strides);
bool is_channels_last(DimsView sizes, DimsView strides);
bool is_dense(DimsView sizes, DimsView strides);  // non-overlapping and without holes
// A dimension repeats its elements (stride 0): the overlap that PyTorch refuses to write to.
bool is_expanded(DimsView sizes, DimsView strides);
bool may_overlap_itself(DimsView sizes, DimsView strides);  // false: each element has one index
// Dimensions from the innermost to the outermost, by the strides of one or several operands that
// all have one stride for each size; ties keep the order of the sizes.
Dims stride_order(DimsView sizes, std::span<const DimsView> strides);
// Strides of a dense result "as the input": PyTorch's empty_like with preserve_format.
Dims preserved_strides(DimsView sizes, DimsView strides);

// NumPy's broadcasting; `who` and both shapes go into the error.
Dims broadcast_sizes(std::string_view who, DimsView a, DimsView b);
// Strides of `from` seen with the (larger) sizes `to`: 0 along broadcast dimensions.
Dims expanded_strides(DimsView from_sizes, DimsView from_strides, DimsView to);

// Wraps a negative dimension; raises IndexError with PyTorch's range text. 0-d counts as 1-d.
int64_t wrap_dim(int64_t dim, int64_t ndim);
// Replaces one -1 in `sizes` for `numel` elements; raises when it does not fit.
Dims infer_sizes(DimsView sizes, int64_t numel);
// Strides under which `view(new_sizes)` needs no copy, if there are any.
std::optional<Dims> view_strides(DimsView sizes, DimsView strides, DimsView new_sizes);

}  // namespace msa
