// Shape rules of normalisation, softmax, losses and embedding.
#include "core/rules/rules.h"
#include "generated/rules.h"

namespace msa::rules {

OutSpec softmax(const Tensor& input, int64_t dim, OptDType dtype) {
  wrap_dim(dim, input.dim());  // raises where it is out of range
  return {input.sizes(), dtype.value_or(input.dtype())};
}

}  // namespace msa::rules
