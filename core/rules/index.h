// How tensors used as indices select from a tensor: shared by the rule and the kernels of indexing.
#pragma once
#include "core/rules/rules.h"

namespace msa {

// Integer tensors index some dimensions of `input` together: they broadcast to `index_sizes`, which
// stand in the result where the indexed dimensions were, or in front where those are apart.
struct AdvancedIndex {
  Dims indexed;  // dimensions of the input, one for each index tensor
  Dims index_sizes;
  size_t index_at = 0;  // the result's first dimension that belongs to the indices
  Dims sizes;           // of the result
  Dims strides;         // of the input, seen with these sizes: 0 along the indices
};

AdvancedIndex plan_index(const Tensor& input, const TensorList& indices);

// Masks (bool, uint8) in a list of indices become the positions of their true elements, one index
// for each of a mask's dimensions; checks dtypes and shapes.
TensorList without_masks(const Tensor& input, const TensorList& indices);

}  // namespace msa
