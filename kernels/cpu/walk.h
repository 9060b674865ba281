// The one walker: turns operands of any shape and dtype into calls of a regular two-dimensional
// loop.
#pragma once
#include "core/base/small_vec.h"
#include "core/dispatch/elementwise.h"

namespace msa::cpu {

inline constexpr int kMaxOperands = 8;

// One operand as the walker sees it. `strides` are in elements, one for each size; 0 repeats.
struct Operand {
  void* data;
  DType dtype;
  const int64_t* strides;
};

// Runs `loop` over every element of `sizes`; operands[0] is the output. The loop sees operand i as
// dtype `seen[i]`: operands that hold another one are converted in blocks. Dimensions are reordered
// and collapsed, operands whose strides disagree are walked in tiles, long work is split over
// threads with the core lock released. Outputs must not overlap inputs except exactly.
void walk(DimsView sizes, std::span<const Operand> operands, Loop loop, const DType* seen,
          const Scalar* params = nullptr);

// The same for elementwise rows: inputs are seen as `compute`, the output as `result`.
void walk(DimsView sizes, std::span<const Operand> operands, Loop loop, DType compute, DType result,
          const Scalar* params = nullptr);

// The short way when nothing needs converting and each operand is one run of memory: `steps` holds
// the bytes from one element to the next (0 for a single value that is repeated).
void walk_flat(char* const* data, const int64_t* steps, int n_operands, int64_t numel, Loop loop,
               const Scalar* params = nullptr);

// The loop that serves `compute`, null if none does. Reduced types are served by the loop of the
// type that they compute in, which `compute` then becomes.
inline Loop find_loop(const LoopTable& table, DType& compute) {
  Loop loop = table.of(compute);
  if (!loop && is_reduced(compute)) {
    compute = opmath(compute);
    loop = table.of(compute);
  }
  return loop;
}

// Copies `src` to `dst` elementwise, converting; both have `sizes`.
void copy_elements(DimsView sizes, const Operand& dst, const Operand& src);

}  // namespace msa::cpu
