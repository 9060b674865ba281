// The vectorisable steps of the fills, compiled once per instruction set and chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype/half.h"

namespace msa::random {

inline constexpr size_t kBlock =
    16;  // values per block: Box-Muller makes 16 normals of 16 uniforms

struct UniformRange {
  float from, to;
};

// Counts are in blocks, so that every inner loop has a fixed length.
struct Loops {
  // The Mersenne Twister's state of 624 words -> its next state; a state -> the block of outputs.
  void (*next_block)(uint32_t* state);
  void (*temper)(const uint32_t* state, uint32_t* out);
  // bits -> uniform in [from, to), one word each. Where rounding reaches `to`, the value is `from`.
  void (*uniform)(const uint32_t* bits, float* out, size_t blocks, UniformRange range);
  // Uniforms in [0, 1) -> normals, in place: the first half of a block gives radii, the second
  // angles.
  void (*normal)(float* data, size_t blocks, float mean, float std);
  // Pairs of words -> 1 where the 53-bit integer they make is below `limit`.
  void (*below)(const uint32_t* bits, uint8_t* out, size_t blocks, uint64_t limit);
  void (*to_f16)(const float* in, f16* out, size_t blocks);
  void (*to_bf16)(const float* in, bf16* out, size_t blocks);
};

// For this processor.
const Loops& loops();

extern const Loops baseline_loops;
#if defined(__x86_64__)
extern const Loops avx2_loops;
#endif

}  // namespace msa::random
