// What a call asks of its thread: is gradient recorded, is any layer active.
#pragma once
#include <cstdint>

namespace msa {

struct ThreadState {
  bool grad_enabled = true;
  bool inference_mode = false;
  bool layers_active = false;  // the one word that every call tests
  bool anomaly = false;
  bool anomaly_check_nan = true;
};

// constinit: reached directly, without the wrapper that looks for a constructor.
extern constinit thread_local ThreadState thread_state;

class GradMode {  // scope guard
 public:
  explicit GradMode(bool enabled) : before_(thread_state.grad_enabled) {
    thread_state.grad_enabled = enabled;
  }
  ~GradMode() { thread_state.grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

}  // namespace msa
