// Softmax, its logarithm and their gradients over (outer, n, inner) blocks; compiled for each
// instruction set in loops.cpp.
#pragma once
#include <cstdint>

namespace msa::cpu {

// `outer` blocks of n values `inner` apart; with inner == 1 the values lie side by side. Of wider
// ones columns [first_column, last_column) are worked on.
template <class T>
struct SoftmaxBlocks {
  int64_t outer, n, inner;
  const T* first;   // input, or the output's gradient
  const T* second;  // the output, for gradients
  T* out;
  // What a row's sum and its logarithm, and the exponentials of columns behind the last whole
  // vector, are rounded to on the way; null: nothing.
  T (*rounded)(T) = nullptr;
  int64_t first_column = 0, last_column = 1;
};

template <class T>
struct SoftmaxLoops {
  using Loop = void (*)(const SoftmaxBlocks<T>&);
  Loop softmax, log_softmax, softmax_backward, log_softmax_backward;
};
extern const SoftmaxLoops<float>* const softmax_loops_f32;
extern const SoftmaxLoops<double>* const softmax_loops_f64;

template <class T>
const SoftmaxLoops<T>& softmax_loops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *softmax_loops_f32;
  } else {
    return *softmax_loops_f64;
  }
}

}  // namespace msa::cpu
