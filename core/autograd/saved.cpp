// Saving tensors for backward, with PyTorch's checks, and the pack and unpack hooks around it.
#include "core/autograd/saved.h"

#include "core/transforms/forward.h"

namespace msa {

namespace {

// Without history; a tangent that the value has, or gets once its operator has run, is kept.
Tensor bare(const Tensor& t) {
  Tensor copy = detach(t);
  if (tangents_open()) share_tangents(copy, t);
  return copy;
}

thread_local std::vector<Ref<SavedHooks>> active_hooks;
thread_local std::string disabled_message;

}  // namespace

void push_saved_hooks(Ref<SavedHooks> hooks) {
  MSA_REQUIRE(disabled_message.empty(), Runtime, disabled_message);
  active_hooks.push_back(std::move(hooks));
}

void pop_saved_hooks() {
  MSA_REQUIRE(!active_hooks.empty(), Runtime, "saved_tensors_hooks: none is active.");
  active_hooks.pop_back();
}

void disable_saved_hooks(std::string message) {
  MSA_REQUIRE(message.empty() || active_hooks.empty(), Runtime, message);
  disabled_message = std::move(message);
}

const std::string& saved_hooks_disabled() { return disabled_message; }

SavedTensor::SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr)
    : output_nr_(output_nr), is_output_(is_output) {
  if (!t.defined()) return;
  MSA_REQUIRE(
      !t->inference, Runtime,
      "Inference tensors cannot be saved for backward. Make a normal tensor of it with clone(), or "
      "use torch.no_grad() instead of torch.inference_mode().");
  version_ = t.version();
  is_output_ = is_output && is_inexact(t.dtype());
  // A Python number is no tensor that the user could expect in a hook.
  if (__builtin_expect(!active_hooks.empty(), 0) && !t->wrapped_number) {
    Ref<SavedHooks> hooks = active_hooks.back();
    pack(std::move(hooks), is_output_ ? bare(t) : t);
  } else {
    tensor_ = is_output_ ? bare(t) : t;
  }
}

void SavedTensor::pack(Ref<SavedHooks> hooks, const Tensor& t) {
  std::unique_ptr<Packed> packed(
      new Packed{std::move(hooks), nullptr, is_output_ ? Edge() : gradient_edge(t)});
  GradMode off(false);
  const uint32_t before = t.version();
  packed->value = packed->hooks->pack(t);
  packed_ = std::move(packed);
  MSA_REQUIRE(t.version() == before, Runtime,
              "A saved tensor pack hook is modifying its input in place: it must work on a copy.");
}

void SavedTensor::register_hooks(Ref<SavedHooks> hooks) {
  MSA_REQUIRE(!released_, Runtime, "register_hooks: the saved tensor has already been freed.");
  MSA_REQUIRE(!packed_, Runtime,
              "Calling register_hooks on a saved tensor whose hooks have already been set.");
  MSA_REQUIRE(tensor_.defined(), Runtime,
              "Calling register_hooks on a saved tensor with value None.");
  Tensor t = std::move(tensor_);
  tensor_ = Tensor();
  pack(std::move(hooks), t);
}

void SavedTensor::reset() {
  released_ = true;
  tensor_ = Tensor();
  packed_.reset();
}

void SavedTensor::swap(SavedTensor& o) noexcept {
  std::swap(tensor_, o.tensor_);
  std::swap(packed_, o.packed_);
  std::swap(version_, o.version_);
  std::swap(output_nr_, o.output_nr_);
  std::swap(is_output_, o.is_output_);
  std::swap(released_, o.released_);
}

Tensor SavedTensor::unpack(Node* owner, bool history) const {
  MSA_REQUIRE(
      !released_, Runtime,
      "Trying to backward through the graph a second time (or directly access saved tensors after "
      "they have already been freed). They are freed by the first .backward() or autograd.grad(): "
      "specify retain_graph=True there.");
  if (packed_) {
    GradMode off(false);
    Tensor t = packed_->hooks->unpack(packed_->value);
    return history ? with_history(t, owner) : t;
  }
  if (!tensor_.defined()) return {};
  if (__builtin_expect(tensor_.version() != version_, 0)) complain_changed(owner);
  return is_output_ && history ? with_history(tensor_, owner) : tensor_;
}

Tensor SavedTensor::with_history(const Tensor& t, Node* owner) const {
  Edge edge{Ref<Node>(owner), output_nr_};
  if (packed_ && !is_output_)
    edge = packed_->edge;
  else if (OutputHistory* h = OutputHistory::current; h && h->node_ == owner)
    edge = {h->instead_, 0};
  Tensor out = bare(t);
  if (!edge.node) return out;
  AutogradMeta& m = ensure_meta(out.impl());
  m.grad_fn = std::move(edge.node);
  m.output_nr = edge.input;
  return out;
}

void SavedTensor::complain_changed(Node* owner) const {
  const Node* maker = is_output_ ? owner : grad_fn(tensor_).get();
  const uint32_t output = is_output_ ? output_nr_ : maker ? tensor_->meta->output_nr : 0;
  std::string what = cat("[", tensor_, "]");
  if (maker) what += cat(", which is output ", output, " of ", maker->name(), ",");
  fail(ErrorKind::Runtime,
       "one of the variables needed for gradient computation has been modified by an inplace "
       "operation: ",
       what, " is at version ", tensor_.version(), "; expected version ", version_,
       " instead. Hint: use the out-of-place operator, or find the place with "
       "torch.autograd.set_detect_anomaly(True).");
}

thread_local OutputHistory* OutputHistory::current = nullptr;

OutputHistory::OutputHistory(Node* node, Ref<Node> instead)
    : node_(node), instead_(std::move(instead)), outer_(current) {
  current = this;
}

OutputHistory::~OutputHistory() { current = outer_; }

}  // namespace msa
