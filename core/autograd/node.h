// A node of the backward graph: what an operator leaves behind so that gradients can flow through
// it.
#pragma once
#include <memory>

#include "core/autograd/anomaly.h"
#include "core/base/inline_vec.h"
#include "core/dispatch/thread_state.h"
#include "core/tensor/tensor.h"

namespace msa {

struct Node;

using Grads = InlineVec<Tensor, 2>;

struct Edge {
  Ref<Node> node;  // null: no gradient wanted
  uint32_t input = 0;
};

// What the engine must know of a forward output: to check incoming gradients and to make zeros.
struct OutputMeta {
  Dims sizes;
  DType dtype = DType::F32;
  Device device;
};

// A callable on gradients, Python's or the core's. May replace them in place.
struct Hook : Counted {
  virtual ~Hook() = default;
  virtual void call(Grads& grads) = 0;                                    // pre-hooks, tensor hooks
  virtual void call_post(Grads& /*outputs*/, const Grads& /*inputs*/) {}  // Node.register_hook
  static void destroy(Hook* h) { delete h; }
};

struct NodeHooks {
  struct Numbered {
    uint64_t id;
    Ref<Hook> hook;
    uint32_t output = 0;  // of a tensor hook: it sees only this gradient, as Grads of size 1
  };
  struct Retained {
    uint32_t output;
    TensorImpl* tensor;  // its .grad is filled; unregisters itself when it dies
  };
  std::vector<Numbered> tensor, pre, post;  // each runs in the order added
  std::vector<Numbered> post_accumulate;    // of a leaf's accumulator; sees the leaf itself
  std::vector<Retained> retained;           // after all tensor hooks
};

struct Node : Counted {
  MSA_FREE_LISTED
  Node() : sequence(next_sequence++) {
    if (__builtin_expect(thread_state.anomaly, 0)) capture_anomaly(this);
  }
  virtual ~Node() {
    if (__builtin_expect(anomaly != nullptr, 0)) drop_anomaly(this);
  }
  virtual const char* name() const = 0;
  // Gradients of the outputs in, gradients of the inputs out (`out` has one slot for each edge).
  virtual void apply(Grads& in, Grads& out) = 0;
  virtual void release_saved() {}
  virtual bool is_accumulator() const { return false; }
  // Whether `apply` must run even when no gradient arrived (custom functions fill in zeros).
  virtual bool runs_without_gradients() const { return false; }
  virtual void last_reference_gone() { free_later(this); }

  static void destroy(Node* n) { n->last_reference_gone(); }
  // Deletes without recursion: a chain of a million nodes must not use a million stack frames.
  static void free_later(Node* n);

  uint32_t add_output(const Tensor& out) {
    outputs.push_back({out.sizes(), out.dtype(), out.device()});
    return static_cast<uint32_t>(outputs.size() - 1);
  }
  // While recording: does input i have a history at all (else nothing need be saved for it)?
  bool linked(size_t i) const { return static_cast<bool>(next[i].node); }
  // In `apply`: does the running pass need the gradient of input i?
  bool wants(size_t i) const { return next[i].node && next[i].node->runs(); }
  // In `apply`: zeros shaped as output i, for a gradient that did not arrive.
  Tensor zeros_for(size_t output) const;

  NodeHooks& ensure_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }

  uint64_t sequence;  // later nodes run first in backward
  InlineVec<Edge, 2> next;
  InlineVec<OutputMeta, 1> outputs;
  std::unique_ptr<NodeHooks> hooks;
  void* python = nullptr;   // the Python object while one exists (borrowed)
  void* anomaly = nullptr;  // the forward's traceback, see core/autograd/anomaly.h

  // The engine's scratch, valid while `epoch` is the running pass.
  uint64_t epoch = 0;
  uint32_t waiting = 0;
  bool wanted = true;     // will run in this pass
  bool captured = false;  // gradients that arrive here are among the pass's results
  bool explored = false;  // its edges have been counted
  bool runs() const { return wanted || captured; }
  Grads incoming;
  Node* link = nullptr;  // in the list of nodes to free

  static uint64_t next_sequence;
};

// Adds a hook to one of NodeHooks' lists and returns its id; ids are unique in the process.
uint64_t add_hook(std::vector<NodeHooks::Numbered>& list, Ref<Hook> hook, uint32_t output = 0);
void remove_hook(NodeHooks& hooks, uint64_t id);  // from whichever list has it

}  // namespace msa
