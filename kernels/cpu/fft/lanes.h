// Fourier transforms of several lines at once, one in each lane of the vectors: what lanes.cpp
// compiles for each instruction set.
#pragma once
#include <cstdint>

namespace msa::cpu::fft {

// Lines side by side in a bundle: element i has their real parts at bundle[i * 2 * kLines], then
// their imaginary parts.
constexpr int kLines = 8;

// One pass of a transform (Stockham's, which needs no reordering): butterflies of `radix` elements,
// then turns by exp(2 pi i p k / length), of which (cosine, sine) for k = 1 .. radix - 1 and p = 0,
// 1 ... lie in `turns`. Radices beyond 7 need the (cosine, sine) of 2 pi j / radix in `roots` too.
struct LanePass {
  int radix;
  int64_t butterflies, stride;
  const double *turns, *roots;
};
constexpr int kLargestRadix = 59;

// Transforms a bundle with the sign of the exponent; the result lies in `bundle` or in `room`.
using TransformLanes = const double* (*)(const LanePass* passes, int count, double sign,
                                         double* bundle, double* room);
extern const TransformLanes transform_lanes;

}  // namespace msa::cpu::fft
