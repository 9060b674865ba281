// The backward engine. All it must know of a node while running lies in the node itself, so a pass
// over a small graph touches no heap. What happens at a node, in order: tensor hooks, retain_grad,
// prehooks, `apply`, fitting the results to the inputs, hooks, release of what was saved.
#include "core/autograd/engine.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/autograd/accumulate.h"
#include "core/autograd/formulas.h"
#include "core/autograd/meta.h"
#include "core/base/lock.h"
#include "core/dispatch/host.h"
#include "core/sparse/sparse.h"
#include "core/transforms/batched.h"
#include "generated/ops_compare.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_reduce.h"

namespace msa {

namespace {

// The state of a node that a nested pass borrowed from an outer one.
struct SetAside {
  Node* node;
  uint64_t epoch;
  uint32_t waiting;
  bool wanted, captured, explored;
  Grads incoming;
};

struct Capture {
  Edge edge;
  size_t result;
};

struct Ready {
  uint64_t sequence;
  Node* node;
  bool operator<(const Ready& o) const { return sequence < o.sequence; }
};

struct Visit {
  Node* node;
  uint32_t next_edge;
};

// --- hooks and checks, off the fast path --------------------------------------------------------

void run_tensor_hooks(NodeHooks& hooks, Grads& in) {
  const auto list = hooks.tensor;  // a hook may remove itself
  for (auto& h : list) {
    Tensor& grad = in[h.output];
    if (!grad.defined()) continue;
    Grads one(1);
    one[0] = grad;
    h.hook->call(one);
    MSA_REQUIRE(one[0].defined() && one[0].sizes() == grad.sizes(), Runtime,
                "a tensor hook has changed the size of the gradient: it was ", grad, ".");
    MSA_REQUIRE(one[0].dtype() == grad.dtype(), Runtime,
                "a tensor hook has changed the type of the gradient from ", grad.dtype(), " to ",
                one[0].dtype(), ".");
    grad = std::move(one[0]);
  }
  for (auto& r : hooks.retained) {
    if (!in[r.output].defined()) continue;
    Tensor& grad = r.tensor->meta->grad;
    grad = grad.defined() ? ops::add(grad, in[r.output])
                          : ops::clone(in[r.output], MemoryFormat::Contiguous);
  }
}

void run_pre_hooks(NodeHooks& hooks, Grads& in) {
  run_tensor_hooks(hooks, in);
  const auto list = hooks.pre;
  for (auto& h : list) h.hook->call(in);
}

// Whether broadcasting `to` can have given `from`.
bool can_reduce_to(DimsView from, DimsView to) {
  if (to.size() > from.size()) return false;
  const size_t lead = from.size() - to.size();
  for (size_t d = 0; d < to.size(); ++d)
    if (to[d] != 1 && to[d] != from[lead + d]) return false;
  return true;
}

bool has_nan(const Tensor& t) {
  GradMode off(false);
  if (is_sparse(t)) return has_nan(sparse_parts(t).values);
  if (is_batched(t)) return has_nan(batched_parts(t).value);
  return *in_host(ops::sum(ops::eq(t, t))).data<int64_t>() < t.numel();
}

bool fits(const Tensor& grad, const OutputMeta& want) {
  return grad.dtype() == want.dtype && grad.sizes() == want.sizes &&
         placed(grad.device()) == placed(want.device);
}

// Sums over broadcast dimensions and casts, so that formulas need not.
Tensor fit_gradient(Tensor grad, const OutputMeta& want, const char* function, size_t index) {
  if (fits(grad, want)) return grad;
  // The gradient of a dense tensor may be sparse, and the other way round.
  const bool any_opaque = is_opaque(grad) || is_opaque(want.device);
  if (any_opaque && grad.dtype() == want.dtype && grad.sizes() == want.sizes) return grad;
  MSA_REQUIRE(can_reduce_to(grad.sizes(), want.sizes), Runtime, "Function ", function,
              " returned an invalid gradient at index ", index, " - got ", DimsView(grad.sizes()),
              " but expected shape compatible with ", DimsView(want.sizes));
  MSA_REQUIRE(any_opaque || grad.device() == want.device, Runtime, "Function ", function,
              " returned an invalid gradient at index ", index, " - expected device ", want.device,
              " but got ", grad.device());
  return formulas::reduce_to(grad, want.sizes, want.dtype);
}

void refuse_nan(const Node& node, const Grads& out) {
  for (size_t i = 0; i < out.size(); ++i)
    MSA_REQUIRE(!out[i].defined() || !has_nan(out[i]), Runtime, "Function '", node.name(),
                "' returned nan values in its ", i, "th output.");
}

// --- one pass -----------------------------------------------------------------------------------

class Pass {
 public:
  explicit Pass(const BackwardOptions& options);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Marks all nodes of the graph as this pass's; false, with none marked, where another thread's
  // pass is using one of them.
  bool claim(std::span<const Edge> roots, std::span<const Edge> inputs);
  std::vector<Tensor> run(std::span<const Edge> roots, std::vector<Tensor>& grads,
                          size_t n_results);
  bool selective() const { return selective_; }

  static thread_local Pass* innermost;
  static inline uint64_t passes = 0;
  const uint64_t epoch = ++passes;  // marks the nodes whose scratch belongs to this pass
  Node* current = nullptr;
  std::vector<std::function<void()>> callbacks;

 private:
  enum class Use { Free, OuterPass, OtherThread };
  Use use_of(const Node* node) const;
  void begin(Node* node);
  void mark_inputs(std::span<const Edge> inputs);
  void explore(Node* root);
  bool enter(Node* node);
  void seed(std::span<const Edge> roots, std::vector<Tensor>& grads);
  void run_node(Node* node, std::vector<Tensor>& results);
  void apply(Node* node, Grads& in, Grads& out);
  void deliver(Node* node, Grads& out);
  void add_gradient(Node* node, uint32_t input, Tensor grad);
  void push(Node* node);
  void abandon(std::span<const Edge> roots);

  const BackwardOptions& options_;
  Pass* const outer_ = innermost;
  Pass* next_live_ = nullptr;
  bool refused_ = false;    // a node is in use by another thread
  bool selective_ = false;  // only what leads to `inputs` runs
  InlineVec<Capture, 2> captures_;
  InlineVec<Ready, 8> ready_;  // a heap
  InlineVec<Visit, 8> path_;
  std::vector<SetAside> set_aside_;
};

thread_local Pass* Pass::innermost = nullptr;

// All passes of all threads. They change only under the core lock; the mutex is for those who wait.
Pass* live_passes = nullptr;
std::mutex ended_mutex;
std::condition_variable ended;
uint64_t n_ended = 0;
int n_waiting = 0;

// The caller's claim was refused; since it held the core lock from then on, no end is missed.
void wait_for_another_pass() {
  const uint64_t before = n_ended;
  ++n_waiting;
  {
    Unlocked unlocked(true);
    std::unique_lock guard(ended_mutex);
    ended.wait(guard, [&] { return n_ended != before; });
  }
  --n_waiting;
}

Pass::Pass(const BackwardOptions& options) : options_(options), next_live_(live_passes) {
  innermost = live_passes = this;
}

Pass::~Pass() {
  for (SetAside& s : set_aside_) {
    s.node->epoch = s.epoch;
    s.node->waiting = s.waiting;
    s.node->wanted = s.wanted;
    s.node->captured = s.captured;
    s.node->explored = s.explored;
    s.node->incoming = std::move(s.incoming);
  }
  innermost = outer_;
  Pass** link = &live_passes;
  while (*link != this) link = &(*link)->next_live_;
  *link = next_live_;
  if (n_waiting == 0) return;
  std::lock_guard guard(ended_mutex);
  ++n_ended;
  ended.notify_all();
}

Pass::Use Pass::use_of(const Node* node) const {
  for (const Pass* p = outer_; p; p = p->outer_)
    if (node->epoch == p->epoch) return Use::OuterPass;
  for (const Pass* p = live_passes; p; p = p->next_live_)
    if (node->epoch == p->epoch) return Use::OtherThread;
  return Use::Free;
}

// First sight of a node in this pass.
void Pass::begin(Node* node) {
  if (__builtin_expect(live_passes != this || next_live_, 0)) {
    const Use use = use_of(node);
    refused_ |= use == Use::OtherThread;
    if (use == Use::OtherThread) return;
    if (use == Use::OuterPass)
      set_aside_.push_back({node, node->epoch, node->waiting, node->wanted, node->captured,
                            node->explored, std::move(node->incoming)});
  }
  node->epoch = epoch;
  node->waiting = 0;
  node->wanted = !selective_;
  node->captured = node->explored = false;
  node->incoming.clear();
}

bool Pass::claim(std::span<const Edge> roots, std::span<const Edge> inputs) {
  mark_inputs(inputs);
  for (const Edge& root : roots) explore(root.node.get());
  if (refused_) {
    abandon(roots);
    abandon(inputs);
  }
  return !refused_;
}

void Pass::mark_inputs(std::span<const Edge> inputs) {
  selective_ = !inputs.empty();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node* node = inputs[i].node.get();
    if (!node) continue;
    if (node->epoch != epoch) begin(node);
    if (refused_) return;
    if (options_.accumulate) {
      node->wanted = true;
    } else {
      node->captured = true;
      captures_.push_back({inputs[i], i});
    }
  }
}

// Counts, for all that can be reached, the edges that lead there. In a selective pass it also finds
// out, on the way back, which nodes lead to an input.
void Pass::explore(Node* root) {
  enter(root);
  while (!path_.empty() && !refused_) {
    Visit& top = path_.back();
    Node* node = top.node;
    if (top.next_edge == node->next.size()) {
      path_.resize(path_.size() - 1);
      if (!path_.empty() && node->runs()) path_.back().node->wanted = true;
      continue;
    }
    Node* child = node->next[top.next_edge++].node.get();
    if (!child) continue;
    const bool first = enter(child);
    if (refused_) return;
    ++child->waiting;
    if (!first && child->runs()) node->wanted = true;
  }
}

// True at the first visit of `node`, which then becomes the end of the path.
bool Pass::enter(Node* node) {
  if (node->epoch != epoch) begin(node);
  if (refused_ || node->explored) return false;
  node->explored = true;
  path_.push_back({node, 0});
  return true;
}

void Pass::seed(std::span<const Edge> roots, std::vector<Tensor>& grads) {
  for (size_t i = 0; i < roots.size(); ++i) {
    Node* node = roots[i].node.get();
    if (!node->runs()) continue;
    if (!grads[i].defined()) continue;
    const OutputMeta& output = node->outputs[roots[i].input];
    add_gradient(node, roots[i].input, fit_gradient(std::move(grads[i]), output, "backward", i));
  }
  for (const Edge& root : roots) {
    if (root.node->waiting > 0 || !root.node->runs()) continue;
    push(root.node.get());
    root.node->waiting = UINT32_MAX;  // not twice, where two roots come from one node
  }
}

void Pass::push(Node* node) {
  ready_.push_back({node->sequence, node});
  std::push_heap(ready_.begin(), ready_.end());
}

std::vector<Tensor> Pass::run(std::span<const Edge> roots, std::vector<Tensor>& grads,
                              size_t n_results) {
  std::vector<Tensor> results(n_results);
  GradMode mode(options_.create_graph);
  try {
    seed(roots, grads);
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end());
      Node* node = ready_.back().node;
      ready_.resize(ready_.size() - 1);
      run_node(node, results);
    }
    for (size_t i = 0; i < callbacks.size(); ++i) {
      const auto callback = callbacks[i];  // it may add more
      callback();
    }
  } catch (...) {
    if (thread_state.anomaly && current && anomaly_hooks.report) anomaly_hooks.report(current);
    abandon(roots);
    throw;
  }
  return results;
}

void Pass::run_node(Node* node, std::vector<Tensor>& results) {
  current = node;
  Grads in = std::move(node->incoming);
  in.resize(node->outputs.size());
  const bool hooked = node->hooks && (options_.hooks_of_inputs || !node->captured);
  // As in PyTorch, an input that is only passed by is captured before its own hooks ran.
  if (hooked && !node->wanted) run_tensor_hooks(*node->hooks, in);
  if (node->captured)
    for (const Capture& c : captures_)
      if (c.edge.node.get() == node) results[c.result] = in[c.edge.input];
  if (node->wanted) {
    if (hooked) run_pre_hooks(*node->hooks, in);
    Grads out(node->next.size());
    apply(node, in, out);
    if (!options_.keep_graph) node->release_saved();
    deliver(node, out);
  }
  current = nullptr;
}

void Pass::apply(Node* node, Grads& in, Grads& out) {
  const bool watched = node->hooks && !node->hooks->post.empty();
  Grads seen;
  if (watched) seen = in;
  if (node->runs_without_gradients() || std::ranges::any_of(in, &Tensor::defined))
    node->apply(in, out);
  for (size_t i = 0; i < out.size(); ++i) {
    const Edge& edge = node->next[i];
    if (!edge.node || !out[i].defined()) continue;
    const OutputMeta& want = edge.node->outputs[edge.input];
    if (!fits(out[i], want)) out[i] = fit_gradient(std::move(out[i]), want, node->name(), i);
  }
  if (__builtin_expect(thread_state.anomaly && thread_state.anomaly_check_nan, 0))
    refuse_nan(*node, out);
  if (!watched) return;
  auto hooks = node->hooks->post;  // a hook may remove itself
  for (auto& h : hooks) h.hook->call_post(out, seen);
}

void Pass::deliver(Node* node, Grads& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const Edge& edge = node->next[i];
    Node* child = edge.node.get();
    if (!child || !child->runs()) continue;
    if (out[i].defined()) add_gradient(child, edge.input, std::move(out[i]));
    if (--child->waiting == 0) push(child);
  }
}

void Pass::add_gradient(Node* node, uint32_t input, Tensor grad) {
  if (node->incoming.empty()) node->incoming.resize(node->outputs.size());
  Tensor& sum = node->incoming[input];
  if (!sum.defined())
    sum = std::move(grad);
  else if (!thread_state.grad_enabled && sum->refs == 1 && sum->storage->refs == 1 &&
           is_dense(sum.sizes(), sum.strides()) && !is_opaque(sum) && !is_opaque(grad))
    ops::add_(sum, grad);
  else
    sum = add_gradients(sum, grad);
}

// Lets go of the graph without finishing: no gradient stays behind in it.
void Pass::abandon(std::span<const Edge> roots) {
  std::vector<Node*> rest;
  for (const Edge& root : roots) rest.push_back(root.node.get());
  while (!rest.empty()) {
    Node* node = rest.back();
    rest.pop_back();
    if (!node || node->epoch != epoch) continue;
    node->epoch = 0;
    node->incoming.clear();
    for (const Edge& edge : node->next) rest.push_back(edge.node.get());
  }
}

}  // namespace

std::vector<Tensor> run_backward(std::span<const Edge> roots, std::vector<Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options) {
  for (size_t i = 0; i < roots.size(); ++i)
    MSA_REQUIRE(roots[i].node, Runtime, "element ", i,
                " of tensors does not require grad and does not have a grad_fn");
  for (;;) {
    {
      Pass pass(options);
      if (pass.claim(roots, inputs))
        return pass.run(roots, grads, options.accumulate ? 0 : inputs.size());
    }
    wait_for_another_pass();
  }
}

Node* current_node() { return Pass::innermost ? Pass::innermost->current : nullptr; }

uint64_t current_pass() { return Pass::innermost ? Pass::innermost->epoch : 0; }

bool reaches_all_leaves() { return !Pass::innermost || !Pass::innermost->selective(); }

bool will_run(const Node* node) {
  MSA_REQUIRE(Pass::innermost, Runtime, "no backward pass is running in this thread");
  return node && node->epoch == Pass::innermost->epoch && node->runs();
}

void queue_callback(std::function<void()> callback) {
  MSA_REQUIRE(Pass::innermost, Runtime,
              "Final callbacks can only be installed during backward pass.");
  Pass::innermost->callbacks.push_back(std::move(callback));
}

}  // namespace msa
