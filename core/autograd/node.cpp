// What all backward nodes share: freeing deep graphs without recursion, and their hooks.
#include "core/autograd/node.h"

#include <algorithm>

#include "generated/ops_create.h"

namespace msa {

uint64_t Node::next_sequence = 0;
AnomalyHooks anomaly_hooks;

void capture_anomaly(Node* node) {
  if (anomaly_hooks.capture) anomaly_hooks.capture(node);
}

void drop_anomaly(Node* node) {
  if (anomaly_hooks.drop) anomaly_hooks.drop(node);
}

void Node::free_later(Node* n) {
  // Deleting a node drops its edges and saved tensors, which may end up here again: those wait in
  // the list, so the stack stays as deep as one node.
  thread_local Node* list = nullptr;
  thread_local bool draining = false;
  n->link = list;
  list = n;
  if (draining) return;
  draining = true;
  while (Node* next = list) {
    list = next->link;
    delete next;
  }
  draining = false;
}

Tensor Node::zeros_for(size_t output) const {
  const OutputMeta& o = outputs[output];
  return ops::zeros(o.sizes, o.dtype, o.device);
}

uint64_t add_hook(std::vector<NodeHooks::Numbered>& list, Ref<Hook> hook, uint32_t output) {
  static uint64_t next_id = 0;
  list.push_back({next_id, std::move(hook), output});
  return next_id++;
}

void remove_hook(NodeHooks& hooks, uint64_t id) {
  for (auto* list : {&hooks.tensor, &hooks.pre, &hooks.post, &hooks.post_accumulate})
    std::erase_if(*list, [id](const NodeHooks::Numbered& h) { return h.id == id; });
}

}  // namespace msa
