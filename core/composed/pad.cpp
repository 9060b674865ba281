// Padding by a constant, by reflection, by the edge and around; and windows as columns, which pad
// first.
#include "core/composed/values.h"
#include "generated/composed_layer.h"
#include "generated/composed_product.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_layer.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// Where element `at` of the padded dimension comes from; `at` is below 0 in front of the input.
int64_t source(std::string_view mode, int64_t at, int64_t size) {
  if (mode == "replicate") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "circular") return ((at % size) + size) % size;
  if (at < 0) at = -at;
  return at < size ? at : 2 * (size - 1) - at;
}

void check(std::string_view mode, const Dims& sizes, int64_t size, int64_t before, int64_t behind) {
  MSA_REQUIRE(mode != "reflect" || (before < size && behind < size), Runtime,
              "pad: Padding size should be less than the corresponding input dimension, but got: "
              "padding (",
              before, ", ", behind, ") for a dimension of ", size, " of the input ",
              DimsView(sizes), ".");
  MSA_REQUIRE(mode != "circular" || (before <= size && behind <= size), Runtime,
              "pad: Padding value causes wrapping around more than once: (", before, ", ", behind,
              ") for a dimension of ", size, ".");
  MSA_REQUIRE(size + before + behind > 0, Runtime, "pad: input of size ", DimsView(sizes),
              " is too small for the padding (", before, ", ", behind, ").");
}

// By reflection or the edge: each element of the padded dimensions by its place in them. All at
// once, so that a gradient adds up in the order of the result.
Tensor mirrored(const Tensor& input, const Dims& pad, std::string_view mode) {
  std::vector<int64_t> places{0};
  Dims sizes = input.sizes();
  int64_t plane = 1;
  for (size_t i = pad.size() / 2; i-- > 0;) {
    const int64_t dim = input.dim() - 1 - static_cast<int64_t>(i), size = input.size(dim);
    const int64_t before = pad[2 * i], behind = pad[2 * i + 1];
    check(mode, input.sizes(), size, before, behind);
    std::vector<int64_t> next;
    for (int64_t place : places)
      for (int64_t at = -before; at < size + behind; ++at)
        next.push_back(place * size + source(mode, at, size));
    places = std::move(next);
    sizes[dim] = size + before + behind;
    plane *= size;
  }
  const int64_t planes = product(DimsView(input.sizes()).first(sizes.size() - pad.size() / 2));
  const Tensor flat = ops::reshape(input, {planes, plane});
  return ops::reshape(ops::index(flat, {Tensor(), table(places, input.device())}), sizes);
}

Tensor circular_pad(const Tensor& input, const Dims& pad) {
  Tensor out = input;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = input.dim() - 1 - static_cast<int64_t>(i);
    int64_t size = input.size(dim), before = pad[2 * i], behind = pad[2 * i + 1];
    check("circular", input.sizes(), size, before, behind);
    if (before == 0 && behind == 0) continue;
    // What negative padding cuts off is cut before the rest wraps around.
    const int64_t first = std::max<int64_t>(-before, 0);
    size -= first + std::max<int64_t>(-behind, 0);
    out = ops::narrow(out, dim, first, size);
    before = std::max<int64_t>(before, 0);
    behind = std::max<int64_t>(behind, 0);
    std::vector<int64_t> from;
    for (int64_t at = -before; at < size + behind; ++at)
      from.push_back(source("circular", at, size));
    out = ops::index_select(out, dim, table(from, input.device()));
  }
  return out;
}

struct Window {
  const Dims &kernel, &dilation, &padding, &stride;

  void check(const char* op) const {
    for (size_t d = 0; d < 2; ++d)
      MSA_REQUIRE(kernel[d] > 0 && dilation[d] > 0 && stride[d] > 0 && padding[d] >= 0, Runtime, op,
                  ": kernel size, dilation and stride should be greater than zero and padding not "
                  "negative, but got kernel_size ",
                  DimsView(kernel), ", dilation ", DimsView(dilation), ", stride ",
                  DimsView(stride), ", padding ", DimsView(padding), ".");
  }
  int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  int64_t count(size_t d, int64_t size) const {
    return (size + 2 * padding[d] - reach(d)) / stride[d] + 1;
  }
};

}  // namespace

Tensor pad(const Tensor& input, const Dims& pad, std::string_view mode, OptFloat value) {
  MSA_REQUIRE(pad.size() % 2 == 0, Runtime, "pad: Padding length must be divisible by 2, but got ",
              DimsView(pad), ".");
  MSA_REQUIRE(pad.size() / 2 <= input.sizes().size(), Runtime,
              "pad: Padding length should be less than or equal to two times the input dimension, "
              "but padding length is ",
              pad.size(), " and the input has ", input.dim(), " dimensions.");
  if (mode == "constant") return ops::constant_pad_nd(input, pad, Scalar(value.value_or(0)));
  MSA_REQUIRE(!value || *value == 0, Runtime, "pad: Padding mode \"", mode,
              "\" doesn't take in value argument.");
  const int64_t padded = static_cast<int64_t>(pad.size()) / 2;
  MSA_REQUIRE(
      padded >= 1 && padded <= 3 && (input.dim() == padded + 1 || input.dim() == padded + 2),
      NotImplemented,
      "pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported "
      "for now: got ",
      padded, " padded dimensions of the input ", DimsView(input.sizes()), ".");
  MSA_REQUIRE(mode == "reflect" || mode == "replicate" || mode == "circular", NotImplemented,
              "pad: Unrecognised padding mode ", mode, ".");
  if (mode == "circular") return circular_pad(input, pad);
  if (mode == "reflect" && padded == 3) return mirrored(input, pad, mode);  // no row: not autocast
  return ops::_mirrored_pad(input, pad, mode);
}

Tensor _mirrored_pad(const Tensor& input, const Dims& pad, std::string_view mode) {
  return mirrored(input, pad, mode);
}

Tensor im2col(const Tensor& input, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  const Window window{kernel_size, dilation, padding, stride};
  window.check("unfold");
  MSA_REQUIRE((input.dim() == 3 || input.dim() == 4) && input.size(-1) > 0 && input.size(-2) > 0 &&
                  input.size(-3) > 0,
              Runtime,
              "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
              "non-zero dimensions for input, but got ",
              DimsView(input.sizes()), ".");
  if (input.dim() == 3)
    return ops::squeeze_dim(
        ops::im2col(ops::unsqueeze(input, 0), kernel_size, dilation, padding, stride), 0);
  Tensor t = ops::constant_pad_nd(input, {padding[1], padding[1], padding[0], padding[0]});
  for (size_t d = 0; d < 2; ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2;
    MSA_REQUIRE(t.size(dim) >= window.reach(d), Runtime, "unfold: the windows reach over ",
                window.reach(d), ", but the padded input ", DimsView(t.sizes()),
                " has no room for one.");
    t = ops::slice(ops::unfold(t, dim, window.reach(d), stride[d]), -1, {}, {}, dilation[d]);
  }
  // (N, C, rows, columns, window rows, window columns)
  const int64_t spots = t.size(2) * t.size(3);
  return ops::reshape(ops::permute(t, {0, 1, 4, 5, 2, 3}),
                      {t.size(0), t.size(1) * kernel_size[0] * kernel_size[1], spots});
}

Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  const Window window{kernel_size, dilation, padding, stride};
  window.check("fold");
  MSA_REQUIRE((input.dim() == 2 || input.dim() == 3) && input.size(-1) > 0 && input.size(-2) > 0,
              Runtime,
              "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
              "and non-zero dimensions, but got ",
              DimsView(input.sizes()), ".");
  if (input.dim() == 2)
    return ops::squeeze_dim(
        ops::col2im(ops::unsqueeze(input, 0), output_size, kernel_size, dilation, padding, stride),
        0);
  const int64_t taps = kernel_size[0] * kernel_size[1];
  const int64_t rows = window.count(0, output_size[0]), columns = window.count(1, output_size[1]);
  MSA_REQUIRE(
      input.size(1) % taps == 0 && rows > 0 && columns > 0 && rows * columns == input.size(2),
      Runtime, "fold: given output_size=", DimsView(output_size),
      " and kernel_size=", DimsView(kernel_size), ", expected (N, a multiple of ", taps, ", ",
      rows * columns, ") but the input is ", DimsView(input.sizes()), ".");
  const int64_t height = output_size[0] + 2 * padding[0], width = output_size[1] + 2 * padding[1];
  std::vector<int64_t> to;
  for (int64_t y = 0; y < kernel_size[0]; ++y)
    for (int64_t x = 0; x < kernel_size[1]; ++x)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          to.push_back((r * stride[0] + y * dilation[0]) * width + c * stride[1] + x * dilation[1]);
  const int64_t batch = input.size(0), channels = input.size(1) / taps;
  const int64_t all = taps * rows * columns, each = is_half(input.dtype()) ? rows * columns : all;
  const Tensor places = table(to, input.device());
  const Tensor from = ops::reshape(input, {batch, channels, all});
  Tensor spread = ops::zeros({batch, channels, height * width}, input.dtype(), input.device());
  for (int64_t at = 0; at < all; at += each)  // half types are rounded after each tap
    spread =
        ops::index_add(spread, 2, ops::narrow(places, 0, at, each), ops::narrow(from, 2, at, each));
  const Tensor image = ops::view(spread, {batch, channels, height, width});
  return ops::clone(ops::narrow(ops::narrow(image, 2, padding[0], output_size[0]), 3, padding[1],
                                output_size[1]));
}

}  // namespace msa::composed
