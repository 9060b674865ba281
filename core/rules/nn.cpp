// Shape rules of normalisation, softmax, losses and embedding.
#include "core/rules/rules.h"
#include "generated/rules_nn.h"

namespace msa::rules {
namespace {

void has_channels(const char* op, const char* name, const Tensor& t, int64_t channels) {
  MSA_REQUIRE(!t.defined() || t.numel() == channels, Runtime, op, ": ", name, " should contain ",
              channels, " elements, one for each channel, but its shape is ",
              DimsView(t.defined() ? t.sizes() : Dims()), ".");
}

}  // namespace

OutSpec softmax(const Tensor& input, int64_t dim, OptDType dtype) {
  wrap_dim(dim, input.dim());  // raises where it is out of range
  return {input.sizes(), dtype.value_or(input.dtype())};
}

std::array<OutSpec, 2> nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                int64_t reduction, int64_t) {
  MSA_REQUIRE(input.dim() > 0, Value,
              "nll_loss: expected an input of one or more dimensions, but it is a scalar.");
  MSA_REQUIRE(target.dtype() == DType::I64 || target.dtype() == DType::U8, Runtime,
              "nll_loss: expected a target of dtype int64 or uint8, but got ", target.dtype(),
              "; convert it with .long().");
  Dims places = input.sizes();
  places.erase(input.dim() == 1 ? 0 : 1);
  MSA_REQUIRE(input.dim() == 1 || (target.dim() > 0 && target.sizes()[0] == input.sizes()[0]),
              Value, "nll_loss: expected input batch_size ", input.sizes()[0],
              " to match the target's, but the shapes are ", DimsView(input.sizes()), " and ",
              DimsView(target.sizes()), ".");
  MSA_REQUIRE(target.sizes() == places, Runtime, "nll_loss: an input of shape ",
              DimsView(input.sizes()), " needs a target of shape ", DimsView(places), ", but got ",
              DimsView(target.sizes()), ".");
  const int64_t classes = input.sizes()[input.dim() == 1 ? 0 : 1];
  MSA_REQUIRE(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes), Runtime,
              "nll_loss: weight must have one element for each of the ", classes,
              " classes, but its shape is ", DimsView(weight.defined() ? weight.sizes() : Dims()),
              ".");
  return {OutSpec{reduction == 0 ? places : Dims(), input.dtype()}, OutSpec{{}, input.dtype()}};
}

OutSpec nll_loss_backward(const Tensor& grad_output, const Tensor&, const Tensor&, const Tensor&,
                          const Dims& input_size, int64_t, int64_t) {
  return {input_size, grad_output.dtype()};
}

std::array<OutSpec, 3> batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  bool training, double, double, bool) {
  MSA_REQUIRE(input.dim() >= 2 || input.numel() == 0, Runtime,
              "batch_norm: expected an input of at least two dimensions, but its shape is ",
              DimsView(input.sizes()), ".");
  const int64_t channels = input.dim() >= 2 ? input.sizes()[1] : 0;
  has_channels("batch_norm", "running_mean", running_mean, channels);
  has_channels("batch_norm", "running_var", running_var, channels);
  has_channels("batch_norm", "weight", weight, channels);
  has_channels("batch_norm", "bias", bias, channels);
  MSA_REQUIRE(training || (running_mean.defined() && running_var.defined()), Runtime,
              "batch_norm: running_mean and running_var must be given in evaluation mode.");
  const OutSpec stats{{channels}, opmath(input.dtype())};
  return {OutSpec{input.sizes(), input.dtype()}, stats, stats};
}

std::array<OutSpec, 3> batch_norm_backward(const Tensor&, const Tensor& input, const Tensor&,
                                           const Tensor& mean, const Tensor&, bool) {
  const OutSpec stats{mean.sizes(), mean.dtype()};
  return {OutSpec{input.sizes(), input.dtype()}, stats, stats};
}

std::array<OutSpec, 3> layer_norm(const Tensor& input, const Dims& normalized_shape,
                                  const Tensor& weight, const Tensor& bias, double, bool) {
  MSA_REQUIRE(
      !normalized_shape.empty(), Runtime,
      "layer_norm: expected normalized_shape to contain at least one element, but it is empty.");
  const size_t last = normalized_shape.size(), all = input.sizes().size();
  MSA_REQUIRE(all >= last && Dims(DimsView(input.sizes()).subspan(all - last)) == normalized_shape,
              Runtime, "layer_norm: given normalized_shape=", DimsView(normalized_shape),
              ", expected an input whose last sizes are these, but its shape is ",
              DimsView(input.sizes()), ".");
  for (const Tensor* t : {&weight, &bias}) {
    MSA_REQUIRE(!t->defined() || t->sizes() == normalized_shape, Runtime,
                "layer_norm: expected weight and bias of shape ", DimsView(normalized_shape),
                ", but got ", DimsView(t->defined() ? t->sizes() : Dims()), ".");
  }
  Dims rows = DimsView(input.sizes()).first(all - last);
  rows.resize(all, 1);
  const OutSpec stats{rows, opmath(input.dtype())};
  return {OutSpec{input.sizes(), input.dtype()}, stats, stats};
}

std::array<OutSpec, 3> layer_norm_backward(const Tensor&, const Tensor& input, const Tensor&,
                                           const Tensor& mean, const Tensor&,
                                           const Dims& normalized_shape) {
  const OutSpec affine{normalized_shape, mean.dtype()};
  return {OutSpec{input.sizes(), input.dtype()}, affine, affine};
}

OutSpec embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  MSA_REQUIRE(weight.dim() == 2, Runtime, "embedding: 'weight' must be 2-D, but its shape is ",
              DimsView(weight.sizes()), ".");
  MSA_REQUIRE(indices.dtype() == DType::I64 || indices.dtype() == DType::I32, Runtime,
              "embedding: expected indices of dtype int64 or int32, but got ", indices.dtype(),
              ".");
  Dims sizes = indices.sizes();
  sizes.push_back(weight.sizes()[1]);
  return {sizes, weight.dtype()};
}

OutSpec embedding_backward(const Tensor& grad_output, const Tensor&, const Dims& weight_size,
                           int64_t, bool) {
  return {weight_size, grad_output.dtype()};
}

OutSpec attention(const Tensor& query, const Tensor&, const Tensor& value, bool, double) {
  Dims sizes = query.sizes();
  sizes.back() = value.sizes().back();
  return {sizes, query.dtype()};
}

}  // namespace msa::rules
