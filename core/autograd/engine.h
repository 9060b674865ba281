// Runs a graph backwards.
#pragma once
#include <functional>

#include "core/autograd/node.h"

namespace msa {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into leaves' .grad; false: only return the gradients of `inputs`
  bool hooks_of_inputs =
      true;  // false: no backward of the user's, so the hooks on `inputs` must not see it
};

// Gradients of `roots` (weighted by `grads`) for each edge in `inputs`; with `inputs` empty, all
// leaves accumulate. Undefined results mean unused. With `accumulate` and `inputs`, only what leads
// to `inputs` runs and nothing is returned. Reentrant; a pass over nodes that another thread's pass
// is using waits for it.
std::vector<Tensor> run_backward(std::span<const Edge> roots, std::vector<Tensor> grads,
                                 std::span<const Edge> inputs, const BackwardOptions& options);

Node* current_node();  // of this thread's innermost running pass; null: none runs
// That pass's number (0: none runs), and whether it goes on to every leaf, for no chosen inputs.
uint64_t current_pass();
bool reaches_all_leaves();
bool will_run(const Node* node);  // in that pass; raises when none runs
// Runs `callback` once when this thread's innermost pass ends; raises when none runs.
void queue_callback(std::function<void()> callback);

}  // namespace msa
