// Gradient helpers of indexing and joining.
#include "core/autograd/formulas.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_view.h"

namespace msa::formulas {

Tensor index_backward(const Tensor& grad, const Dims& sizes, const TensorList& indices) {
  return ops::index_put(blank(sizes, grad), indices, grad, true);
}

Tensor gather_backward(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& index) {
  return ops::scatter_add(blank(sizes, grad), dim, index, grad);
}

Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index) {
  return ops::index_add(blank(sizes, grad), dim, index, grad);
}

TensorList cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim) {
  TensorList out;
  int64_t start = 0;
  for (const Dims& s : sizes) {
    bool skipped = s.size() == 1 && s[0] == 0;  // an empty vector joins anything
    int64_t length = skipped ? 0 : s[wrap_dim(dim, static_cast<int64_t>(s.size()))];
    out.push_back(skipped ? ops::zeros(s, grad.dtype(), grad.device())
                          : ops::narrow(grad, dim, start, length));
    start += length;
  }
  return out;
}

}  // namespace msa::formulas
