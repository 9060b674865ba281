// Shape rules of convolutions, with the checks of their operands.
#include "core/rules/rules.h"
#include "generated/rules_nn.h"

namespace msa::rules {
namespace {

void all_at_least(const char* what, const Dims& values, int64_t least) {
  for (int64_t v : values)
    MSA_REQUIRE(v >= least, Runtime, "conv: ", what, " must be at least ", least, ", but got ",
                DimsView(values), ".");
}

void check_window(const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  all_at_least("stride", stride, 1);
  all_at_least("padding", padding, 0);
  all_at_least("dilation", dilation, 1);
  MSA_REQUIRE(groups > 0, Runtime, "conv: groups must be at least 1, but got ", groups, ".");
}

int64_t padded_size(int64_t size, int64_t padding) {
  int64_t padded;
  const bool overflow =
      __builtin_mul_overflow(padding, 2, &padded) || __builtin_add_overflow(padded, size, &padded);
  MSA_REQUIRE(!overflow, Runtime, "conv: padding ", padding, " is too large.");
  return padded;
}

// The elements from a kernel's first to its last.
int64_t kernel_reach(int64_t kernel, int64_t dilation) {
  MSA_REQUIRE(kernel > 0, Runtime, "conv: kernel size should be greater than zero, but got ",
              kernel, ".");
  int64_t reach;
  const bool overflow = __builtin_mul_overflow(dilation, kernel - 1, &reach) ||
                        __builtin_add_overflow(reach, 1, &reach);
  MSA_REQUIRE(!overflow, Runtime, "conv: dilation ", dilation, " is too large for a kernel of ",
              kernel, ".");
  return reach;
}

void check_weight(const Tensor& input, const Tensor& weight, int64_t groups) {
  MSA_REQUIRE(weight.dim() == input.dim(), Runtime, "conv: expected a weight of ", input.dim(),
              " dimensions, but its shape is ", DimsView(weight.sizes()), ".");
  MSA_REQUIRE(weight.sizes()[0] >= groups && weight.sizes()[0] % groups == 0, Runtime,
              "conv: with groups=", groups,
              " the weight's first size must be a multiple of it, but the weight's shape is ",
              DimsView(weight.sizes()), ".");
  MSA_REQUIRE(input.dtype() == weight.dtype(), Runtime,
              "conv: expected input and weight of the same dtype, but got ", input.dtype(), " and ",
              weight.dtype(), "; convert one with .to().");
}

void check_bias(const Tensor& weight, const Tensor& bias) {
  if (!bias.defined()) return;
  MSA_REQUIRE(bias.dim() == 1 && bias.sizes()[0] == weight.sizes()[0], Runtime,
              "conv: given a weight of shape ", DimsView(weight.sizes()), ", bias must have ",
              weight.sizes()[0], " elements, but its shape is ", DimsView(bias.sizes()), ".");
  MSA_REQUIRE(bias.dtype() == weight.dtype(), Runtime,
              "conv: input and bias must have the same dtype, but got ", weight.dtype(), " and ",
              bias.dtype(), ".");
}

// The channels lie innermost in the result where they do in an operand.
OutSpec laid_out(const Dims& sizes, const Tensor& input, const Tensor& weight) {
  const auto turned = [](const Tensor& t) {
    return !t.is_contiguous() && is_channels_last(t.sizes(), t.strides());
  };
  if (product(sizes) == 0 || !(turned(input) || turned(weight))) return {sizes, input.dtype()};
  return {sizes, input.dtype(), channels_last_strides(sizes)};
}

}  // namespace

OutSpec conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
             const Dims& padding, const Dims& dilation, int64_t groups) {
  check_window(stride, padding, dilation, groups);
  check_weight(input, weight, groups);
  check_bias(weight, bias);
  MSA_REQUIRE(input.sizes()[1] == weight.sizes()[1] * groups, Runtime, "conv: with groups=", groups,
              " and a weight of shape ", DimsView(weight.sizes()), " the input ",
              DimsView(input.sizes()), " must have ", weight.sizes()[1] * groups,
              " channels, but has ", input.sizes()[1], ".");
  Dims sizes{input.sizes()[0], weight.sizes()[0]};
  for (size_t d = 0; d < stride.size(); ++d) {
    const int64_t padded = padded_size(input.sizes()[d + 2], padding[d]);
    const int64_t reach = kernel_reach(weight.sizes()[d + 2], dilation[d]);
    MSA_REQUIRE(padded >= reach, Runtime,
                "conv: the kernel cannot be larger than the padded input: dimension ", d + 2,
                " has ", padded, " elements, the kernel reaches over ", reach, ".");
    sizes.push_back((padded - reach) / stride[d] + 1);
  }
  return laid_out(sizes, input, weight);
}

OutSpec conv_input_grad(const Tensor& grad_output, const Tensor& weight, const Dims& input_size,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        int64_t groups) {
  check_window(stride, padding, dilation, groups);
  check_weight(grad_output, weight, groups);
  MSA_REQUIRE(grad_output.sizes()[1] == weight.sizes()[0], Runtime,
              "conv_transpose: with a weight of shape ", DimsView(weight.sizes()), " the input ",
              DimsView(grad_output.sizes()), " must have ", weight.sizes()[0],
              " channels, but has ", grad_output.sizes()[1], ".");
  return laid_out(input_size, grad_output, weight);
}

OutSpec conv_weight_grad(const Tensor& grad_output, const Tensor&, const Dims& weight_size,
                         const Dims&, const Dims&, const Dims&, int64_t) {
  return {weight_size, grad_output.dtype()};
}

}  // namespace msa::rules
