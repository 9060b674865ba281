// Views and in-place changes: how a change through a view becomes part of its base's history.
#include <algorithm>

#include "core/autograd/formulas.h"
#include "core/autograd/meta.h"
#include "core/autograd/saved.h"
#include "core/transforms/batched.h"
#include "generated/ops_create.h"
#include "generated/ops_view.h"

namespace msa {

namespace {

ViewOrigin origin_here(ViewOrigin asked) {
  if (thread_state.inference_mode) return ViewOrigin::InferenceMode;
  return thread_state.grad_enabled ? asked : ViewOrigin::NoGradMode;
}

Tensor track_view(Tensor out, const Tensor& input, ViewOrigin origin) {
  if (input->inference) {  // inference tensors have no history, ever
    out->inference = true;
    return out;
  }
  origin = origin_here(origin);
  AutogradMeta& m = ensure_meta(out.impl());
  if (is_view(input)) {
    m.base = input->meta->base;
    if (origin == ViewOrigin::Default) origin = input->meta->view_origin;
  } else {
    m.base = Ref<TensorImpl>(input.impl());
  }
  m.view_origin = origin;
  m.grad_fn_version = out.version();
  return out;
}

// PyTorch's explanation of why a view's history cannot follow a change.
[[noreturn, gnu::cold]] void refuse_view_change(const AutogradMeta& view, bool indirect) {
  const char* changed = indirect ? "its base or another view of its base has been" : "is being";
  std::string text;
  const bool in_mode =
      view.view_origin == ViewOrigin::NoGradMode || view.view_origin == ViewOrigin::InferenceMode;
  const char* mode =
      view.view_origin == ViewOrigin::InferenceMode ? "inference mode" : "no_grad mode";
  if (in_mode && !view.grad_fn)
    text = cat("A view was created in ", mode, " and ", changed,
               " modified inplace with grad mode enabled.");
  else if (in_mode)
    text = cat("Output ", view.output_nr, " of ", view.grad_fn->name(),
               " is a view of a view which was created in ", mode, " and ", changed,
               " modified inplace with grad mode enabled.");
  else
    text =
        cat("Output ", view.output_nr, " of ", view.grad_fn ? view.grad_fn->name() : "a function",
            " is a view and ", changed, " modified inplace.");
  switch (view.view_origin) {
    case ViewOrigin::MultiOutput:
      text +=
          " Its function returns several views, which cannot be changed in place: use the "
          "out-of-place operator.";
      break;
    case ViewOrigin::CustomFunction:
      text +=
          " It comes from a custom Function, whose backward the change would bypass: clone() the "
          "output of the custom Function first.";
      break;
    default:
      text +=
          " Make the view and the change both inside that mode (untracked) or both outside "
          "(tracked).";
  }
  fail(ErrorKind::Runtime, text);
}

}  // namespace

Tensor make_view(const Tensor& input, const Layout& layout, ViewOrigin origin) {
  return track_view(alias(input, layout), input, origin);
}

Tensor make_view(const Tensor& input, const Layout& layout, DType dtype, ViewOrigin origin) {
  return track_view(alias(input, layout, dtype), input, origin);
}

void make_view_of(Tensor& out, const Tensor& input, ViewOrigin origin) {
  out->own_version = input->own_version;
  out = track_view(std::move(out), input, origin);
}

Tensor replay_view(const Tensor& base, const Layout& view, DType dtype) {
  if (base.dtype() == dtype) return ops::as_strided(base, view.sizes, view.strides, view.offset);
  if (is_complex(base.dtype()) && dtype == to_real(base.dtype()))
    return ops::as_strided(ops::view_as_real(base), view.sizes, view.strides, view.offset);
  if (is_complex(dtype) && base.dtype() == to_real(dtype)) {
    Layout pairs{view.sizes, view.strides, 2 * view.offset};
    for (int64_t& s : pairs.strides) s *= 2;
    pairs.sizes.push_back(2);
    pairs.strides.push_back(1);
    return ops::view_as_complex(ops::as_strided(base, pairs.sizes, pairs.strides, pairs.offset));
  }
  fail(ErrorKind::NotImplemented, "autograd: an in-place change through a view of ", base.dtype(),
       " as ", dtype, " has no gradient; use the out-of-place operator.");
}

const Ref<Node>& grad_fn(const Tensor& t) {
  static const Ref<Node> none;
  if (!t->meta) return none;
  AutogradMeta& m = *t->meta;
  if (!m.base || m.grad_fn_version == t.version()) return m.grad_fn;
  const Tensor base(m.base);
  if (!m.grad_fn && !base.requires_grad()) return m.grad_fn;
  if (m.view_origin != ViewOrigin::Default) refuse_view_change(m, true);
  // The base was changed since: the view's values now come from the base's new history.
  GradMode on(true);
  Tensor fresh = replay_view(base, t.layout(), t.dtype());
  m.exchange_history(fresh->meta->grad_fn, 0);
  m.grad_fn_version = t.version();
  return m.grad_fn;
}

void check_inplace(std::string_view op, const Tensor& self, bool record) {
  MSA_REQUIRE(!self->inference || thread_state.inference_mode, Runtime,
              "Inplace update to inference tensor outside InferenceMode is not allowed (", op,
              "): clone() it first.");
  if (!record || !self->meta) return;
  const AutogradMeta& m = *self->meta;
  const bool tracked = self.requires_grad();
  if (m.base) {
    if (m.view_origin != ViewOrigin::Default) refuse_view_change(m, false);
    MSA_REQUIRE(
        !tracked || !Tensor(m.base).is_leaf(), Runtime,
        "a view of a leaf Variable that requires grad is being used in an in-place operation (", op,
        "): use the out-of-place form, or torch.no_grad().");
  }
  MSA_REQUIRE(!tracked || !self.is_leaf(), Runtime,
              "a leaf Variable that requires grad is being used in an in-place operation (", op,
              "): use the out-of-place form, or torch.no_grad().");
}

namespace {

// Describes an in-place change of a view as an operation on the whole base: the gradient outside
// the view passes through, the gradient inside goes through the change's own node.
struct CopySlices final : Node {
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> change);
  const char* name() const override { return "torch::autograd::CopySlices"; }
  void release_saved() override { change->release_saved(); }
  bool runs_without_gradients() const override { return change->runs_without_gradients(); }
  void apply(Grads& in, Grads& out) override;

  // A copy of the base's gradient with the base's own geometry, so that the view's fits onto it.
  Tensor copy_of(const Tensor& grad) const;

  Dims base_strides;
  Layout view;  // its offset counted from the base's first element
  DType view_dtype;
  Ref<Node> change;
};

CopySlices::CopySlices(const Tensor& base, const Tensor& self, Ref<Node> node)
    : base_strides(base.strides()),
      view(self.layout()),
      view_dtype(self.dtype()),
      change(std::move(node)) {
  view.offset -= base.offset() * static_cast<int64_t>(base.item_bytes()) /
                 static_cast<int64_t>(self.item_bytes());
  add_output(base);
  if (change->next.empty()) return;
  // The change's own node is not part of the graph: its first edge becomes the base's.
  change->next[0] = gradient_edge(base);
  next = change->next;
}

Tensor CopySlices::copy_of(const Tensor& grad) const {
  const OutputMeta& base = outputs[0];
  int64_t extent = 1;
  for (size_t d = 0; d < base.sizes.size(); ++d) {
    if (base.sizes[d] == 0) extent = 0;
    extent += extent ? (base.sizes[d] - 1) * base_strides[d] : 0;
  }
  if (is_batched(grad)) {
    Tensor copy = ops::as_strided(ops::new_zeros(grad, {extent}), base.sizes, base_strides, 0);
    return ops::copy_(copy, grad);
  }
  Ref<Storage> storage =
      Storage::make(static_cast<size_t>(extent) * size_bytes(base.dtype), base.device);
  Tensor copy = from_storage(std::move(storage), {base.sizes, base_strides, 0}, base.dtype);
  ops::copy_(copy, grad);
  return copy;
}

void CopySlices::apply(Grads& in, Grads& out) {
  if (!in[0].defined()) {
    if (!change->runs_without_gradients()) return;
    in[0] = zeros_for(0);
  }
  Tensor result = copy_of(in[0]);
  Tensor inside = replay_view(result, view, view_dtype);

  // In a recorded backward, what the change saved of its result has the history of the view.
  std::optional<OutputHistory> history;
  if (thread_state.grad_enabled) {
    Tensor base = detach(result);
    AutogradMeta& m = ensure_meta(base.impl());
    m.grad_fn = Ref<Node>(this);
    history.emplace(change.get(), replay_view(base, view, view_dtype)->meta->grad_fn);
  }
  Grads change_in(1), change_out(change->next.size());
  change_in[0] = ops::clone(inside, MemoryFormat::Contiguous);
  change->apply(change_in, change_out);

  for (size_t i = 1; i < out.size(); ++i) out[i] = std::move(change_out[i]);
  if (!wants(0)) return;
  if (change_out[0].defined())
    ops::copy_(inside, formulas::reduce_to(change_out[0], view.sizes, view_dtype));
  else
    ops::fill_(inside, 0);
  out[0] = std::move(result);
}

}  // namespace

void rebase_history(Tensor& self, const Ref<Node>& node) {
  node->add_output(self);
  AutogradMeta& m = ensure_meta(self.impl());
  Tensor changed = m.base ? Tensor(m.base) : self;
  Ref<Node> fn = m.base ? Ref<Node>(new CopySlices(changed, self, node)) : node;
  ensure_meta(changed.impl()).exchange_history(std::move(fn), 0);
  if (!m.base) return;
  m.grad_fn_version = self.version() - 1;  // out of date: made anew from the base's history
  grad_fn(self);
}

}  // namespace msa
