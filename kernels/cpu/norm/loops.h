// Sums and affine maps over runs of memory: what normalisation is made of.
#pragma once
#include <cstdint>

namespace msa::cpu {

// Long sums run in double, so that the mean of many values keeps float's last digit.
struct TwoSums {
  double first, second;
};

template <class T>
struct NormLoops {
  double (*sum)(const T* x, int64_t n);
  double (*squares)(const T* x, int64_t n, double mean);  // of the distances from the mean
  // sum of grad * weight, and of grad * weight * (x - mean); null weight: ones.
  TwoSums (*products)(const T* grad, const T* weight, const T* x, int64_t n, double mean);
  // y = x * scale + shift, then * weight + bias element by element where given.
  using Affine = void (*)(const T* x, T* y, int64_t n, T scale, T shift, const T* weight,
                          const T* bias);
  Affine affine;
  Affine fused_affine;  // x * scale + shift is rounded once, as PyTorch does for half types
  // out = grad * weight * a + x * b + c
  void (*combine)(const T* grad, const T* weight, const T* x, T* out, int64_t n, T a, T b, T c);
  // Per element: weights += grad * (x - mean) * rstd; biases += grad.
  void (*accumulate)(const T* grad, const T* x, int64_t n, T mean, T rstd, T* weights, T* biases);
};

// For float and double.
template <class T>
const NormLoops<T>& norm_loops();

}  // namespace msa::cpu
