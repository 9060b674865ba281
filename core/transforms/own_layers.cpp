// Convolutions and embeddings of batched tensors: the batch is folded into images, channels or
// rows.
#include "core/transforms/own.h"
#include "generated/batched_nn.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_nn.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::batched {
namespace {

// (batch, n, channels, ...) as (n, batch * channels, ...): the examples side by side as groups.
Tensor as_channels(const Batch& batch, const Tensor& t) {
  return ops::flatten(ops::movedim(batch.over(t), {0}, {1}), 1, 2);
}

Dims with_first(DimsView dims, int64_t factor) {
  return with_front(dims[0] * factor, dims.subspan(1));
}

// Added to (batch, n, channels, ...).
Tensor with_bias(const Batch& batch, const Tensor& out, const Tensor& bias) {
  if (!bias.defined()) return out;
  Dims sizes(static_cast<size_t>(out.dim()), 1);
  sizes[2] = bias.sizes()[0];
  if (batch.has(bias)) sizes[0] = batch.size;
  return ops::add(out, ops::reshape(batch.front(bias), sizes));
}

// The row that each index means in a table with the rows of all examples.
Tensor global_rows(const Batch& batch, const Tensor& indices, int64_t n_rows) {
  Dims sizes(static_cast<size_t>(indices.dim()) + 1, 1);
  sizes[0] = batch.size;
  const Tensor starts =
      ops::mul(ops::arange(batch.size, DType::I64), wrapped_number(Scalar(n_rows)));
  return ops::add(batch.over(indices), ops::reshape(starts, sizes));
}

}  // namespace

Tensor _conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
             const Dims& padding, const Dims& dilation, int64_t groups) {
  const Batch batch(input, weight, bias);
  if (!batch.has(weight) && batch.has(input)) {
    const Tensor out =
        ops::_conv(batch.folded(input), batch.front(weight), {}, stride, padding, dilation, groups);
    return batch.made(with_bias(batch, batch.unfolded(out), bias));
  }
  if (!batch.has(weight)) {  // the bias alone
    const Tensor out =
        ops::_conv(batch.front(input), batch.front(weight), {}, stride, padding, dilation, groups);
    return batch.made(with_bias(batch, ops::unsqueeze(out, 0), bias));
  }
  const bool shared = !batch.has(input) && groups == 1;
  const Tensor images = shared ? batch.front(input) : as_channels(batch, input);
  const Tensor out = ops::_conv(images, batch.folded(weight), {}, stride, padding, dilation,
                                shared ? 1 : groups * batch.size);
  const Tensor apart = ops::movedim(batch.unfolded(out, 1), {1}, {0});
  return batch.made(with_bias(batch, apart, bias));
}

Tensor _conv_input_grad(const Tensor& grad_output, const Tensor& weight, const Dims& input_size,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        int64_t groups) {
  const Batch batch(grad_output, weight);
  if (!batch.has(weight))
    return batch.made(batch.unfolded(ops::_conv_input_grad(
        batch.folded(grad_output), batch.front(weight), with_first(input_size, batch.size), stride,
        padding, dilation, groups)));
  const Dims sizes =
      with_front(input_size[0], with_first(DimsView(input_size).subspan(1), batch.size));
  const Tensor out = ops::_conv_input_grad(as_channels(batch, grad_output), batch.folded(weight),
                                           sizes, stride, padding, dilation, groups * batch.size);
  return batch.made(batch.unfolded(out, 1), 1);
}

Tensor _conv_weight_grad(const Tensor& grad_output, const Tensor& input, const Dims& weight_size,
                         const Dims& stride, const Dims& padding, const Dims& dilation,
                         int64_t groups) {
  const Batch batch(grad_output, input);
  return batch.made(batch.unfolded(ops::_conv_weight_grad(
      as_channels(batch, grad_output), as_channels(batch, input),
      with_first(weight_size, batch.size), stride, padding, dilation, groups * batch.size)));
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                 bool scale_grad_by_freq, bool sparse) {
  const Batch batch(weight, indices);
  if (!batch.has(weight))
    return batch.made(ops::embedding(batch.front(weight), batch.front(indices), padding_idx,
                                     scale_grad_by_freq, sparse));
  return batch.made(
      ops::embedding(batch.folded(weight), global_rows(batch, indices, weight.sizes()[0])));
}

Tensor _embedding_backward(const Tensor& grad_output, const Tensor& indices,
                           const Dims& weight_size, int64_t padding_idx, bool scale_grad_by_freq) {
  const Batch batch(grad_output, indices);
  Tensor grad = batch.over(grad_output);
  if (padding_idx >= 0) {
    const Tensor padding = ops::eq(batch.over(indices), wrapped_number(Scalar(padding_idx)));
    grad = ops::masked_fill(grad, ops::unsqueeze(padding, -1), wrapped_number(Scalar(0)));
  }
  return batch.made(batch.unfolded(
      ops::_embedding_backward(grad, global_rows(batch, indices, weight_size[0]),
                               with_first(weight_size, batch.size), -1, scale_grad_by_freq)));
}

}  // namespace msa::batched
