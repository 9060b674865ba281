// A tensor kept for backward: remembers its version and complains by name when it was changed since.
#pragma once
#include "core/autograd/meta.h"

namespace msa {

// What saved_tensors_hooks installs (Python's pack and unpack).
struct SavedHooks {
  virtual ~SavedHooks() = default;
  virtual void* pack(const Tensor& t) = 0;
  virtual Tensor unpack(void* packed) = 0;
  virtual void drop(void* packed) = 0;
};
SavedHooks* active_saved_hooks();        // of this thread; null: none
void push_saved_hooks(SavedHooks* h);    // owned by the stack's user
void pop_saved_hooks();

class SavedTensor {
 public:
  SavedTensor() = default;
  // `is_output`: a result of the node itself, kept without its history to avoid a cycle.
  SavedTensor(const Tensor& t, bool is_output);
  SavedTensor(SavedTensor&& o) noexcept;
  SavedTensor& operator=(SavedTensor&& o) noexcept;
  ~SavedTensor() { reset(); }

  // Raises RuntimeError when freed, or changed in place since (naming `owner`).
  Tensor unpack(Node* owner) const;
  void reset();
  bool released() const { return state_ == State::Released; }
  void register_hooks(SavedHooks* hooks);  // Python's Node._saved_x.register_hooks

 private:
  enum class State : uint8_t { Empty, Kept, Packed, Released };
  State state_ = State::Empty;
  bool is_output_ = false;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  Tensor tensor_;
  void* packed_ = nullptr;
  SavedHooks* hooks_ = nullptr;
};

}  // namespace msa
