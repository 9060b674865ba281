// Bodies of the gradient formulas' helper functions.
#include "core/autograd/formulas.h"

#include <algorithm>

#include "core/rules/rules.h"
#include "core/transforms/batched.h"
#include "generated/ops_convert.h"
#include "generated/ops_copy.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::formulas {

Tensor reduce_to(const Tensor& grad, const Dims& sizes, DType dtype) {
  if (!grad.defined()) return grad;
  Tensor out = grad;
  if (is_complex(out.dtype()) && !is_complex(dtype)) out = ops::real(out);
  if (!(out.sizes() == sizes)) {
    size_t lead = out.sizes().size() - sizes.size();
    Dims dims;
    for (size_t i = 0; i < out.sizes().size(); ++i)
      if (i < lead || (sizes[i - lead] == 1 && out.sizes()[i] != 1))
        dims.push_back(static_cast<int64_t>(i));
    if (!dims.empty()) out = ops::sum_dim(out, dims, true, {});
    if (lead) out = ops::view(out, sizes);
  }
  return out.dtype() == dtype ? out : ops::_to_copy(out, dtype);
}

Tensor spread(const Tensor& grad, const Dims& sizes, const OptDims& dim, bool keepdim) {
  if (keepdim || sizes.empty()) return ops::expand(grad, sizes);
  Tensor out = grad;
  for (int64_t d : reduced_dims("sum", dim, static_cast<int64_t>(sizes.size())))
    out = ops::unsqueeze(out, d);
  return ops::expand(out, sizes);
}

Tensor to_copy_backward(const Tensor& grad, DType dtype, Device device) {
  Tensor real = is_complex(grad.dtype()) && !is_complex(dtype) ? ops::real(grad) : grad;
  return ops::to_device(real, device, dtype);
}

Tensor scaled(const Tensor& grad, const Scalar& factor) {
  return factor == 1.0 ? grad : ops::mul(grad, wrapped_number(factor));
}

Scalar conj_scalar(const Scalar& value) {
  return value.is_complex() ? Scalar(std::conj(value.to_complex())) : value;
}

Tensor blank(const Dims& sizes, const Tensor& like) {
  // What has no elements keeps its strides when it is copied: these must be those of memory.
  if (product(sizes) == 0) return ops::zeros(sizes, like.dtype(), like.device());
  return ops::expand(ops::zeros({}, like.dtype(), like.device()), sizes);
}

Tensor permute_backward(const Tensor& grad, const Dims& dims) {
  Dims inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    inverse[wrap_dim(dims[i], static_cast<int64_t>(dims.size()))] = static_cast<int64_t>(i);
  return ops::permute(grad, inverse);
}

namespace {
// Zeros that take what belongs to `grad`: under vmap they have its batch dimension.
Tensor zeros_beside(const Tensor& grad, const Dims& sizes, DType dtype) {
  return is_batched(grad) ? ops::new_zeros(grad, sizes, dtype)
                          : ops::zeros(sizes, dtype, grad.device());
}

const Tensor& any_batched_of(const Grads& grads, size_t otherwise) {
  for (const Tensor& g : grads)
    if (is_batched(g)) return g;
  return grads[otherwise];
}
}  // namespace

Tensor slice_backward(const Tensor& grad, const Dims& sizes, int64_t dim, OptInt start, OptInt end,
                      int64_t step) {
  Tensor out = zeros_beside(grad, sizes, grad.dtype());
  Tensor place = ops::slice(out, dim, start, end, step);
  ops::copy_(place, grad);
  return out;
}

Tensor select_backward(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t index) {
  Tensor out = zeros_beside(grad, sizes, grad.dtype());
  Tensor place = ops::select(out, dim, index);
  ops::copy_(place, grad);
  return out;
}

namespace {

// One more than the last element that the layout reaches, counted from its offset.
int64_t reach(const Dims& sizes, const Dims& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

// The positions in flat `memory` that a layout visits, in order.
Tensor places(const Tensor& memory, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor all = ops::arange(memory.numel(), DType::I64, memory.device());
  return ops::reshape(ops::as_strided(all, sizes, strides, offset), {-1});
}

}  // namespace

Tensor as_strided_backward(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                           int64_t input_offset, const Dims& size, const Dims& stride,
                           OptInt storage_offset) {
  // The storage as both see it, from the first element that either reaches.
  const int64_t offset = storage_offset.value_or(input_offset),
                first = std::min(offset, input_offset);
  const int64_t length =
      std::max(offset + reach(size, stride), input_offset + reach(input_sizes, input_strides)) -
      first;
  Tensor memory = zeros_beside(grad, {length}, grad.dtype());
  if (may_overlap_itself(size, stride)) {
    memory = ops::index_add(memory, 0, places(memory, size, stride, offset - first),
                            ops::reshape(grad, {-1}));
  } else {
    Tensor place = ops::as_strided(memory, size, stride, offset - first);
    ops::copy_(place, grad);
  }
  if (may_overlap_itself(input_sizes,
                         input_strides)) {  // equal elements share what their memory got
    Tensor index = places(memory, input_sizes, input_strides, input_offset - first);
    Tensor uses = ops::index_add(ops::zeros_like(memory), 0, index,
                                 ops::ones(index.sizes(), grad.dtype(), grad.device()));
    memory = ops::div(memory, uses);
  }
  return ops::as_strided(memory, input_sizes, input_strides, input_offset - first);
}

// What was written over has no gradient; the rest goes to where it came from. (PyTorch 2.13 gives
// the input the gradient of what was written over, against finite differences.)
std::tuple<Tensor, Tensor> as_strided_scatter_backward(const Tensor& grad, const Dims& input_sizes,
                                                       const Dims& input_strides,
                                                       int64_t input_offset, const Dims& size,
                                                       const Dims& stride, OptInt storage_offset,
                                                       const std::array<bool, 2>& needs) {
  const int64_t offset = storage_offset.value_or(input_offset), end = reach(size, stride) + offset,
                input_end = reach(input_sizes, input_strides) + input_offset;
  const Tensor nothing = blank(size, grad);
  if (input_strides == contiguous_strides(input_sizes) && input_offset <= offset &&
      end <= input_end) {
    const Tensor memory = ops::clone(grad, MemoryFormat::Contiguous);
    const int64_t at = offset - input_offset;
    return {needs[0] ? ops::as_strided_scatter(memory, nothing, size, stride, at) : Tensor(),
            needs[1] ? ops::as_strided(memory, size, stride, at) : Tensor()};
  }
  const Dims flat{std::max(end, input_end)}, one{1};
  const Tensor memory =
      as_strided_backward(grad, flat, one, 0, input_sizes, input_strides, input_offset);
  Tensor of_input;
  if (needs[0]) {
    const Tensor kept = ops::as_strided_scatter(memory, nothing, size, stride, offset);
    of_input = as_strided_backward(kept, input_sizes, input_strides, input_offset, flat, one, 0);
  }
  return {of_input, needs[1] ? ops::as_strided(memory, size, stride, offset) : Tensor()};
}

Tensor roll_backward(const Tensor& grad, const Dims& shifts, const Dims& dims) {
  Dims back = shifts;
  for (int64_t& shift : back) shift = -shift;
  return ops::roll(grad, back, dims);
}

Tensor diagonal_backward(const Tensor& grad, const Dims& sizes, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  Tensor out = zeros_beside(grad, sizes, grad.dtype());
  Tensor place = ops::diagonal(out, offset, dim1, dim2);
  ops::copy_(place, grad);
  return out;
}

Tensor unfold_backward(const Tensor& grad, const Dims& sizes, int64_t dimension, int64_t size,
                       int64_t step) {
  if (sizes.empty()) return ops::reshape(grad, sizes);
  Tensor out = zeros_beside(grad, sizes, grad.dtype());
  int64_t dim = wrap_dim(dimension, static_cast<int64_t>(sizes.size()));
  int64_t last = (grad.size(dim) - 1) * step;  // where the last window begins
  // One element of each window at a time, as these do not overlap; the last first: so each place
  // adds its windows in order.
  for (int64_t i = size - 1; i >= 0; --i) {
    Tensor place = ops::slice(out, dim, i, i + last + 1, step);
    ops::add_(place, ops::select(grad, -1, i));
  }
  return out;
}

Tensor split_with_sizes_backward(const Grads& grads, const Dims& sizes, DType dtype,
                                 const Dims& split_sizes, int64_t dim) {
  Tensor out;
  int64_t start = 0;
  for (size_t i = 0; i < grads.size(); start += split_sizes[i++]) {
    if (!grads[i].defined()) continue;
    if (!out.defined()) out = zeros_beside(any_batched_of(grads, i), sizes, dtype);
    Tensor place = ops::narrow(out, dim, start, split_sizes[i]);
    ops::copy_(place, grads[i]);
  }
  return out;
}

Tensor split_backward(const Grads& grads, const Dims& sizes, DType dtype, int64_t split_size,
                      int64_t dim) {
  int64_t n = sizes[wrap_dim(dim, static_cast<int64_t>(sizes.size()))];
  Dims split_sizes;
  for (size_t i = 0; i < grads.size(); ++i)
    split_sizes.push_back(std::min(split_size, n - static_cast<int64_t>(i) * split_size));
  return split_with_sizes_backward(grads, sizes, dtype, split_sizes, dim);
}

Tensor unbind_backward(const Grads& grads, const Dims& sizes, DType dtype, int64_t dim) {
  Tensor out;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) continue;
    if (!out.defined()) out = zeros_beside(any_batched_of(grads, i), sizes, dtype);
    Tensor place = ops::select(out, dim, static_cast<int64_t>(i));
    ops::copy_(place, grads[i]);
  }
  return out;
}

}  // namespace msa::formulas
