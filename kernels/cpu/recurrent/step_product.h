// A product with the same right matrix at every step of a recurrent layer: the matrix is laid out
// once, and few rows at a time are multiplied by it.
#pragma once
#include "core/base/lock.h"
#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/matmul/small_product.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {

template <class T>
class StepProduct {
 public:
  // Lays `m` out in panels where `steps` products will use it; for a few it is used as it is.
  StepProduct(const Matrix& m, int64_t steps) : m_(m) {
    if (steps < kStepsThatPay || m.rows == 0 || m.columns == 0) return;
    room_ = empty(Dims{m.rows * m.columns}, dtype_of<T>::value);
    T* const room = room_.template data<T>();
    const Unlocked unlocked(m.rows * m.columns >= kGrain);
    parallel(panels(), kGrain / (m.rows * kWidth) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) lay_out(panel * kWidth, room);
    });
  }

  // c += a m for `rows` rows of a and c. Usable without the core lock.
  void add_to(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t rows) const {
    if (!room_.defined())
      return gemm(dtype_of<T>::value, {const_cast<T*>(a), rows, m_.rows, a_row, 1}, m_,
                  {c, rows, m_.columns, c_row, 1}, 1, 1);
    const int64_t work = rows * m_.rows * kWidth + 1;
    parallel(panels(), (kWorkOfThread + work - 1) / work, [&](int64_t begin, int64_t end) {
      for (int64_t column = begin * kWidth; column < std::min(end * kWidth, m_.columns);
           column += kWidth) {
        const int64_t width = width_at(column);
        small_kernels<T>().product({rows, width, m_.rows, a, a_row, 1,
                                    room_.template data<T>() + column * m_.rows, width, c + column,
                                    c_row, T(1), T(1)});
      }
    });
  }

 private:
  static constexpr int64_t kWidth = 128 / sizeof(T);  // two of the widest vectors
  static constexpr int64_t kStepsThatPay = 4;
  static constexpr int64_t kWorkOfThread = int64_t{1} << 21;  // multiply-adds

  int64_t width_at(int64_t column) const { return std::min(kWidth, m_.columns - column); }
  int64_t panels() const { return (m_.columns + kWidth - 1) / kWidth; }

  // The panel that starts at `column`; what lies side by side in m is read in whole cache lines.
  void lay_out(int64_t column, T* room) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    const T* const from = static_cast<const T*>(m_.data) + column * m_.column_stride;
    T* const to = room + column * m_.rows;
    const int64_t width = width_at(column);
    if (m_.column_stride == 1) {
      for (int64_t k = 0; k < m_.rows; ++k)
        std::copy_n(from + k * m_.row_stride, width, to + k * width);
      return;
    }
    for (int64_t begin = 0; begin < m_.rows; begin += kLine) {
      const int64_t end = std::min(m_.rows, begin + kLine);
      for (int64_t j = 0; j < width; ++j)
        for (int64_t k = begin; k < end; ++k)
          to[k * width + j] = from[k * m_.row_stride + j * m_.column_stride];
    }
  }

  Matrix m_;
  Tensor room_;  // undefined: not laid out
};

}  // namespace msa::cpu
