// Anomaly mode: nodes remember where in the user's program they were recorded.
#pragma once
namespace msa {

struct Node;

// Installed by the bindings, which know about tracebacks; null without Python.
struct AnomalyHooks {
  void (*capture)(Node* node) = nullptr;       // sets node->anomaly to what describes this place
  void (*drop)(Node* node) = nullptr;          // frees node->anomaly
  void (*report)(const Node* node) = nullptr;  // warns with the forward traceback of `node`
};
extern AnomalyHooks anomaly_hooks;

void capture_anomaly(Node* node);
void drop_anomaly(Node* node);

}  // namespace msa
