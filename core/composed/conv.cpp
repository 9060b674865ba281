// The public convolutions: argument checks, unbatched inputs, padding by name, transposed forms.
#include "core/base/warn.h"
#include "generated/composed_nn.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_math.h"
#include "generated/ops_nn.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// Runs `conv` on a batch; an input without the batch dimension gets one for the while.
template <class F>
Tensor batched(const char* op, const Tensor& input, int64_t spatial, F&& conv) {
  MSA_REQUIRE(input.dim() == spatial + 1 || input.dim() == spatial + 2, Runtime, op,
              ": expected a ", spatial + 1, "D (unbatched) or ", spatial + 2,
              "D (batched) input, but its shape is ", DimsView(input.sizes()), ".");
  if (input.dim() == spatial + 2) return conv(input);
  return ops::squeeze_dim(conv(ops::unsqueeze(input, 0)), 0);
}

// conv(input, weight, bias) by real convolutions where the operands are complex: three of them, the
// last one of the sums of the parts.
template <class F>
Tensor by_real_parts(const Tensor& input, const Tensor& weight, const Tensor& bias, F&& conv) {
  if (!is_complex(input.dtype()) || !is_complex(weight.dtype())) return conv(input, weight, bias);
  const auto sum_of_parts = [](const Tensor& t) {
    return t.defined() ? ops::add(ops::real(t), ops::imag(t)) : t;
  };
  const Tensor re = conv(ops::real(input), ops::real(weight),
                         bias.defined() ? ops::real(bias) : bias),
               im = conv(ops::imag(input), ops::imag(weight), Tensor()),
               all = conv(sum_of_parts(input), sum_of_parts(weight), sum_of_parts(bias));
  return ops::complex(ops::sub(re, im), ops::sub(ops::sub(all, re), im));
}

void same_length(const char* op, const char* name, const Dims& values, const Dims& stride) {
  MSA_REQUIRE(values.size() == stride.size(), Runtime, op, ": ", name, " must be one integer or ",
              stride.size(), ", as stride is ", DimsView(stride), ", but got ", DimsView(values),
              ".");
}

Tensor conv_nd(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
               const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  same_length(op, "padding", padding, stride);
  same_length(op, "dilation", dilation, stride);
  const auto conv = [&](const Tensor& i, const Tensor& w, const Tensor& b) {
    return batched(op, i, static_cast<int64_t>(stride.size()), [&](const Tensor& batch) {
      return ops::_conv(batch, w, b, stride, padding, dilation, groups);
    });
  };
  return by_real_parts(input, weight, bias, conv);
}

// "same" needs dilation * (kernel - 1) zeros in all, the odd one behind: padding by the larger half
// on both sides gives one result too many in front.
Tensor conv_same(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
                 const Dims& dilation, int64_t groups) {
  for (int64_t s : stride)
    MSA_REQUIRE(s == 1, Runtime,
                "conv: padding='same' is not supported for strided convolutions, but stride is ",
                DimsView(stride), ".");
  Dims padding;
  bool uneven = false;
  for (size_t d = 0; d < stride.size(); ++d)
    uneven |= dilation[d] * (weight.size(static_cast<int64_t>(d) + 2) - 1) % 2 != 0;
  if (uneven)
    warn("conv: padding='same' around an even kernel of shape ", DimsView(weight.sizes()),
         " needs a padded copy of the input; an odd kernel does not");
  for (size_t d = 0; d < stride.size(); ++d)
    padding.push_back((dilation[d] * (weight.size(static_cast<int64_t>(d) + 2) - 1) + 1) / 2);
  Tensor out = ops::_conv(input, weight, bias, stride, padding, dilation, groups);
  for (size_t d = 0; d < stride.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2, wanted = input.size(dim);
    if (out.size(dim) != wanted) out = ops::narrow(out, dim, out.size(dim) - wanted, wanted);
  }
  return out;
}

Tensor conv_by_name(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const Dims& stride, std::string_view padding, const Dims& dilation,
                    int64_t groups) {
  same_length(op, "dilation", dilation, stride);
  if (padding == "valid")
    return conv_nd(op, input, weight, bias, stride, Dims(stride.size(), 0), dilation, groups);
  MSA_REQUIRE(weight.dim() == static_cast<int64_t>(stride.size()) + 2, Runtime, op,
              ": expected a weight of ", stride.size() + 2, " dimensions, but its shape is ",
              DimsView(weight.sizes()), ".");
  MSA_REQUIRE(padding == "same", Runtime, op, ": invalid padding string '", padding,
              "': give 'valid', 'same' or numbers.");
  const auto conv = [&](const Tensor& i, const Tensor& w, const Tensor& b) {
    return batched(op, i, static_cast<int64_t>(stride.size()), [&](const Tensor& batch) {
      return conv_same(batch, w, b, stride, dilation, groups);
    });
  };
  return by_real_parts(input, weight, bias, conv);
}

Dims transposed_size(const Tensor& input, const Tensor& weight, const Dims& stride,
                     const Dims& padding, const Dims& output_padding, const Dims& dilation,
                     int64_t groups) {
  Dims size{input.size(0), weight.size(1) * groups};
  for (size_t d = 0; d < stride.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2;
    MSA_REQUIRE(output_padding[d] >= 0 &&
                    (output_padding[d] < stride[d] || output_padding[d] < dilation[d]),
                Runtime,
                "conv_transpose: output padding must be smaller than either stride or dilation, "
                "but output_padding is ",
                DimsView(output_padding), ", stride ", DimsView(stride), ", dilation ",
                DimsView(dilation), ".");
    size.push_back((input.size(dim) - 1) * stride[d] - 2 * padding[d] +
                   dilation[d] * (weight.size(dim) - 1) + output_padding[d] + 1);
    MSA_REQUIRE(size.back() > 0, Runtime, "conv_transpose: the result would be of size ",
                DimsView(size), ": use less padding.");
  }
  return size;
}

Tensor transposed_nd(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Dims& stride, const Dims& padding, const Dims& output_padding,
                     int64_t groups, const Dims& dilation) {
  if (is_complex(input.dtype()) && is_complex(weight.dtype()))
    return by_real_parts(
        input, weight, bias, [&](const Tensor& i, const Tensor& w, const Tensor& b) {
          return transposed_nd(op, i, w, b, stride, padding, output_padding, groups, dilation);
        });
  const int64_t spatial = static_cast<int64_t>(stride.size());
  same_length(op, "padding", padding, stride);
  same_length(op, "output_padding", output_padding, stride);
  same_length(op, "dilation", dilation, stride);
  if (bias.defined() && bias.dtype() == DType::BF16) {  // the bias joins before the sum is rounded
    const auto wide = [](const Tensor& t) { return ops::to_dtype(t, DType::F32); };
    return ops::to_dtype(transposed_nd(op, wide(input), wide(weight), wide(bias), stride, padding,
                                       output_padding, groups, dilation),
                         DType::BF16);
  }
  return batched(op, input, spatial, [&](const Tensor& batch) {
    MSA_REQUIRE(weight.dim() == batch.dim(), Runtime, op, ": expected a weight of ", batch.dim(),
                " dimensions, but its shape is ", DimsView(weight.sizes()), ".");
    const Dims size =
        transposed_size(batch, weight, stride, padding, output_padding, dilation, groups);
    const Tensor out =
        ops::_conv_input_grad(batch, weight, size, stride, padding, dilation, groups);
    if (!bias.defined()) return out;
    // As PyTorch's: only the kernel of two dimensions converts it.
    MSA_REQUIRE(spatial == 2 || bias.dtype() == batch.dtype(), Runtime, op, ": expected a bias of ",
                batch.dtype(), ", as the input is, but got ", bias.dtype(),
                "; convert one with .to().");
    MSA_REQUIRE(bias.dim() == 1 && bias.size(0) == size[1], Runtime, op, ": bias must have ",
                size[1], " elements, but its shape is ", DimsView(bias.sizes()), ".");
    Dims column(static_cast<size_t>(spatial) + 1, 1);
    column[0] = size[1];
    return ops::add(out, ops::to_dtype(ops::view(bias, column), out.dtype()));
  });
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, int64_t groups) {
  const size_t spatial = input.dim() > 2 ? static_cast<size_t>(input.dim()) - 2 : 0;
  const auto filled = [&](const char* name, const Dims& values) {
    MSA_REQUIRE(values.size() == spatial || values.size() == 1, Runtime, "convolution: expected ",
                name, " to be one integer or a list of ", spatial, ", but got ", DimsView(values),
                ".");
    return values.size() == spatial ? values : Dims(spatial, values[0]);
  };
  const Dims s = filled("stride", stride), p = filled("padding", padding),
             d = filled("dilation", dilation);
  if (!transposed) return conv_nd("convolution", input, weight, bias, s, p, d, groups);
  return transposed_nd("convolution", input, weight, bias, s, p,
                       filled("output_padding", output_padding), groups, d);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const Dims& padding, const Dims& dilation, int64_t groups) {
  return conv_nd("conv1d", input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const Dims& padding, const Dims& dilation, int64_t groups) {
  return conv_nd("conv2d", input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const Dims& padding, const Dims& dilation, int64_t groups) {
  return conv_nd("conv3d", input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv1d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Dims& stride, std::string_view padding, const Dims& dilation,
                      int64_t groups) {
  return conv_by_name("conv1d", input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Dims& stride, std::string_view padding, const Dims& dilation,
                      int64_t groups) {
  return conv_by_name("conv2d", input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Dims& stride, std::string_view padding, const Dims& dilation,
                      int64_t groups) {
  return conv_by_name("conv3d", input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding,
                        int64_t groups, const Dims& dilation) {
  return transposed_nd("conv_transpose1d", input, weight, bias, stride, padding, output_padding,
                       groups, dilation);
}
Tensor conv_transpose2d_input(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              const Dims& stride, const Dims& padding, const Dims& output_padding,
                              int64_t groups, const Dims& dilation) {
  return transposed_nd("conv_transpose2d", input, weight, bias, stride, padding, output_padding,
                       groups, dilation);
}
Tensor conv_transpose3d_input(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              const Dims& stride, const Dims& padding, const Dims& output_padding,
                              int64_t groups, const Dims& dilation) {
  return transposed_nd("conv_transpose3d", input, weight, bias, stride, padding, output_padding,
                       groups, dilation);
}

}  // namespace msa::composed
