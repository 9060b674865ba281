// The core lock: whoever touches core objects holds it. With Python it is the GIL; without,
// nothing.
#pragma once

namespace msa {

// Set once by the bindings; null means that there is nothing to release.
struct LockHooks {
  void* (*release)() = nullptr;
  void (*acquire)(void*) = nullptr;
};
extern LockHooks lock_hooks;

// Releases the core lock for the life of this object. Inside, touch raw memory only: no counts, no
// free lists, no Python. `worth_it` is false for work too short to pay for a release.
class Unlocked {
 public:
  explicit Unlocked(bool worth_it) {
    if (worth_it && lock_hooks.release) state_ = lock_hooks.release();
  }
  ~Unlocked() {
    if (state_) lock_hooks.acquire(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* state_ = nullptr;
};

}  // namespace msa
