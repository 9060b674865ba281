// Adding gradients to leaves, with PyTorch's rules for when the incoming buffer is taken over.
#include "core/autograd/accumulate.h"

#include "core/sparse/sparse.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"

namespace msa {

AccumulateGrad::AccumulateGrad(TensorImpl* leaf) : leaf(leaf) {
  sequence = UINT64_MAX;  // before all else that is ready: the gradient may then be freed
  outputs.push_back({leaf->sizes, leaf->dtype, leaf->storage->device});
}

Ref<Node> AccumulateGrad::use() {
  if (refs == 0) {
    ++leaf->refs;
    OutputMeta& seen = outputs[0];  // `leaf.data = ...` may have changed the leaf meanwhile
    if (seen.dtype != leaf->dtype || !(seen.sizes == leaf->sizes) ||
        !(seen.device == leaf->storage->device))
      seen = {leaf->sizes, leaf->dtype, leaf->storage->device};
  }
  return Ref<Node>(this);
}

void AccumulateGrad::last_reference_gone() {
  // From here the leaf owns this node; when nobody else has the leaf, both go.
  Ref<TensorImpl>::adopt(leaf).reset();
}

Ref<Node> accumulator_of(TensorImpl* leaf) {
  AutogradMeta& meta = ensure_meta(leaf);
  if (!meta.accumulator) meta.accumulator = new AccumulateGrad(leaf);
  return meta.accumulator->use();
}

Tensor leaf_of(Node* node) {
  return node->is_accumulator() ? Tensor(static_cast<AccumulateGrad*>(node)->leaf) : Tensor();
}

namespace {

// PyTorch's layout contract: .grad has the strides of a dense leaf, else is contiguous.
bool gives_strides(const TensorImpl& leaf) {
  return is_dense(leaf.sizes, leaf.strides) && !is_opaque(leaf.storage->device);
}

bool has_layout_for(const Tensor& grad, const TensorImpl& leaf) {
  if (is_opaque(grad)) return true;
  return gives_strides(leaf) ? grad.strides() == leaf.strides : grad.is_contiguous();
}

Tensor copied_for(const Tensor& grad, const TensorImpl& leaf) {
  if (is_opaque(grad)) return ops::clone(grad);
  Dims strides = gives_strides(leaf) ? leaf.strides : contiguous_strides(leaf.sizes);
  Tensor copy = empty_strided(leaf.sizes, strides, grad.dtype(), grad.device());
  ops::copy_(copy, grad);
  return copy;
}

bool sole_owner(const Tensor& t) { return t->refs == 1 && t->storage->refs == 1; }

}  // namespace

Tensor add_gradients(const Tensor& a, const Tensor& b) {
  return is_sparse(a) && !is_sparse(b) ? ops::add(b, a) : ops::add(a, b);
}

void AccumulateGrad::apply(Grads& in, Grads&) {
  Tensor& incoming = in[0];
  if (!incoming.defined()) return;
  Tensor& grad = leaf->meta->grad;
  const bool recording_on = thread_state.grad_enabled;
  if (!grad.defined()) {
    if (!recording_on && sole_owner(incoming) && has_layout_for(incoming, *leaf))
      grad = incoming->meta ? detach(incoming) : std::move(incoming);
    else
      grad = copied_for(incoming, *leaf);
  } else if (recording_on || (is_sparse(grad) && !is_sparse(incoming)) || is_python(incoming)) {
    grad = add_gradients(grad, incoming);
  } else {
    Tensor target = grad;  // keeps its identity; a hook may replace leaf->meta->grad meanwhile
    ops::add_(target, incoming);
  }
  if (!hooks || hooks->post_accumulate.empty()) return;
  Grads self(1);
  self[0] = Tensor(Ref<TensorImpl>(leaf));
  auto list = hooks->post_accumulate;  // a hook may remove itself
  for (auto& h : list) h.hook->call(self);
}

}  // namespace msa
