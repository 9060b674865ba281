// The end of every backward path: adds the gradient to a leaf's .grad.
#pragma once
#include "core/autograd/meta.h"

namespace msa {

// The sum of two gradients of one tensor, of which either may be sparse.
Tensor add_gradients(const Tensor& a, const Tensor& b);

// Made once for each leaf. While a graph refers to it, it keeps the leaf alive; otherwise the leaf
// keeps it (with a count of zero), so there is no cycle and nothing is rebuilt at each forward.
struct AccumulateGrad final : Node {
  explicit AccumulateGrad(TensorImpl* leaf);
  const char* name() const override { return "torch::autograd::AccumulateGrad"; }
  void apply(Grads& in, Grads& out) override;
  bool is_accumulator() const override { return true; }
  void last_reference_gone() override;

  // A count on the node, and through it on the leaf.
  Ref<Node> use();

  TensorImpl* leaf;
};

}  // namespace msa
