// A vector of trivially copyable values whose first N live inside it: sizes and strides are these,
// and the call path may not allocate.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

namespace msa {

template <class T, uint32_t N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() = default;
  explicit SmallVec(size_t n, T value = T()) { resize(n, value); }
  SmallVec(std::initializer_list<T> v) { assign(v.begin(), v.size()); }
  SmallVec(std::span<const T> v) { assign(v.data(), v.size()); }
  SmallVec(const SmallVec& o) { assign(o.data_, o.size_); }
  SmallVec(SmallVec&& o) noexcept { take(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) assign(o.data_, o.size_);
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      drop();
      take(o);
    }
    return *this;
  }
  ~SmallVec() { drop(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }

  void assign(const T* v, size_t n) {
    reserve(n);
    if (n) std::memmove(data_, v, n * sizeof(T));
    size_ = static_cast<uint32_t>(n);
  }
  void resize(size_t n, T value = T()) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T v) {
    if (size_ == capacity_) reserve(2 * size_ + 1);
    data_[size_++] = v;
  }
  void insert(size_t at, T v) {
    push_back(v);
    for (size_t i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = v;
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    --size_;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* bigger = static_cast<T*>(std::malloc(n * sizeof(T)));
    std::memcpy(bigger, data_, size_ * sizeof(T));
    if (data_ != inline_) std::free(data_);
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(n);
  }
  bool operator==(const SmallVec& o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }

 private:
  void drop() {
    if (data_ != inline_) std::free(data_);
  }
  void take(SmallVec& o) {
    size_ = o.size_;
    if (o.data_ == o.inline_) {
      data_ = inline_;
      capacity_ = N;
      std::memcpy(inline_, o.inline_, size_ * sizeof(T));
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = N;
    }
    o.size_ = 0;
  }
  T* data_ = inline_;
  uint32_t size_ = 0, capacity_ = N;
  T inline_[N];
};

using Dims = SmallVec<int64_t, 5>;          // sizes, strides, dimension lists
using DimsView = std::span<const int64_t>;  // a borrowed list of the same

namespace detail {
// "(2, 3)", "(2,)", "()" as Python writes tuples.
void append(std::string& s, DimsView dims);
}  // namespace detail

}  // namespace msa
