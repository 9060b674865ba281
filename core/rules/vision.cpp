// Shape rules of torchvision's operators, with its checks.
#include "core/dispatch/autocast.h"
#include "core/rules/rules.h"
#include "generated/rules_vision.h"

namespace msa::rules {
namespace {

// Under autocast an input in lower precision meets regions in float32.
void check_dtypes(const char* op, const char* name, const Tensor& input, const Tensor& rois) {
  MSA_REQUIRE(input.dtype() == rois.dtype() || autocast_of(input.device().kind).enabled, Runtime,
              op, ": Expected tensor for ", name,
              " to have the same type as tensor for rois; but type ", input.dtype(),
              " does not equal ", rois.dtype(), ".");
}

void check_regions(const char* op, const Tensor& input, const Tensor& rois, int64_t pooled_height,
                   int64_t pooled_width) {
  MSA_REQUIRE(rois.dim() == 2 && rois.size(1) == 5, Runtime, op,
              ": rois must have shape as Tensor[K, 5], but their shape is ", DimsView(rois.sizes()),
              ".");
  MSA_REQUIRE(input.dim() == 4, Runtime, op, ": expected input (N, C, H, W), but its shape is ",
              DimsView(input.sizes()), ".");
  MSA_REQUIRE(pooled_height > 0 && pooled_width > 0, Runtime, op,
              ": the output size must be positive, but got ", pooled_height, " x ", pooled_width,
              ".");
  check_dtypes(op, "input", input, rois);
}

// The pooled regions and an index for each, where a bin's channels are its own.
std::array<OutSpec, 2> of_channels(const char* op, const Tensor& input, const Tensor& rois,
                                   int64_t pooled_height, int64_t pooled_width) {
  check_regions(op, input, rois, pooled_height, pooled_width);
  const int64_t bins = pooled_height * pooled_width;
  MSA_REQUIRE(input.size(1) % bins == 0, Runtime, op,
              ": input channels must be a multiple of pooling height * pooling width, but got ",
              input.size(1), " and ", bins, ".");
  const Dims sizes{rois.size(0), input.size(1) / bins, pooled_height, pooled_width};
  return {OutSpec{sizes, input.dtype()}, OutSpec{sizes, DType::I32}};
}

OutSpec gradient_of(const char* op, const Tensor& grad, const Tensor& rois,
                    const Dims& input_size) {
  check_dtypes(op, "grad", grad, rois);
  return {input_size, grad.dtype()};
}

}  // namespace

OutSpec box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2) {
  for (const Tensor* boxes : {&boxes1, &boxes2})
    MSA_REQUIRE(boxes->dim() == 2 && boxes->size(1) == 5, Runtime,
                "box_iou_rotated: boxes should be a 2d tensor (N, 5), but their shape is ",
                DimsView(boxes->sizes()), ".");
  MSA_REQUIRE(boxes1.dtype() == boxes2.dtype(), Runtime,
              "box_iou_rotated: expected boxes of one dtype, but got ", boxes1.dtype(), " and ",
              boxes2.dtype(), ".");
  return {{boxes1.size(0), boxes2.size(0)}, boxes1.dtype()};
}

OutSpec roi_align(const Tensor& input, const Tensor& rois, double, int64_t pooled_height,
                  int64_t pooled_width, int64_t, bool) {
  check_regions("roi_align", input, rois, pooled_height, pooled_width);
  return {{rois.size(0), input.size(1), pooled_height, pooled_width}, input.dtype()};
}

OutSpec roi_align_grad(const Tensor& grad, const Tensor& rois, double, int64_t, int64_t,
                       const Dims& input_size, int64_t, bool) {
  return gradient_of("roi_align", grad, rois, input_size);
}

std::array<OutSpec, 2> ps_roi_align(const Tensor& input, const Tensor& rois, double,
                                    int64_t pooled_height, int64_t pooled_width, int64_t) {
  return of_channels("ps_roi_align", input, rois, pooled_height, pooled_width);
}

OutSpec ps_roi_align_grad(const Tensor& grad, const Tensor& rois, const Tensor&, double, int64_t,
                          int64_t, int64_t, const Dims& input_size) {
  return gradient_of("ps_roi_align", grad, rois, input_size);
}

std::array<OutSpec, 2> roi_pool(const Tensor& input, const Tensor& rois, double,
                                int64_t pooled_height, int64_t pooled_width) {
  check_regions("roi_pool", input, rois, pooled_height, pooled_width);
  const Dims sizes{rois.size(0), input.size(1), pooled_height, pooled_width};
  return {OutSpec{sizes, input.dtype()}, OutSpec{sizes, DType::I32}};
}

std::array<OutSpec, 2> roi_pool_of_channels(const Tensor& input, const Tensor& rois, double,
                                            int64_t pooled_height, int64_t pooled_width) {
  return of_channels("ps_roi_pool", input, rois, pooled_height, pooled_width);
}

OutSpec roi_pool_grad(const Tensor& grad, const Tensor& rois, const Tensor&, double, int64_t,
                      int64_t, const Dims& input_size) {
  return gradient_of("roi_pool", grad, rois, input_size);
}

OutSpec deform_columns(const Tensor& input, const Tensor& offset, const Tensor&,
                       const Dims& kernel_size, const Dims&, const Dims&, const Dims&, int64_t) {
  return {{input.size(0), input.size(1) * kernel_size[0] * kernel_size[1],
           offset.size(2) * offset.size(3)},
          input.dtype()};
}

std::array<OutSpec, 3> deform_columns_backward(const Tensor&, const Tensor& input,
                                               const Tensor& offset, const Tensor& mask,
                                               const Dims&, const Dims&, const Dims&, const Dims&,
                                               int64_t) {
  return {OutSpec{input.sizes(), input.dtype()}, OutSpec{offset.sizes(), offset.dtype()},
          mask.defined() ? OutSpec{mask.sizes(), mask.dtype()} : OutSpec{{0}, input.dtype()}};
}

}  // namespace msa::rules
