// One pass of an interpolation of bytes: sums of a few neighbours in integers.
#ifndef MSA_ISA
#include "core/base/lock.h"
#include "generated/kernels_layer.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
// Dense (outer, in, inner) bytes to (outer, out, inner).
struct ByteMix {
  int64_t in, out, inner, width;
  const int64_t* first;
  const int16_t* weight;
  int precision;
};
using ByteMixLoop = void (*)(const ByteMix& mix, const uint8_t* from, uint8_t* to);
}  // namespace msa::cpu

#define MSA_KERNEL_FILE "kernels/cpu/resize_bytes.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
namespace {
const ByteMixLoop mix_loop = MSA_CHOOSE(mix_bytes);
}
}  // namespace msa::cpu

namespace msa::kernels {

void _mix_bytes(const Tensor& input, int64_t dim, const Tensor& first, const Tensor& weight,
                int64_t precision, Tensor& out0) {
  const Tensor in = cpu::contiguous(input);
  cpu::fill_contiguous(out0, DType::U8, [&](const Tensor& out) {
    cpu::ByteMix mix{in.size(dim),
                     out.size(dim),
                     1,
                     weight.size(1),
                     first.data<int64_t>(),
                     weight.data<int16_t>(),
                     static_cast<int>(precision)};
    int64_t outer = 1;
    for (int64_t d = 0; d < in.dim(); ++d) {
      if (d < dim) outer *= in.size(d);
      if (d > dim) mix.inner *= in.size(d);
    }
    const int64_t work = mix.out * mix.inner * mix.width;
    const Unlocked unlocked(outer * work >= cpu::kGrain);
    cpu::parallel(
        outer, std::max<int64_t>(1, cpu::kGrain / (work + 1)),
        [&, from = in.data<uint8_t>(), to = out.data<uint8_t>()](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o)
            cpu::mix_loop(mix, from + o * mix.in * mix.inner, to + o * mix.out * mix.inner);
        });
  });
}

}  // namespace msa::kernels
#else

constexpr int64_t kSums = 512;  // sums that stay in the cache

inline uint8_t byte_of(int32_t sum, int precision) {
  const int32_t v = sum >> precision;
  return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

// Neighbours lie side by side.
inline void mix_row(const ByteMix& mix, const uint8_t* from, uint8_t* to) {
  const int32_t half = 1 << (mix.precision - 1);
  for (int64_t i = 0; i < mix.out; ++i) {
    const uint8_t* in = from + mix.first[i];
    const int16_t* weight = mix.weight + i * mix.width;
    int32_t sum = half;
    for (int64_t j = 0; j < mix.width; ++j) sum += weight[j] * in[j];
    to[i] = byte_of(sum, mix.precision);
  }
}

// Neighbours lie whole rows apart: many sums at once.
inline void mix_rows(const ByteMix& mix, const uint8_t* from, uint8_t* to) {
  const int32_t half = 1 << (mix.precision - 1);
  int32_t sums[kSums];
  for (int64_t i = 0; i < mix.out; ++i)
    for (int64_t start = 0; start < mix.inner; start += kSums) {
      const int64_t n = mix.inner - start < kSums ? mix.inner - start : kSums;
      for (int64_t k = 0; k < n; ++k) sums[k] = half;
      for (int64_t j = 0; j < mix.width; ++j) {
        const int32_t weight = mix.weight[i * mix.width + j];
        const uint8_t* in = from + (mix.first[i] + j) * mix.inner + start;
        for (int64_t k = 0; k < n; ++k) sums[k] += weight * in[k];
      }
      uint8_t* out = to + i * mix.inner + start;
      for (int64_t k = 0; k < n; ++k) out[k] = byte_of(sums[k], mix.precision);
    }
}

void mix_bytes(const ByteMix& mix, const uint8_t* from, uint8_t* to) {
  mix.inner == 1 ? mix_row(mix, from, to) : mix_rows(mix, from, to);
}
#endif
