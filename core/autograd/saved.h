// A tensor kept for backward: remembers its version and complains by name when it was changed
// since.
#pragma once
#include "core/autograd/meta.h"

namespace msa {

// What saved_tensors_hooks installs (Python's pack and unpack).
struct SavedHooks : Counted {
  virtual ~SavedHooks() = default;
  virtual void* pack(const Tensor& t) = 0;
  virtual Tensor unpack(void* packed) = 0;
  virtual void drop(void* packed) = 0;
  static void destroy(SavedHooks* h) { delete h; }
};
void push_saved_hooks(Ref<SavedHooks> hooks);  // of this thread
void pop_saved_hooks();
// With a message, pushing hooks raises it; an empty one allows them again.
void disable_saved_hooks(std::string message);
const std::string& saved_hooks_disabled();

class SavedTensor {
 public:
  SavedTensor() = default;
  // `is_output`: result `output_nr` of the node itself, kept without its history to avoid a cycle.
  explicit SavedTensor(const Tensor& t, bool is_output = false, uint32_t output_nr = 0);
  SavedTensor(SavedTensor&& o) noexcept { swap(o); }
  SavedTensor& operator=(SavedTensor&& o) noexcept {
    swap(o);
    return *this;
  }
  ~SavedTensor() { reset(); }

  // Raises RuntimeError when freed, or changed in place since. `owner` is the node that saved it;
  // without `history` an output comes back bare, which is all that an unrecorded backward needs.
  Tensor unpack(Node* owner, bool history = thread_state.grad_enabled) const;
  void reset();                                // frees; a later unpack raises
  void register_hooks(Ref<SavedHooks> hooks);  // Python's Node._raw_saved_x.register_hooks

 private:
  // What hooks made of the tensor, and beside it the tensor's place in the graph.
  struct Packed {
    MSA_FREE_LISTED
    Ref<SavedHooks> hooks;
    void* value = nullptr;
    Edge edge;
    ~Packed() {
      if (value) hooks->drop(value);
    }
  };
  void swap(SavedTensor& o) noexcept;
  void pack(Ref<SavedHooks> hooks, const Tensor& t);
  Tensor with_history(const Tensor& t, Node* owner) const;
  [[noreturn]] void complain_changed(Node* owner) const;

  Tensor tensor_;  // undefined: nothing was saved, or it is packed, or it was released
  std::unique_ptr<Packed> packed_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool released_ = false;
};

// While alive, what `node` saved of its own outputs is unpacked with the history `instead`: a node
// inside CopySlices is not part of the graph itself.
class OutputHistory {
 public:
  OutputHistory(Node* node, Ref<Node> instead);
  ~OutputHistory();
  OutputHistory(const OutputHistory&) = delete;
  OutputHistory& operator=(const OutputHistory&) = delete;

 private:
  friend class SavedTensor;
  static thread_local OutputHistory* current;
  Node* node_;
  Ref<Node> instead_;
  OutputHistory* outer_;
};

}  // namespace msa
