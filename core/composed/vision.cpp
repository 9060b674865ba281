// Deformable convolution: the elements read as columns, then one matrix product for each group.
#include <tuple>

#include "core/composed/values.h"
#include "generated/composed_vision.h"
#include "generated/ops_linalg.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"
#include "generated/ops_vision.h"

namespace msa::composed {
namespace {

struct Shape {
  Dims kernel, stride, padding, dilation;
  int64_t groups, offset_groups;
};

void check_dims(const Tensor& t, const char* name, int64_t dims) {
  MSA_REQUIRE(t.dim() == dims, Runtime, "deform_conv2d: expected ", name, " of ", dims,
              " dimensions, but its shape is ", DimsView(t.sizes()), ".");
}

int64_t output_size(const Shape& s, const Tensor& input, size_t axis) {
  const int64_t kernel = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
  const int64_t room = input.size(static_cast<int64_t>(axis) + 2) + 2 * s.padding[axis] - kernel;
  return room < 0 ? 0 : room / s.stride[axis] + 1;
}

void check_channels(const Shape& s, const Tensor& input, const Tensor& weight, const Tensor& offset,
                    const Tensor& mask) {
  const int64_t channels = input.size(1), taps = s.kernel[0] * s.kernel[1];
  MSA_REQUIRE(s.groups > 0 && s.offset_groups > 0 && weight.size(1) * s.groups == channels &&
                  weight.size(0) % s.groups == 0,
              Runtime, "deform_conv2d: weight ", DimsView(weight.sizes()), " in ", s.groups,
              " groups does not fit the input's ", channels, " channels.");
  MSA_REQUIRE(offset.size(1) == s.offset_groups * 2 * taps, Runtime,
              "deform_conv2d: offset.shape[1] is not valid: got ", offset.size(1), ", expected ",
              s.offset_groups * 2 * taps, ".");
  MSA_REQUIRE(!mask.defined() || mask.size(1) == s.offset_groups * taps, Runtime,
              "deform_conv2d: mask.shape[1] is not valid: got ", mask.size(1), ", expected ",
              s.offset_groups * taps, ".");
  MSA_REQUIRE(channels % s.offset_groups == 0, Runtime, "deform_conv2d: the input's ", channels,
              " channels do not divide into ", s.offset_groups, " offset groups.");
}

// The batch and the places of `given` are those of the output.
void check_places(const char* name, const Tensor& given, const Tensor& input, const Dims& out) {
  MSA_REQUIRE(given.size(0) == input.size(0) && given.size(2) == out[0] && given.size(3) == out[1],
              Runtime, "deform_conv2d: ", name, " should have batch size ", input.size(0),
              " and output dims ", DimsView(out), ", but its shape is ", DimsView(given.sizes()),
              ".");
}

void check(const Shape& s, const Tensor& input, const Tensor& weight, const Tensor& offset,
           const Tensor& mask, const Tensor& bias) {
  for (size_t d = 0; d < 2; ++d)
    MSA_REQUIRE(s.kernel[d] > 0 && s.stride[d] > 0 && s.padding[d] >= 0 && s.dilation[d] > 0,
                Runtime,
                "deform_conv2d: expected kernel, stride and dilation greater than zero and "
                "no negative padding, but got kernel ",
                s.kernel[d], ", stride ", s.stride[d], ", dilation ", s.dilation[d],
                " and padding ", s.padding[d], ".");
  check_channels(s, input, weight, offset, mask);
  const Dims out{output_size(s, input, 0), output_size(s, input, 1)};
  MSA_REQUIRE(out[0] > 0 && out[1] > 0, Runtime,
              "deform_conv2d: calculated output size too small: ", DimsView(out), ".");
  check_places("offset", offset, input, out);
  if (mask.defined()) check_places("mask", mask, input, out);
  for (const Tensor* t : {&weight, &offset, &mask, &bias})
    require_same_dtype("deform_conv2d", input, *t);
}

Tensor columns_of(const Shape& s, const Tensor& input, const Tensor& offset, const Tensor& mask) {
  return ops::_deform_columns(input, offset, mask, s.kernel, s.stride, s.padding, s.dilation,
                              s.offset_groups);
}

// (N, channels..., places) as (N, groups, channels of a group, places).
Tensor in_groups(const Tensor& t, int64_t channels, const Shape& s) {
  const int64_t places = product(DimsView(t.sizes()).subspan(2));
  return ops::reshape(t, {t.size(0), s.groups, channels / s.groups, places});
}

// (out, in / groups, h, w) as (groups, out / groups, elements).
Tensor weight_matrices(const Tensor& weight, const Shape& s) {
  const int64_t elements = product(DimsView(weight.sizes()).subspan(1));
  return ops::reshape(weight, {s.groups, weight.size(0) / s.groups, elements});
}

}  // namespace

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                     const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                     int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                     int64_t groups, int64_t offset_groups, bool use_mask) {
  check_dims(input, "input", 4), check_dims(weight, "weight", 4), check_dims(offset, "offset", 4);
  const Tensor used = use_mask ? mask : Tensor();
  if (use_mask) check_dims(mask, "mask", 4);
  const Shape s{{weight.size(2), weight.size(3)},
                {stride_h, stride_w},
                {pad_h, pad_w},
                {dilation_h, dilation_w},
                groups,
                offset_groups};
  check(s, input, weight, offset, used, bias);
  const Tensor columns = columns_of(s, input, offset, used);
  const Tensor out =
      ops::matmul(weight_matrices(weight, s), in_groups(columns, columns.size(1), s));
  return ops::add(
      ops::reshape(out, {input.size(0), weight.size(0), offset.size(2), offset.size(3)}),
      ops::reshape(bias, {1, -1, 1, 1}));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _deform_conv2d_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& offset,
    const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h,
    int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
    bool use_mask) {
  const Shape s{{weight.size(2), weight.size(3)},
                {stride_h, stride_w},
                {pad_h, pad_w},
                {dilation_h, dilation_w},
                groups,
                offset_groups};
  const Tensor used = use_mask ? mask : Tensor();
  const Tensor columns = columns_of(s, input, offset, used);
  const Tensor grad = in_groups(grad_output, weight.size(0), s),
               read = in_groups(columns, columns.size(1), s);
  const Tensor of_weight = ops::sum_dim(ops::matmul(grad, ops::transpose(read, -2, -1)), Dims{0});
  const Tensor of_columns = ops::matmul(ops::transpose(weight_matrices(weight, s), -2, -1), grad);
  const auto [of_input, of_offset, of_mask] =
      ops::_deform_columns_backward(ops::reshape(of_columns, columns.sizes()), input, offset, used,
                                    s.kernel, s.stride, s.padding, s.dilation, s.offset_groups);
  return {of_input, ops::reshape(of_weight, weight.sizes()), of_offset,
          use_mask ? of_mask : ops::zeros_like(mask),
          ops::reshape(ops::sum_dim(grad_output, Dims{0, 2, 3}), bias.sizes())};
}

}  // namespace msa::composed
