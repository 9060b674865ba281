// A node of the backward graph: what an operator leaves behind so that gradients can flow through it.
#pragma once
#include <memory>

#include "core/base/inline_vec.h"
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
  virtual void call(Grads& grads) = 0;                           // pre-hooks, tensor hooks
  virtual void call_post(Grads& /*outputs*/, const Grads& /*inputs*/) {}  // Node.register_hook
  static void destroy(Hook* h) { delete h; }
};

struct NodeHooks {
  struct TensorHook {
    uint32_t output;
    uint64_t id;
    Ref<Hook> hook;  // sees only that output's gradient, as Grads of size 1
    bool retains_grad;  // runs after all others
  };
  std::vector<TensorHook> tensor_hooks;
  std::vector<std::pair<uint64_t, Ref<Hook>>> pre, post;
};

struct Node : Counted {
  Node() : sequence(next_sequence++) {}
  virtual ~Node() = default;
  virtual const char* name() const = 0;
  // Gradients of the outputs in, gradients of the inputs out (`out` has one slot for each edge).
  virtual void apply(Grads& in, Grads& out) = 0;
  virtual void release_saved() {}
  virtual bool is_accumulator() const { return false; }
  virtual void last_reference_gone() { free_later(this); }

  static void destroy(Node* n) { n->last_reference_gone(); }
  // Deletes without recursion: a chain of a million nodes must not use a million stack frames.
  static void free_later(Node* n);

  uint32_t add_output(const Tensor& out) {
    outputs.push_back({out.sizes(), out.dtype(), out.device()});
    return static_cast<uint32_t>(outputs.size() - 1);
  }
  bool wants(size_t i) const { return static_cast<bool>(next[i].node); }

  uint64_t sequence;  // later nodes run first in backward
  InlineVec<Edge, 2> next;
  InlineVec<OutputMeta, 1> outputs;
  std::unique_ptr<NodeHooks> hooks;
  void* python = nullptr;   // the Python object while one exists (borrowed)
  void* anomaly = nullptr;  // the forward's traceback, see autograd/anomaly.h

  // The engine's scratch, valid while `epoch` is the running pass.
  uint64_t epoch = 0;
  uint32_t waiting = 0;
  bool wanted = false;
  Grads incoming;

  static uint64_t next_sequence;
};

}  // namespace msa
