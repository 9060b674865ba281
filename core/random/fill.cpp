// The fills that are worth vectorising: uniform, blocked normal and Bernoulli of one probability.
#include "core/random/fill.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/dtype/half.h"
#include "core/random/box_muller.h"
#include "core/random/distributions.h"
#include "core/random/loops.h"

namespace msa::random {
namespace {

constexpr int64_t kStep = static_cast<int64_t>(kBlock);
constexpr int64_t kChunk = 32 * kStep;

template <class T>
using Math = std::conditional_t<std::is_same_v<T, double>, double, float>;

size_t blocks_for(int64_t count) { return static_cast<size_t>((count + kStep - 1) / kStep); }

// Calls make(start, count) for stretches of at most kChunk of `total`.
template <class Make>
void in_chunks(int64_t total, Make make) {
  for (int64_t start = 0; start < total; start += kChunk) {
    make(start, std::min(kChunk, total - start));
  }
}

// Draws up to kChunk uniforms. Whole blocks are written, so `out` needs room up to the next 16th.
void draw_uniforms(Generator& gen, float* out, int64_t count, UniformRange range) {
  uint32_t bits[kChunk];
  gen.draw(bits, static_cast<size_t>(count));
  const size_t blocks = blocks_for(count);
  std::fill(bits + count, bits + blocks * kBlock, 0u);
  loops().uniform(bits, out, blocks, range);
}

void draw_unit(Generator& gen, float* out, int64_t count) {
  draw_uniforms(gen, out, count, {0.0f, 1.0f});
}
void draw_unit(Generator& gen, double* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = unit<double>(gen);
}

void normal_blocks(float* data, int64_t count, double mean, double std) {
  loops().normal(data, blocks_for(count), static_cast<float>(mean), static_cast<float>(std));
}
void normal_blocks(double* data, int64_t count, double mean, double std) {
  for (int64_t i = 0; i < count; i += kStep) box_muller_block(data + i, mean, std);
}

void narrow(const float* in, f16* out, size_t blocks) { loops().to_f16(in, out, blocks); }
void narrow(const float* in, bf16* out, size_t blocks) { loops().to_bf16(in, out, blocks); }

// Up to kChunk values, of which whole blocks are there, to half precision.
template <class T>
void store(const float* values, T* out, int64_t count) {
  T halves[kChunk];
  narrow(values, halves, blocks_for(count));
  std::copy(halves, halves + count, out);
}

void uniform_chunk(Generator& gen, float* out, int64_t count, UniformRange range) {
  const int64_t whole = count / kStep * kStep;
  draw_uniforms(gen, out, whole, range);
  float rest[kBlock];
  draw_uniforms(gen, rest, count - whole, range);
  std::copy(rest, rest + (count - whole), out + whole);
}

template <class T>
void uniform_chunk(Generator& gen, T* out, int64_t count, UniformRange range) {
  float values[kChunk];
  draw_uniforms(gen, values, count, range);
  store(values, out, count);
  const T from = static_cast<T>(range.from), to = static_cast<T>(range.to);
  for (int64_t i = 0; i < count; ++i) {
    if (out[i] == to) out[i] = from;
  }
}

}  // namespace

template <class T>
void fill_uniform(Generator& gen, T* out, int64_t count, double from, double to) {
  const UniformRange range = {static_cast<float>(from), static_cast<float>(to)};
  in_chunks(count,
            [&](int64_t start, int64_t some) { uniform_chunk(gen, out + start, some, range); });
}

template <>
void fill_uniform<double>(Generator& gen, double* out, int64_t count, double from, double to) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = std::fma(unit<double>(gen), to - from, from);
    out[i] = value == to ? from : value;
  }
}

template <class T>
void fill_normal_blocks(Generator& gen, T* out, int64_t count, double mean, double std) {
  constexpr bool kIsHalf = sizeof(T) == 2;
  Math<T> values[kChunk];
  const int64_t whole = count / kStep * kStep;
  in_chunks(whole, [&](int64_t start, int64_t some) {
    if constexpr (kIsHalf) {
      draw_unit(gen, values, some);
      normal_blocks(values, some, mean, std);
      store(values, out + start, some);
    } else {
      draw_unit(gen, out + start, some);
      normal_blocks(out + start, some, mean, std);
    }
  });
  if (whole == count) return;
  // PyTorch draws an incomplete last block, then draws the last 16 values anew; in half precision
  // it leaves out the first step.
  if constexpr (!kIsHalf) draw_unit(gen, values, count - whole);
  draw_unit(gen, values, kStep);
  normal_blocks(values, kStep, mean, std);
  T* last = out + count - kStep;
  for (int64_t i = 0; i < kStep; ++i) last[i] = static_cast<T>(values[i]);
}

template <class T>
void fill_bernoulli(Generator& gen, T* out, int64_t count, double p) {
  // A 53-bit integer times 2^-53 is below p just when the integer is below this; both are exact.
  const uint64_t limit = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  uint32_t bits[2 * kChunk];
  uint8_t hits[kChunk];
  in_chunks(count, [&](int64_t start, int64_t some) {
    const size_t blocks = blocks_for(some);
    gen.draw(bits, static_cast<size_t>(2 * some));
    std::fill(bits + 2 * some, bits + 2 * blocks * kBlock, 0u);
    loops().below(bits, hits, blocks, limit);
    for (int64_t i = 0; i < some; ++i) out[start + i] = static_cast<T>(hits[i]);
  });
}

#define MSA_INSTANTIATE(T)                                                \
  template void fill_uniform<T>(Generator&, T*, int64_t, double, double); \
  template void fill_normal_blocks<T>(Generator&, T*, int64_t, double, double);
MSA_INSTANTIATE(f16)
MSA_INSTANTIATE(bf16)
MSA_INSTANTIATE(float)
MSA_INSTANTIATE(double)
#undef MSA_INSTANTIATE

#define MSA_INSTANTIATE(T) template void fill_bernoulli<T>(Generator&, T*, int64_t, double);
MSA_INSTANTIATE(bool)
MSA_INSTANTIATE(uint8_t)
MSA_INSTANTIATE(int8_t)
MSA_INSTANTIATE(int16_t)
MSA_INSTANTIATE(int32_t)
MSA_INSTANTIATE(int64_t)
MSA_INSTANTIATE(f16)
MSA_INSTANTIATE(bf16)
MSA_INSTANTIATE(float)
MSA_INSTANTIATE(double)
#undef MSA_INSTANTIATE

}  // namespace msa::random
