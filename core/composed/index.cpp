// Indexing operators that are made of others.
#include "core/rules/index.h"

#include "generated/composed_index.h"
#include "generated/ops_compare.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {

Tensor index(const Tensor& input, const TensorList& indices) {
  return ops::_index(input, without_masks(input, indices));
}

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  MSA_REQUIRE(mask.dtype() == DType::Bool, Runtime,
              "masked_select: expected BoolTensor for mask, got ", mask.dtype());
  Dims sizes = broadcast_sizes("masked_select", input.sizes(), mask.sizes());
  if (sizes.empty()) return ops::index(ops::reshape(input, {1}), {ops::reshape(mask, {1})});
  return ops::index(ops::_expand(input, sizes), {ops::_expand(mask, sizes)});
}

Tensor take_along_dim(const Tensor& input, const Tensor& indices, OptInt dim) {
  MSA_REQUIRE(indices.dtype() == DType::I64, Runtime,
              "torch.take_along_dim(): dtype of indices should be Long but got ", indices.dtype());
  if (!dim) return ops::gather(ops::reshape(input, {-1}), 0, ops::reshape(indices, {-1}));
  MSA_REQUIRE(
      input.dim() == indices.dim(), Runtime,
      "torch.take_along_dim(): input and indices should have the same number of dimensions, ",
      "but got ", input.dim(), " dimensions for input, and ", indices.dim(),
      " dimensions for indices");
  int64_t d = wrap_dim(*dim, input.dim());
  // All dimensions but `dim` broadcast together.
  Dims left = input.sizes(), right = indices.sizes();
  if (!left.empty()) left[d] = right[d] = 1;
  Dims wide = broadcast_sizes("take_along_dim", left, right), index_wide = wide;
  if (!wide.empty()) {
    wide[d] = input.sizes()[d];
    index_wide[d] = indices.sizes()[d];
  }
  // Unlike gather's, its indices may count from the end.
  const Tensor size = wrapped_number(Scalar(input.dim() ? input.size(d) : 1));
  const Tensor from_start =
      ops::where(ops::lt(indices, wrapped_number(Scalar(0))), ops::add(indices, size), indices);
  return ops::gather(ops::_expand(input, wide), d, ops::_expand(from_start, index_wide));
}

Tensor stack(const TensorList& tensors, int64_t dim) {
  MSA_REQUIRE(!tensors.empty(), Runtime, "stack expects a non-empty TensorList");
  TensorList rows;
  for (size_t i = 0; i < tensors.size(); ++i) {
    MSA_REQUIRE(tensors[i].sizes() == tensors[0].sizes(), Runtime,
                "stack expects each tensor to be equal size, but got ", tensors[0].sizes(),
                " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
    rows.push_back(ops::unsqueeze(tensors[i], wrap_dim(dim, tensors[i].dim() + 1)));
  }
  return ops::cat(rows, wrap_dim(dim, tensors[0].dim() + 1));
}

}  // namespace msa::composed
