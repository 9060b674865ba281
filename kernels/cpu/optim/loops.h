// The optimizers' loops over contiguous memory, for each instruction set.
#pragma once
#include "kernels/cpu/optim/steps.h"

namespace msa::cpu {

template <class T>
struct OptimLoops {
  void (*sgd)(const SgdStep& step, T* param, const T* grad, T* buffer, int64_t n);
  void (*adam)(const AdamStep& step, T* param, const T* grad, T* average, T* square, T* largest,
               int64_t n);
};

// For float and double, and for the half types, which round to their own precision after each
// operation.
template <class T>
const OptimLoops<T>& optim_loops();

}  // namespace msa::cpu
