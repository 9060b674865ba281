// Shape rules of pooling, with PyTorch's checks of windows.
#include "core/rules/rules.h"
#include "generated/rules_nn.h"

namespace msa::rules {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// How many windows fit; with ceil_mode the last one may hang over, but has to start inside.
int64_t windows(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t out = floor_div(room + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;
  return out;
}

void check_axis(int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  MSA_REQUIRE(kernel > 0, Runtime, "pool: kernel size must be greater than zero, but got ", kernel,
              ".");
  MSA_REQUIRE(stride > 0, Runtime, "pool: stride must be greater than zero, but got ", stride, ".");
  MSA_REQUIRE(dilation > 0 && (kernel == 1 || dilation <= (INT64_MAX - 1) / (kernel - 1)), Runtime,
              "pool: dilation must be greater than zero and fit the kernel of ", kernel,
              ", but got ", dilation, ".");
  MSA_REQUIRE(
      padding >= 0 && padding <= ((kernel - 1) * dilation + 1) / 2, Runtime,
      "pool: padding must be between 0 and half of the effective kernel size, but got padding=",
      padding, ", kernel_size=", kernel, " and dilation=", dilation, ".");
}

Dims pooled(const Tensor& input, const Dims& kernel, const Dims& stride, const Dims& padding,
            const Dims& dilation, bool ceil_mode) {
  Dims sizes = input.sizes();
  const size_t lead = sizes.size() - kernel.size();
  for (size_t d = 0; d < kernel.size(); ++d) {
    check_axis(kernel[d], stride[d], padding[d], dilation[d]);
    int64_t& size = sizes[lead + d];
    const int64_t out = windows(size, kernel[d], stride[d], padding[d], dilation[d], ceil_mode);
    MSA_REQUIRE(out > 0, Runtime, "pool: the input ", DimsView(input.sizes()),
                " is too small for a kernel of ", DimsView(kernel), ": dimension ", lead + d,
                " of the output would be ", out, ".");
    size = out;
  }
  return sizes;
}

Dims binned(const Tensor& input, const Dims& output_size) {
  Dims sizes = input.sizes();
  const size_t lead = sizes.size() - output_size.size();
  for (size_t d = 0; d < output_size.size(); ++d) {
    MSA_REQUIRE(output_size[d] >= 0, Runtime,
                "adaptive_pool: output_size must not be negative, but got ", DimsView(output_size),
                ".");
    MSA_REQUIRE(sizes[lead + d] > 0, Runtime,
                "adaptive_pool: expected an input with elements in its pooled dimensions, but its "
                "shape is ",
                DimsView(input.sizes()), ".");
    sizes[lead + d] = output_size[d];
  }
  return sizes;
}

}  // namespace

std::array<OutSpec, 2> max_pool(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                                const Dims& padding, const Dims& dilation, bool ceil_mode) {
  const Dims sizes = pooled(input, kernel_size, stride, padding, dilation, ceil_mode);
  return {OutSpec{sizes, input.dtype()}, OutSpec{sizes, DType::I64}};
}
OutSpec max_pool_backward(const Tensor& grad_output, const Tensor&, const Dims& input_size,
                          const Dims&) {
  return {input_size, grad_output.dtype()};
}
OutSpec max_pool_take(const Tensor& input, const Tensor& indices, const Dims&) {
  return {indices.sizes(), input.dtype()};
}
std::array<OutSpec, 2> adaptive_max_pool(const Tensor& input, const Dims& output_size) {
  const Dims sizes = binned(input, output_size);
  return {OutSpec{sizes, input.dtype()}, OutSpec{sizes, DType::I64}};
}

OutSpec avg_pool(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                 const Dims& padding, bool ceil_mode, bool, OptInt divisor_override) {
  MSA_REQUIRE(divisor_override.value_or(1) != 0, Runtime,
              "avg_pool: divisor_override must not be zero.");
  return {pooled(input, kernel_size, stride, padding, Dims(kernel_size.size(), 1), ceil_mode),
          input.dtype()};
}
OutSpec avg_pool_backward(const Tensor& grad_output, const Dims& input_size, const Dims&,
                          const Dims&, const Dims&, bool, bool, OptInt) {
  return {input_size, grad_output.dtype()};
}
OutSpec adaptive_avg_pool(const Tensor& input, const Dims& output_size) {
  return {binned(input, output_size), input.dtype()};
}
OutSpec adaptive_avg_pool_backward(const Tensor& grad_output, const Dims& input_size, const Dims&) {
  return {input_size, grad_output.dtype()};
}

}  // namespace msa::rules
