// A tensor's part in autograd, and the operations that generated code performs on it.
#pragma once
#include "core/autograd/node.h"
#include "core/dispatch/thread_state.h"

namespace msa {

struct AccumulateGrad;  // core/autograd/accumulate.h
struct Tangents;        // core/transforms/forward.h

enum class ViewOrigin : uint8_t { Default, NoGradMode, InferenceMode, MultiOutput, CustomFunction };

struct AutogradMeta {
  MSA_FREE_LISTED
  Tensor grad;
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  // of a leaf
  bool retains_grad = false;
  ViewOrigin view_origin = ViewOrigin::Default;
  // For a differentiable view: the tensor it views, and the version for which grad_fn holds.
  Ref<TensorImpl> base;
  uint32_t grad_fn_version = 0;
  // The leaf's accumulator: kept here while no graph uses it, and keeps the leaf while one does.
  AccumulateGrad* accumulator = nullptr;
  TensorImpl* owner = nullptr;
  Tangents* tangents = nullptr;  // of forward-mode AD, counted: aliases of one value share them
  ~AutogradMeta();

  // Gives the tensor a history, output `nr` of `node` (null: none); retain_grad() goes with it.
  // Returns the history before.
  Ref<Node> exchange_history(Ref<Node> node, uint32_t nr);
};

AutogradMeta& ensure_meta(TensorImpl* t);

// The node that made the tensor; for a view whose base was changed in place it is remade here.
const Ref<Node>& grad_fn(const Tensor& t);
Edge gradient_edge(const Tensor& t);
// The node that adds to a leaf's .grad; it also holds the leaf's hooks.
Ref<Node> accumulator_of(TensorImpl* leaf);
Tensor leaf_of(Node* node);  // undefined unless `node` is such an accumulator
// The node whose NodeHooks are the tensor's; raises unless the tensor requires grad.
Ref<Node> hook_target(const Tensor& t);
void retain_grad(const Tensor& t);              // fills .grad of a non-leaf in backward
void set_requires_grad(Tensor& t, bool value);  // raises as PyTorch does for non-leaves, integers

// --- used by generated code --------------------------------------------------------------------
inline bool recording(const Tensor& t) {
  return __builtin_expect(t.defined() && t->meta != nullptr, 0) && t.requires_grad();
}
bool recording(TensorsView list);
// Whether a call over these tensors must leave a node.
template <class... T>
inline bool must_record(const T&... inputs) {
  return thread_state.grad_enabled && (recording(inputs) || ...);
}

// Makes `out` (fresh) the next output of `node`; integral outputs stay outside.
void set_history(Tensor& out, const Ref<Node>& node);
// `self` was changed in place by what `node` describes; a view makes its base part of it.
void rebase_history(Tensor& self, const Ref<Node>& node);
// Raises unless `self` may be changed in place here (leaf, view rules, inference tensors).
void check_inplace(std::string_view op, const Tensor& self, bool record);
// A differentiable view of `input`, its base tracked; history is set by the caller.
Tensor make_view(const Tensor& input, const Layout& layout,
                 ViewOrigin origin = ViewOrigin::Default);
Tensor make_view(const Tensor& input, const Layout& layout, DType dtype, ViewOrigin origin);
// `out`, a batched tensor over memory of `input`'s, becomes a view of it.
void make_view_of(Tensor& out, const Tensor& input, ViewOrigin origin);
Tensor detach(const Tensor& t);                  // shares storage and version, no history
void detach_(Tensor& t);                         // forgets its history; refuses views
Tensor data_alias(const Tensor& t);              // `.data`: shares storage, counts its own versions
void set_data(Tensor& t, const Tensor& source);  // `t.data = source`
// The view again, as recorded operators on `base`: strides and, for complex/real pairs, the dtype.
Tensor replay_view(const Tensor& base, const Layout& view, DType dtype);
inline bool is_view(const Tensor& t) { return t->meta && t->meta->base; }

}  // namespace msa
