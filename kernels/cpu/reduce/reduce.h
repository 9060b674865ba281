// The one driver of reductions, and what an operator gives it.
#pragma once
#include "kernels/cpu/walk.h"

namespace msa::cpu {

inline constexpr int64_t kReduceBlock = 256;  // outputs whose accumulators are live at once
inline constexpr int kMaxAccumulatorBytes = 32;

// What `finish` may need to know beside the accumulators.
struct ReduceInfo {
  int64_t count;         // elements behind each output
  const Scalar* params;  // the operator's own
};

// Part of the work: `outputs` results, each from `n` elements. Element (i, j) of output i lies at
// in + i * output_step + j * step (bytes); `first` is j's position in the whole reduction.
struct Slab {
  const char* in;
  int64_t outputs, output_step, n, step, first;
};

// One reduction for one compute dtype. Accumulators are arrays of `accumulator_bytes` each.
struct Reducer {
  DType seen;       // the dtype in which slabs arrive
  DType result[2];  // what `finish` writes
  int n_results;
  size_t accumulator_bytes;
  void (*start)(void* acc, int64_t outputs, const Scalar* params);
  void (*take)(void* acc, const Slab& slab, const Scalar* params);
  void (*merge)(void* acc, const void* later, int64_t outputs, const Scalar* params);
  void (*finish)(const void* acc, int64_t outputs, char* const* out, const int64_t* out_steps,
                 const ReduceInfo& info);
};

// Reduces `input` over the dimensions `dims` (sorted). Outputs have the input's sizes without them,
// or with 1 in their place.
void reduce(const Tensor& input, DimsView dims, const Reducer& reducer,
            std::span<Tensor* const> outputs, const Scalar* params = nullptr);

// The reducers of one operator by compute dtype; null where unsupported.
struct ReducerTable {
  const Reducer* reducers[kLoopDTypes] = {};
};

}  // namespace msa::cpu
