// A product of small matrices without packing or set-up: what matmul on 4x4 costs is this call.
#pragma once
#include <cstdint>

namespace msa::cpu {

// c = alpha * a b + beta * c. Strides are in elements; columns of b and c lie side by side, a is
// free. With beta == 0 what c held is not read.
template <class T>
struct SmallProduct {
  int64_t rows, columns, depth;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  T alpha = 1, beta = 0;
};

// out[i * out_step] = sum_k a[i * a_row + k] * x[k]: a product with a vector, both read along k.
template <class T>
struct RowDots {
  int64_t rows, depth;
  const T* a;
  int64_t a_row;
  const T* x;
  T* out;
  int64_t out_step;
  T alpha = 1, beta = 0;
};

// Chosen for this machine when loaded.
template <class T>
struct SmallKernels {
  void (*product)(const SmallProduct<T>&);
  void (*row_dots)(const RowDots<T>&);
};
extern const SmallKernels<float>* const small_kernels_f32;
extern const SmallKernels<double>* const small_kernels_f64;

template <class T>
const SmallKernels<T>& small_kernels() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *small_kernels_f32;
  } else {
    return *small_kernels_f64;
  }
}

}  // namespace msa::cpu
