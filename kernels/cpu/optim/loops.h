// The optimizers' loops over contiguous memory, for each instruction set.
#pragma once
#include "kernels/cpu/optim/steps.h"

namespace msa::cpu {

// A parameter's elements, its gradient's and those of what its optimizer keeps (null: not kept).
template <class T>
struct OptimRows {
  T* param;
  const T* grad;
  T* states[3];
};

template <class T, class Step>
struct OptimLoop {
  void (*run)(const Step& step, const OptimRows<T>& rows, int64_t n);
};
template <class T, class... Steps>
struct OptimLoopsOf : OptimLoop<T, Steps>... {};
template <class T>
using OptimLoops = OptimLoopsOf<T, SgdStep, AdamStep, RmspropStep, AdagradStep, AdadeltaStep,
                                AdamaxStep, NadamStep, RadamStep, AsgdStep, RpropStep>;

// For float and double, and for the half types, which round to their own precision after each
// operation.
template <class T>
const OptimLoops<T>& optim_loops();

}  // namespace msa::cpu
