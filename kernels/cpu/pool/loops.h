// Pooling of one plane, for each instruction set.
#pragma once
#include "kernels/cpu/pool/axes.h"

namespace msa::cpu {

template <class T>
struct PoolLoops {
  // Of one plane; `indices` are flat positions in the input's plane.
  void (*max)(const PoolShape& shape, const T* in, T* out, int64_t* indices);
  void (*average)(const PoolShape& shape, const T* in, T* out);
  void (*average_backward)(const PoolShape& shape, const T* grad, T* out);
};

// Floats, halves (not vectorized: for what rounds at each step), and the integers that PyTorch
// pools; other types have none.
template <class T>
const PoolLoops<T>& pool_loops();

}  // namespace msa::cpu
