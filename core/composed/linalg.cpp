// Products that are compositions of other operators.
#include "generated/composed_linalg.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_view.h"

namespace msa::composed {

Tensor outer(const Tensor& input, const Tensor& vec2) {
  MSA_REQUIRE(input.dim() == 1 && vec2.dim() == 1, Runtime,
              "outer: expected two vectors, but their shapes are ", DimsView(input.sizes()),
              " and ", DimsView(vec2.sizes()), ".");
  return ops::mul(ops::unsqueeze(input, 1), vec2);
}

}  // namespace msa::composed
