// Losses of counts, rankings and margins: elementwise terms, then PyTorch's reductions.
#include <numbers>

#include "core/composed/values.h"
#include "generated/composed_loss.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_loss.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

Tensor negative_part_cut(const Tensor& t) { return ops::clamp_min(t, number(0)); }

Tensor equals(const Tensor& t, double value) { return ops::eq(t, number(value)); }

Tensor where_else_zero(const Tensor& condition, const Tensor& t) {
  return ops::masked_fill(t, ops::logical_not(condition), number(0));
}

// t log t, which is 0 at 0.
Tensor times_own_log(const Tensor& t) {
  return ops::mul(t, ops::log(ops::masked_fill(t, equals(t, 0), number(1))));
}

// A batch of class scores: one sample gets a batch dimension for the while.
struct Scores {
  Tensor input, target;
  bool batched;
};
Scores class_scores(const char* op, const Tensor& input, const Tensor& target, bool list) {
  const bool batched = input.dim() == 2;
  MSA_REQUIRE(batched || input.dim() <= 1, Runtime, op,
              ": expected a vector of scores or a batch (N, C) of them, but the input's shape is ",
              DimsView(input.sizes()), ".");
  const int64_t samples = batched ? input.size(0) : 1;
  const int64_t classes = input.dim() == 0 ? 1 : input.size(-1);
  MSA_REQUIRE(classes > 0, Runtime, op, ": the input has no classes: its shape is ",
              DimsView(input.sizes()), ".");
  const int64_t wanted = list ? samples * classes : samples;
  MSA_REQUIRE(target.numel() == wanted && target.dim() <= (list ? input.dim() : 1), Runtime, op,
              ": inconsistent target size ", DimsView(target.sizes()), " for the input of shape ",
              DimsView(input.sizes()), ".");
  return {ops::reshape(input, {samples, classes}),
          ops::reshape(target, {samples, list ? classes : 1}), batched};
}

Tensor reduced_samples(const Scores& scores, const Tensor& losses, int64_t reduction) {
  return reduced(scores.batched || reduction != kNone ? losses : ops::squeeze_dim(losses, 0),
                 reduction);
}

}  // namespace

Tensor kl_div(const Tensor& input, const Tensor& target, int64_t reduction, bool log_target) {
  MSA_REQUIRE(!is_complex(input.dtype()) && !is_complex(target.dtype()), Runtime,
              "kl_div: expected real input and target, but got ", input.dtype(), " and ",
              target.dtype(), ".");
  if (log_target) return reduced(ops::mul(ops::exp(target), ops::sub(target, input)), reduction);
  return reduced(ops::sub(times_own_log(target), ops::mul(target, input)), reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction) {
  Tensor loss = log_input
                    ? ops::sub(ops::exp(input), ops::mul(target, input))
                    : ops::sub(input, ops::mul(target, ops::log(ops::add(input, number(eps)))));
  if (full) {
    const Tensor root =
        ops::mul(ops::log(ops::mul(target, number(2 * std::numbers::pi))), number(0.5));
    const Tensor stirling = ops::add(ops::sub(ops::mul(target, ops::log(target)), target), root);
    loss = ops::add(loss, ops::masked_fill(stirling, ops::le(target, number(1)), number(0)));
  }
  return reduced(loss, reduction);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            int64_t reduction) {
  const Tensor apart = negative_part_cut(ops::rsub(input, number(margin)));
  return reduced(ops::add(where_else_zero(ops::ne(target, number(1)), apart),
                          where_else_zero(ops::ne(target, number(-1)), input)),
                 reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  const Tensor ranked = ops::mul(ops::neg(target), ops::sub(input1, input2));
  return reduced(negative_part_cut(ops::add(ranked, number(margin))), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction) {
  MSA_REQUIRE(
      target.dim() <= 1, Runtime,
      "cosine_embedding_loss: expected a target of at most one dimension, but its shape is ",
      DimsView(target.sizes()), ".");
  MSA_REQUIRE(input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1, Runtime,
              "cosine_embedding_loss: ", target.dim(), "D target tensor expects ", target.dim() + 1,
              "D input tensors, but found inputs with sizes ", DimsView(input1.sizes()), " and ",
              DimsView(input2.sizes()), ".");
  constexpr double kEps = 1e-12;
  const Dims last{target.dim()};
  const auto dot = [&](const Tensor& a, const Tensor& b) {
    return ops::sum_dim(ops::mul(a, b), last);
  };
  const Tensor squares = ops::mul(ops::add(dot(input1, input1), number(kEps)),
                                  ops::add(dot(input2, input2), number(kEps)));
  const Tensor cosine = ops::div(dot(input1, input2), ops::sqrt(squares));
  const Tensor apart = negative_part_cut(ops::sub(cosine, number(margin)));
  return reduced(ops::add(where_else_zero(equals(target, 1), ops::rsub(cosine, number(1))),
                          where_else_zero(equals(target, -1), apart)),
                 reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  MSA_REQUIRE(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), Runtime,
              "triplet_margin_loss: the anchor, positive and negative tensors are expected to have "
              "the same number of dimensions, but their shapes are ",
              DimsView(anchor.sizes()), ", ", DimsView(positive.sizes()), " and ",
              DimsView(negative.sizes()), ".");
  const Tensor near = ops::pairwise_distance(anchor, positive, p, eps);
  Tensor far = ops::pairwise_distance(anchor, negative, p, eps);
  if (swap) far = ops::minimum(far, ops::pairwise_distance(positive, negative, p, eps));
  return reduced(negative_part_cut(ops::sub(ops::add(near, number(margin)), far)), reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, int64_t reduction) {
  Tensor losses = ops::log1p(ops::exp(ops::mul(ops::neg(target), input)));
  MSA_REQUIRE(losses.sizes() == input.sizes(), Runtime, "soft_margin_loss: the target's shape ",
              target.sizes(), " does not broadcast to the input's ", input.sizes(), ".");
  return reduced(losses, reduction);
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction) {
  MSA_REQUIRE(p.to_double() == 1 || p.to_double() == 2, Runtime,
              "multi_margin_loss: only p == 1 and p == 2 are supported, but got ", p.to_double(),
              ".");
  const Scores scores = class_scores("multi_margin_loss", input, target, false);
  const int64_t classes = scores.input.size(1);
  MSA_REQUIRE(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes), Runtime,
              "multi_margin_loss: expected a weight for each of ", classes, " classes.");
  const Tensor right = ops::gather(scores.input, 1, scores.target);
  // relu, not clamp_min: a margin that is met exactly costs nothing and pulls nothing.
  Tensor terms = ops::relu(ops::add(ops::sub(scores.input, right), number(margin.to_double())));
  if (p.to_double() == 2) terms = ops::mul(terms, terms);
  if (weight.defined())
    terms = ops::mul(terms, ops::view(ops::index_select(weight, 0, ops::ravel(scores.target)),
                                      {scores.input.size(0), 1}));
  terms = ops::scatter_value(terms, 1, scores.target, 0);
  const Tensor losses =
      ops::div(ops::sum_dim(terms, Dims{1}), number(static_cast<double>(classes)));
  return reduced_samples(scores, losses, reduction);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, int64_t reduction) {
  const Scores scores = class_scores("multilabel_margin_loss", input, target, true);
  const int64_t classes = scores.input.size(1);
  // Only what stands before a row's first -1 counts.
  const Tensor listed = ops::eq(ops::cumsum(ops::lt(scores.target, number(0)), 1), number(0));
  const Tensor labels = ops::masked_fill(scores.target, ops::logical_not(listed), number(0));
  const Tensor counts = ops::scatter_add(ops::zeros_like(scores.target), 1, labels,
                                         ops::to_dtype(listed, scores.target.dtype()));
  const Tensor wrong = equals(counts, 0);
  const Tensor right = ops::gather(scores.input, 1, labels);
  const Tensor margins = ops::relu(
      ops::add(ops::sub(ops::unsqueeze(scores.input, 1), ops::unsqueeze(right, 2)), number(1)));
  const Tensor both = ops::logical_and(ops::unsqueeze(wrong, 1), ops::unsqueeze(listed, 2));
  const Tensor losses = ops::div(ops::sum_dim(where_else_zero(both, margins), Dims{1, 2}),
                                 number(static_cast<double>(classes)));
  return reduced_samples(scores, losses, reduction);
}

}  // namespace msa::composed
