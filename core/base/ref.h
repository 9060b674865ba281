// Intrusive counted pointers. Counts are plain integers: every core object is touched only by the
// thread that holds the core lock (the GIL when Python is present); kernels that release it work
// on raw memory. See core/base/lock.h.
#pragma once
#include <cstdint>
#include <utility>

namespace msa {

// Base of counted objects. The last release calls T::destroy(T*), so that types may use free lists.
struct Counted {
  uint32_t refs = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) ++p_->refs;
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    if (T* p = std::exchange(p_, nullptr); p && --p->refs == 0) T::destroy(p);
  }
  // Takes over a count that someone else holds, or gives ours away.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  T* release() { return std::exchange(p_, nullptr); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace msa
