// A tensor's part in autograd: leaves, histories, detached aliases.
#include "core/autograd/meta.h"

#include <algorithm>

#include "core/autograd/accumulate.h"
#include "core/dispatch/opaque.h"
#include "core/transforms/forward.h"
#include "generated/ops_view.h"

namespace msa {

AutogradMeta::~AutogradMeta() {
  if (retains_grad) exchange_history({}, 0);
  delete accumulator;
  if (tangents) drop_tangents(tangents);
}

Ref<Node> AutogradMeta::exchange_history(Ref<Node> node, uint32_t nr) {
  if (__builtin_expect(retains_grad, 0)) {
    if (grad_fn && grad_fn->hooks)
      std::erase_if(grad_fn->hooks->retained, [this](auto& r) { return r.tensor == owner; });
    retains_grad = static_cast<bool>(node);
    if (node) node->ensure_hooks().retained.push_back({nr, owner});
  }
  output_nr = nr;
  return std::exchange(grad_fn, std::move(node));
}

AutogradMeta& ensure_meta(TensorImpl* t) {
  if (!t->meta) {
    t->meta = new AutogradMeta;
    t->meta->owner = t;
  }
  return *t->meta;
}

Edge gradient_edge(const Tensor& t) {
  if (!t.defined() || !t->meta) return {};
  const AutogradMeta& m = *t->meta;
  if (const Ref<Node>& fn = m.base ? grad_fn(t) : m.grad_fn) return {fn, m.output_nr};
  if (m.requires_grad) return {accumulator_of(t.impl()), 0};
  return {};
}

bool recording(TensorsView list) {
  return std::ranges::any_of(list, [](const Tensor& t) { return recording(t); });
}

void set_requires_grad(Tensor& t, bool value) {
  if (!t.is_leaf()) {
    MSA_REQUIRE(
        value, Runtime,
        "you can only change requires_grad flags of leaf variables. For a copy without history use "
        "detach().");
    return;
  }
  if (t.requires_grad() == value) return;
  MSA_REQUIRE(
      !value || is_inexact(t.dtype()), Runtime,
      "only Tensors of floating point and complex dtype can require gradients, this one is ",
      t.dtype(), ".");
  MSA_REQUIRE(!value || !t->inference || thread_state.inference_mode, Runtime,
              "Setting requires_grad=True on inference tensor outside InferenceMode is not "
              "allowed: clone() it "
              "first.");
  ensure_meta(t.impl()).requires_grad = value;
}

void set_history(Tensor& out, const Ref<Node>& node) {
  const uint32_t nr = node->add_output(out);
  if (!is_inexact(out.dtype())) return;
  AutogradMeta& m = ensure_meta(out.impl());
  m.exchange_history(node, nr);
  if (m.base) m.grad_fn_version = out.version();
}

Ref<Node> hook_target(const Tensor& t) {
  MSA_REQUIRE(t.requires_grad(), Runtime,
              "cannot register a hook on a tensor that doesn't require gradient");
  return gradient_edge(t).node;
}

void retain_grad(const Tensor& t) {
  MSA_REQUIRE(t.requires_grad(), Runtime,
              "can't retain_grad on Tensor that has requires_grad=False");
  if (t.is_leaf() || t->meta->retains_grad) return;
  AutogradMeta& m = *t->meta;
  m.grad_fn->ensure_hooks().retained.push_back({m.output_nr, t.impl()});
  m.retains_grad = true;
}

// --- aliases without history -------------------------------------------------------------------

Tensor detach(const Tensor& t) {
  if (!is_python(t)) return alias(t, t.layout());
  GradMode off(false);
  return ops::alias(t);  // its class makes the alias
}

void detach_(Tensor& t) {
  if (!t->meta) return;
  AutogradMeta& m = *t->meta;
  MSA_REQUIRE(!m.base, Runtime,
              "Can't detach views in-place. Use detach() instead, or assign the detached tensor.");
  m.exchange_history({}, 0);
  m.requires_grad = false;
}

Tensor data_alias(const Tensor& t) {
  Tensor out = detach(t);
  out->own_version = Ref<VersionCounter>(new VersionCounter);
  return out;
}

void set_data(Tensor& t, const Tensor& source) {
  const bool tracked = t.requires_grad();
  MSA_REQUIRE(
      !tracked || is_inexact(source.dtype()), Runtime,
      "data set to a tensor that requires gradients must be floating point or complex dtype, not ",
      source.dtype(), ".");
  MSA_REQUIRE(t.device().is_meta() == source.device().is_meta(), Runtime,
              "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
              "incompatible tensor type: one is on ",
              t.device(), ", the other on ", source.device(), ".");
  const uint32_t version = t.version();
  TensorImpl& impl = *t.impl();
  impl.dtype = source.dtype();
  impl.storage = source->storage;
  set_layout(impl, source.layout());
  if (!impl.own_version) impl.own_version = Ref<VersionCounter>(new VersionCounter);
  impl.own_version->value = version;
}

}  // namespace msa
