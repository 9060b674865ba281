// Views of batched tensors: the same view of the values, one dimension further.
#include "core/transforms/own.h"
#include "generated/batched_view.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::batched {

Tensor Batch::folded(const Tensor& t) const { return ops::flatten(over(t), 0, 1); }
Tensor Batch::unfolded(const Tensor& t, int64_t dim) const {
  Dims sizes;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d == dim) sizes.push_back(size);
    sizes.push_back(d == dim ? t.sizes()[d] / size : t.sizes()[d]);
  }
  return ops::reshape(t, sizes);
}

Tensor view(const Tensor& input, const Dims& size) {
  const Batch batch(input);
  return batch.made(
      ops::reshape(batch.front(input), with_front(batch.size, infer_sizes(size, input.numel()))));
}

Tensor _expand(const Tensor& input, const Dims& size) {
  const Batch batch(input);
  const auto rank = static_cast<int64_t>(size.size());
  return batch.made(ops::_expand(batch.front(input, rank), with_front(batch.size, size)));
}

Tensor permute(const Tensor& input, const Dims& dims) {
  const Batch batch(input);
  Dims order{0};
  for (int64_t d : dims) order.push_back(wrap_dim(d, input.dim()) + 1);
  return batch.made(ops::permute(batch.front(input), order));
}

Tensor t(const Tensor& input) {
  const Batch batch(input);
  MSA_REQUIRE(input.dim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is ",
              input.dim(), "D");
  const Tensor front = batch.front(input);
  return batch.made(input.dim() == 2 ? ops::transpose(front, 1, 2) : ops::alias(front));
}

Tensor unsqueeze(const Tensor& input, int64_t dim) {
  const Batch batch(input);
  return batch.made(ops::unsqueeze(batch.front(input), wrap_dim(dim, input.dim() + 1) + 1));
}

Tensor squeeze(const Tensor& input) {
  const Batch batch(input);
  Dims ones;
  for (int64_t d = 0; d < input.dim(); ++d)
    if (input.sizes()[d] == 1) ones.push_back(d + 1);
  return batch.made(ops::squeeze_dims(batch.front(input), ones));
}

Tensor as_strided(const Tensor& input, const Dims& size, const Dims& stride,
                  OptInt storage_offset) {
  const Batch batch(input);
  const Tensor front = batch.front(input);
  return batch.made(ops::as_strided(front, with_front(batch.size, size),
                                    with_front(front.strides()[0], stride),
                                    storage_offset.value_or(input.offset())));
}

}  // namespace msa::batched
