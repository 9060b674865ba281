// A vector of non-trivial values (tensors, edges) whose first N live inside it.
#pragma once
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace msa {

template <class T, uint32_t N>
class InlineVec {
 public:
  InlineVec() = default;
  explicit InlineVec(size_t n) { resize(n); }
  InlineVec(const InlineVec& o) {
    for (const T& v : o) push_back(v);
  }
  InlineVec(InlineVec&& o) noexcept { take(o); }
  InlineVec& operator=(InlineVec o) noexcept {
    clear_storage();
    take(o);
    return *this;
  }
  ~InlineVec() { clear_storage(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }
  operator std::span<T>() { return {data_, size_}; }

  void push_back(T v) {
    if (size_ == capacity_) grow(2 * size_ + 1);
    new (data_ + size_++) T(std::move(v));
  }
  void resize(size_t n) {
    if (n > capacity_) grow(n);
    while (size_ > n) data_[--size_].~T();
    while (size_ < n) new (data_ + size_++) T();
  }
  void clear() { resize(0); }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(room_)); }
  void grow(size_t n) {
    T* bigger = static_cast<T*>(::operator new(n * sizeof(T)));
    for (uint32_t i = 0; i < size_; ++i) {
      new (bigger + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(n);
  }
  void clear_storage() {
    clear();
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = inline_data();
    capacity_ = N;
  }
  void take(InlineVec& o) {
    if (o.data_ == o.inline_data()) {
      for (T& v : o) push_back(std::move(v));
      o.clear();
    } else {
      data_ = std::exchange(o.data_, o.inline_data());
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, N);
    }
  }
  alignas(T) unsigned char room_[N * sizeof(T)];
  T* data_ = inline_data();
  uint32_t size_ = 0, capacity_ = N;
};

}  // namespace msa
