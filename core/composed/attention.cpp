// Scaled dot product attention from products and a softmax.
#include <cmath>
#include <limits>

#include "core/autograd/formulas.h"
#include "core/composed/values.h"
#include "generated/composed_nn.h"
#include "generated/ops_compare.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_linalg.h"
#include "generated/ops_nn.h"
#include "generated/ops_random.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// Each head of keys and values serves several heads of queries.
Tensor shared_heads(const Tensor& t, int64_t heads) {
  const int64_t own = t.size(-3);
  MSA_REQUIRE(own > 0 && heads % own == 0, Runtime,
              "scaled_dot_product_attention: enable_gqa needs the number of query heads (", heads,
              ") to be a multiple of the number of key and value heads (", own, ").");
  if (own == heads) return t;
  Dims sizes = t.sizes();
  sizes.insert(sizes.size() - 2, heads / own);
  const Tensor repeated = ops::expand(ops::unsqueeze(t, t.dim() - 2), sizes);
  sizes = t.sizes();
  sizes[sizes.size() - 3] = heads;
  return ops::reshape(repeated, sizes);
}

Tensor masked(const Tensor& scores, const Tensor& mask) {
  if (mask.dtype() != DType::Bool) return ops::add(scores, mask);
  return ops::masked_fill(scores, ops::logical_not(mask),
                          number(-std::numeric_limits<double>::infinity()));
}

// A row whose keys are all masked gives zeros rather than NaN.
Tensor safe_softmax(const Tensor& scores) {
  const Tensor weights = ops::softmax(scores, -1);
  const Tensor blocked = ops::all_dim(
      ops::eq(scores, number(-std::numeric_limits<double>::infinity())), Dims{-1}, true);
  return ops::masked_fill(weights, blocked, number(0));
}

// Whether the block-wise kernel serves these: the same leading sizes everywhere, at least one key.
bool one_batch(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto lead = [](const Tensor& t) {
    return Dims(DimsView(t.sizes()).first(t.sizes().size() - 2));
  };
  return is_floating(query.dtype()) && lead(query) == lead(key) && lead(query) == lead(value) &&
         query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2) && key.size(-2) > 0;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    OptFloat scale, bool enable_gqa) {
  MSA_REQUIRE(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, Runtime,
              "scaled_dot_product_attention: query, key and value need at least two dimensions, "
              "but their shapes are ",
              DimsView(query.sizes()), ", ", DimsView(key.sizes()), ", ", DimsView(value.sizes()),
              ".");
  MSA_REQUIRE(
      query.dtype() == key.dtype() && query.dtype() == value.dtype(), Runtime,
      "scaled_dot_product_attention: expected query, key and value of the same dtype, but got ",
      query.dtype(), ", ", key.dtype(), ", ", value.dtype(), ".");
  MSA_REQUIRE(!is_causal || !attn_mask.defined(), Runtime,
              "scaled_dot_product_attention: give either attn_mask or is_causal=True, not both.");
  const Tensor keys = enable_gqa ? shared_heads(key, query.size(-3)) : key;
  const Tensor values = enable_gqa ? shared_heads(value, query.size(-3)) : value;
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  if (!attn_mask.defined() && dropout_p == 0 && one_batch(query, keys, values))
    return ops::_attention(query, keys, values, is_causal, factor);
  // Both factors take the root, as PyTorch's do: the product then overflows less easily.
  const double root = std::sqrt(factor);
  const Tensor scores = ops::matmul(ops::mul(query, number(root)),
                                    ops::transpose(ops::mul(keys, number(root)), -2, -1));
  const Tensor mask = is_causal ? formulas::causal_mask(query, key) : attn_mask;
  Tensor weights = mask.defined() ? safe_softmax(masked(scores, mask)) : ops::softmax(scores, -1);
  if (dropout_p > 0) weights = ops::dropout(weights, dropout_p, true);
  return ops::matmul(weights, values);
}

}  // namespace msa::composed
