// Layers from other operators: learned activations, gates, shuffles, unpooling.
#include "core/composed/values.h"
#include "generated/composed_layer.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_layer.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// (..., C, H, W) split into leading sizes and the last three.
Dims leading(const Tensor& t, size_t last) {
  return Dims(DimsView(t.sizes()).first(t.sizes().size() - last));
}

Dims joined(Dims front, std::initializer_list<int64_t> back) {
  for (int64_t n : back) front.push_back(n);
  return front;
}

// The permutation that keeps `lead` dimensions and orders those behind as given.
Tensor permuted_behind(const Tensor& t, size_t lead, std::initializer_list<int64_t> order) {
  Dims dims;
  for (size_t d = 0; d < lead; ++d) dims.push_back(static_cast<int64_t>(d));
  for (int64_t d : order) dims.push_back(static_cast<int64_t>(lead) + d);
  return ops::permute(t, dims);
}

void require_image(const char* op, const Tensor& input, int64_t factor) {
  MSA_REQUIRE(input.dim() >= 3, Runtime, op,
              ": expects input to have at least 3 dimensions, but got input with ", input.dim(),
              " dimension(s).");
  MSA_REQUIRE(factor > 0, Runtime, op, ": expects a positive factor, but got ", factor, ".");
}

}  // namespace

// A tensor of its own over the same elements: the row's gradient goes to it.
Tensor _tied(const Tensor& input, const Tensor&) { return alias(input, input.layout()); }

Tensor prelu(const Tensor& input, const Tensor& weight) {
  MSA_REQUIRE(input.dtype() == weight.dtype(), Runtime, "prelu: Type promoting not supported. Got ",
              input.dtype(), " and ", weight.dtype(), ".");
  Tensor slope = weight;
  if (weight.numel() != 1) {
    MSA_REQUIRE(input.dim() > 0, Runtime, "prelu: Not allow zero-dim input tensor.");
    const int64_t channels = input.dim() >= 2 ? input.size(1) : 1;
    MSA_REQUIRE(weight.dim() == 1 && channels == weight.numel(), Runtime,
                "prelu: Mismatch of parameter numbers and input channel size. Found parameter "
                "numbers = ",
                weight.numel(), " and channel size = ", channels, ".");
    Dims sizes(static_cast<size_t>(input.dim()), 1);
    sizes[1] = channels;
    slope = ops::view(weight, sizes);
  } else {
    MSA_REQUIRE(weight.dim() <= 1, Runtime,
                "prelu: Expected `weight` to be a scalar or 1D tensor, but its shape is ",
                DimsView(weight.sizes()), ".");
    slope = ops::view(weight, Dims(static_cast<size_t>(input.dim()), 1));
  }
  return ops::_prelu(input, slope);
}

Tensor hardshrink(const Tensor& input, const Scalar& lambd) {
  return ops::_hardshrink(input, lambd);
}

Tensor softshrink(const Tensor& input, const Scalar& lambd) {
  const double limit = lambd.to_double();
  MSA_REQUIRE(limit >= 0, Runtime,
              "softshrink: lambda must be greater or equal to 0, but found to be ", limit, ".");
  return ops::_softshrink(input, lambd);
}

Tensor glu(const Tensor& input, int64_t dim) {
  MSA_REQUIRE(input.dim() > 0, Runtime, "glu: does not support 0-dimensional tensors.");
  const int64_t size = input.size(dim);
  MSA_REQUIRE(size % 2 == 0, Runtime, "glu: Halving dimension must be even, but dimension ", dim,
              " is size ", size, ".");
  return ops::mul(ops::narrow(input, dim, 0, size / 2),
                  ops::sigmoid(ops::narrow(input, dim, size / 2, size / 2)));
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  MSA_REQUIRE(input1.dim() == input2.dim() && input1.dim() > 0 && weight.dim() == 3 &&
                  leading(input1, 1) == leading(input2, 1) && input1.size(-1) == weight.size(1) &&
                  input2.size(-1) == weight.size(2),
              Runtime, "bilinear: expected inputs (..., ",
              "I) and (..., J) and a weight (O, I, J), but the shapes are ",
              DimsView(input1.sizes()), ", ", DimsView(input2.sizes()), " and ",
              DimsView(weight.sizes()), ".");
  MSA_REQUIRE(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)), Runtime,
              "bilinear: expected a bias of ", weight.size(0), " elements.");
  for (const Tensor& t : {input2, weight, bias}) require_same_dtype("bilinear", input1, t);
  const int64_t rows = product(leading(input1, 1));
  const int64_t out = weight.size(0), first = weight.size(1), second = weight.size(2);
  const Tensor by_first = ops::reshape(ops::permute(weight, {1, 0, 2}), {first, out * second});
  const Tensor mixed =
      ops::view(ops::matmul(ops::reshape(input1, {rows, first}), by_first), {rows, out, second});
  const Tensor column = ops::unsqueeze(ops::reshape(input2, {rows, second}), 2);
  Tensor result = ops::view(ops::matmul(mixed, column), joined(leading(input1, 1), {out}));
  return bias.defined() ? ops::add(result, bias) : result;
}

// Never a view, not even where a factor of 1 moves nothing.
static Tensor copied_as(const Tensor& t, const Dims& sizes) {
  return ops::view(ops::clone(t, MemoryFormat::Contiguous), sizes);
}

Tensor pixel_shuffle(const Tensor& input, int64_t factor) {
  require_image("pixel_shuffle", input, factor);
  const int64_t channels = input.size(-3), height = input.size(-2), width = input.size(-1);
  MSA_REQUIRE(channels % (factor * factor) == 0, Runtime,
              "pixel_shuffle: expects its input's 'channel' dimension to be divisible by the "
              "square of upscale_factor, but input.size(-3)=",
              channels, " is not divisible by ", factor * factor, ".");
  const Dims lead = leading(input, 3);
  const int64_t out = channels / (factor * factor);
  const Tensor split = ops::reshape(input, joined(lead, {out, factor, factor, height, width}));
  return copied_as(permuted_behind(split, lead.size(), {0, 3, 1, 4, 2}),
                   joined(lead, {out, height * factor, width * factor}));
}

Tensor pixel_unshuffle(const Tensor& input, int64_t factor) {
  require_image("pixel_unshuffle", input, factor);
  const int64_t channels = input.size(-3), height = input.size(-2), width = input.size(-1);
  MSA_REQUIRE(height % factor == 0 && width % factor == 0, Runtime,
              "pixel_unshuffle: expects height and width to be divisible by downscale_factor, but "
              "they are ",
              height, " and ", width, " and the factor is ", factor, ".");
  const Dims lead = leading(input, 3);
  const Tensor split = ops::reshape(
      input, joined(lead, {channels, height / factor, factor, width / factor, factor}));
  return copied_as(permuted_behind(split, lead.size(), {0, 2, 4, 1, 3}),
                   joined(lead, {channels * factor * factor, height / factor, width / factor}));
}

Tensor channel_shuffle(const Tensor& input, int64_t groups) {
  MSA_REQUIRE(input.dim() > 2, Runtime,
              "channel_shuffle: expects input with > 2 dims, but got input with sizes ",
              DimsView(input.sizes()), ".");
  const int64_t channels = input.size(1);
  MSA_REQUIRE(groups > 0, Runtime,
              "channel_shuffle: number of groups to divide channels in must be positive, but got ",
              groups, ".");
  MSA_REQUIRE(channels % groups == 0, Runtime,
              "channel_shuffle: number of channels must be divisible by groups, but got ", channels,
              " channels and ", groups, " groups.");
  Dims split = input.sizes();
  split[1] = channels / groups;
  split.insert(static_cast<size_t>(1), groups);
  return ops::reshape(ops::transpose(ops::reshape(input, split), 1, 2), input.sizes());
}

Tensor _max_unpool(const Tensor& input, const Tensor& indices, const Dims& output_size) {
  const size_t spatial = output_size.size();
  MSA_REQUIRE(indices.dtype() == DType::I64, Runtime,
              "max_unpool: elements in indices should be type int64 but got ", indices.dtype(),
              ".");
  MSA_REQUIRE(input.sizes() == indices.sizes(), Runtime,
              "max_unpool: Expected shape of indices to be same as that of the input tensor ",
              DimsView(input.sizes()), ", but got indices tensor with shape ",
              DimsView(indices.sizes()), ".");
  MSA_REQUIRE(input.dim() == static_cast<int64_t>(spatial) + 1 ||
                  input.dim() == static_cast<int64_t>(spatial) + 2,
              Runtime, "max_unpool: expected an input of ", spatial + 1, " or ", spatial + 2,
              " dimensions, but its shape is ", DimsView(input.sizes()), ".");
  const Dims lead = leading(input, spatial);
  const int64_t planes = product(lead), plane = product(output_size);
  const auto flat = [&](const Tensor& t) {
    return ops::reshape(t, {planes, planes ? t.numel() / planes : 0});
  };
  const Tensor blank = ops::zeros({planes, plane}, input.dtype(), input.device());
  Dims sizes = lead;
  for (int64_t n : output_size) sizes.push_back(n);
  return ops::view(ops::scatter_src(blank, 1, flat(indices), flat(input)), sizes);
}

}  // namespace msa::composed
