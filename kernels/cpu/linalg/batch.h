// Batches of matrices in column-major order, as LAPACK wants them, and the loop over them.
#pragma once
#include <atomic>

#include "core/base/lock.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu::linalg {

Dims column_major_strides(DimsView sizes);

// Column-major matrices that end up in `target`: its own memory where that has the order.
class Columns {
 public:
  explicit Columns(const Tensor& target);
  Columns(const Tensor& target, const Tensor& from) : Columns(target) { copy_into(room_, from); }
  // Puts the matrices where they belong, if they are not there.
  void store() const {
    if (room_.impl() != target_.impl()) copy_into(target_, room_);
  }
  int rows() const { return static_cast<int>(room_.size(-2)); }
  int columns() const { return static_cast<int>(room_.size(-1)); }
  int leading() const { return std::max(1, rows()); }
  template <class T>
  T* matrix(int64_t i) const {
    return room_.data<T>() + i * room_.size(-2) * room_.size(-1);
  }

 private:
  Tensor target_, room_;
};

// A column-major copy that is no result.
Columns working_copy(const Tensor& from);

int64_t matrices_in(const Tensor& t);

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

// Zeros what a factor does not use of its square: what lies above the diagonal, or below.
template <class T>
void clear_triangle(T* a, int rows, int columns, bool above) {
  for (int j = 0; j < columns; ++j) {
    T* column = a + static_cast<int64_t>(j) * rows;
    if (above) {
      std::fill(column, column + std::min(j, rows), T());
    } else {
      std::fill(column + std::min(j + 1, rows), column + rows, T());
    }
  }
}

template <class F>
void for_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::C64:
      return f.template operator()<c64>();
    default:
      return f.template operator()<c128>();
  }
}

// body(i) for each of `count` matrices that need about `work` multiply-adds each.
template <class F>
void each_matrix(int64_t count, double work, F&& body) {
  if (count == 0) return;
  const Unlocked unlocked(static_cast<double>(count) * work > kGrain);
  parallel(count, std::max<int64_t>(1, static_cast<int64_t>(kGrain / std::max(work, 1.0))),
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) body(i);
           });
}

inline double cubed(int n) { return static_cast<double>(n) * n * n; }

// Remembers that some matrix failed, to say so when all are done.
class Failure {
 public:
  void note(int info) {
    if (info != 0) info_.store(info, std::memory_order_relaxed);
  }
  void raise_if(const char* op) const;

 private:
  std::atomic<int> info_{0};
};

}  // namespace msa::cpu::linalg
