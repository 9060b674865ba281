// Runs a graph backwards.
#pragma once
#include "core/autograd/node.h"

namespace msa {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;          // into leaves' .grad; false: only return `inputs`' gradients
  bool allow_unused = true;
};

// Gradients of `roots` (weighted by `grads`) for each edge in `inputs`; with `inputs` empty, all
// leaves accumulate. Undefined results mean unused. Holds the engine's lock; reentrant.
std::vector<Tensor> run_backward(std::span<const Edge> roots, std::vector<Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options);

Node* current_node();  // of the innermost running pass, for error texts and anomaly mode

}  // namespace msa
