// Working memory of a kernel: on the stack while small. Usable without the core lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace msa::cpu {

// Uninitialised room for `count` values, 64-byte aligned.
template <class T, size_t kInlineBytes = 2048>
class Scratch {
 public:
  explicit Scratch(int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    data_ = bytes <= kInlineBytes ? room_ : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data_) throw std::bad_alloc();
  }
  ~Scratch() {
    if (data_ != room_) std::free(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return static_cast<T*>(data_); }

 private:
  void* data_;
  alignas(64) unsigned char room_[kInlineBytes];
};

}  // namespace msa::cpu
