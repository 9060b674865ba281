// Shape rules of normalisation, softmax, losses and embedding.
#include "core/rules/rules.h"
#include "generated/rules.h"

namespace msa::rules {

OutSpec softmax(const Tensor& input, int64_t dim, OptDType dtype) {
  wrap_dim(dim, input.dim());  // raises where it is out of range
  return {input.sizes(), dtype.value_or(input.dtype())};
}

std::array<OutSpec, 2> nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t reduction,
                                int64_t) {
  MSA_REQUIRE(input.dim() > 0, Value, "nll_loss: expected an input of one or more dimensions, but it is a scalar.");
  MSA_REQUIRE(target.dtype() == DType::I64 || target.dtype() == DType::U8, Runtime,
              "nll_loss: expected a target of dtype int64 or uint8, but got ", target.dtype(), "; convert it with .long().");
  Dims places = input.sizes();
  places.erase(input.dim() == 1 ? 0 : 1);
  MSA_REQUIRE(input.dim() == 1 || (target.dim() > 0 && target.sizes()[0] == input.sizes()[0]), Value,
              "nll_loss: expected input batch_size ", input.sizes()[0], " to match the target's, but the shapes are ",
              DimsView(input.sizes()), " and ", DimsView(target.sizes()), ".");
  MSA_REQUIRE(target.sizes() == places, Runtime, "nll_loss: an input of shape ", DimsView(input.sizes()),
              " needs a target of shape ", DimsView(places), ", but got ", DimsView(target.sizes()), ".");
  const int64_t classes = input.sizes()[input.dim() == 1 ? 0 : 1];
  MSA_REQUIRE(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes), Runtime,
              "nll_loss: weight must have one element for each of the ", classes, " classes, but its shape is ",
              DimsView(weight.defined() ? weight.sizes() : Dims()), ".");
  return {OutSpec{reduction == 0 ? places : Dims(), input.dtype()}, OutSpec{{}, input.dtype()}};
}

OutSpec nll_loss_backward(const Tensor& grad_output, const Tensor&, const Tensor&, const Tensor&, const Dims& input_size,
                        int64_t, int64_t) {
  return {input_size, grad_output.dtype()};
}

}  // namespace msa::rules
