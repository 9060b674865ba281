// The loops for processors about which nothing is assumed, and the choice among all builds.
#include "core/random/box_muller.h"
#include "core/random/loops.h"

namespace msa::random {
namespace {

constexpr int kLanes = 4;
#include "core/random/loops.inc"

void normal(float* data, size_t blocks, float mean, float std) {
  for (size_t b = 0; b < blocks; ++b) box_muller_block(data + b * kBlock, mean, std);
}

void to_f16(const float* in, f16* out, size_t blocks) {
  for (size_t i = 0; i < blocks * kBlock; ++i) out[i] = f16(in[i]);
}

const Loops& choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    return avx2_loops;
  }
#endif
  return baseline_loops;
}

}  // namespace

const Loops baseline_loops = {next_block, temper, uniform, normal, below, to_f16, to_bf16};

const Loops& loops() {
  static const Loops& chosen = choose();
  return chosen;
}

}  // namespace msa::random
