// The inner loops of comparing, for each instruction set: conversion to double, figures, ULPs.
#ifndef MSA_ISA
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/compare/compare.h"

#define MSA_KERNEL_FILE "core/compare/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::compare {
const Loops& loops() {
#ifdef __x86_64__
  static const Loops& chosen = *cpu::choose(&cpu::base::compare_loops, &cpu::avx2::compare_loops,
                                            &cpu::avx512::compare_loops);
#else
  static const Loops& chosen = cpu::base::compare_loops;
#endif
  return chosen;
}

namespace {
template <class T>
const double* values_of_bytes() {
  static const auto table = [] {
    std::array<double, 256> made{};
    for (int i = 0; i < 256; ++i)
      made[static_cast<size_t>(i)] = static_cast<float>(std::bit_cast<T>(static_cast<uint8_t>(i)));
    return made;
  }();
  return table.data();
}
}  // namespace

const double* float8_values(DType t) {
  switch (t) {
    case DType::F8E4M3FN:
      return values_of_bytes<f8_e4m3fn>();
    case DType::F8E4M3FNUZ:
      return values_of_bytes<f8_e4m3fnuz>();
    case DType::F8E5M2:
      return values_of_bytes<f8_e5m2>();
    case DType::F8E5M2FNUZ:
      return values_of_bytes<f8_e5m2fnuz>();
    default:
      return values_of_bytes<f8_e8m0fnu>();
  }
}
}  // namespace msa::compare
#else

namespace {

using compare::Figures;
using compare::Tolerance;

#include "core/compare/doubles.inl"

// Sums of one block in lanes, so that no sum waits for another.
struct Lanes {
  Mask near{}, equal{}, nan_a{}, nan_b{}, inf_a{}, inf_b{};
  Doubles max_abs{}, sum_abs{}, max_rel{}, sum_rel{}, dot{}, norm_a{}, norm_b{}, farthest{};
};

inline void take(Lanes& s, Doubles a, Doubles b, const Tolerance& near) {
  const Doubles zero{}, infinity = zero + __builtin_inf();
  const Mask nan_a = a != a, nan_b = b != b, any_nan = nan_a | nan_b, both_nan = nan_a & nan_b;
  const Mask equal = a == b;
  const Doubles size_a = magnitude(a), size_b = magnitude(b);
  const Doubles distance = (equal | any_nan) ? zero : magnitude(b - a);
  const Mask apart = distance != zero;
  const Mask endless = distance == infinity;
  Doubles relative = distance / larger(size_a, size_b);
  relative = endless ? zero + 1 : relative;
  relative = apart ? relative : zero;
  const Mask finite = (size_a < infinity) & (size_b < infinity);  // false for NaN too
  const Doubles finite_a = finite ? a : zero, finite_b = finite ? b : zero;
  const Mask close = (distance <= near.absolute + near.relative * size_a) & ~endless & ~any_nan;
  const Mask wanted_nan = near.equal_nan ? both_nan : Mask{};
  s.near += equal | close | wanted_nan;
  s.equal += equal | wanted_nan;
  s.nan_a += nan_a;
  s.nan_b += nan_b;
  s.inf_a += size_a == infinity;
  s.inf_b += size_b == infinity;
  s.max_abs = larger(s.max_abs, distance);
  s.sum_abs += distance;
  s.max_rel = larger(s.max_rel, relative);
  s.sum_rel += relative;
  s.dot += finite_a * finite_b;
  s.norm_a += finite_a * finite_a;
  s.norm_b += finite_b * finite_b;
  s.farthest = larger(s.farthest, (any_nan & ~wanted_nan) ? infinity : distance);
}

// Finds the first pair of the block that is as far apart as the block's farthest.
void find_worst(const double* a, const double* b, int64_t n, int64_t first, const Tolerance& near,
                double farthest, Figures& f) {
  for (int64_t i = 0; i < n; ++i) {
    const bool nan = a[i] != a[i] || b[i] != b[i];
    const bool wanted = near.equal_nan && a[i] != a[i] && b[i] != b[i];
    const double distance = a[i] == b[i] || wanted ? 0
                            : nan                  ? __builtin_inf()
                                                   : __builtin_fabs(b[i] - a[i]);
    if (distance < farthest) continue;
    f.worst = first + i;
    f.worst_distance = distance;
    f.worst_a = a[i];
    f.worst_b = b[i];
    return;
  }
}

void block(const double* a, const double* b, int64_t n, int64_t first, const Tolerance& near,
           Figures& f) {
  Lanes s;
  int64_t i = 0;
  for (; i + kDoubles <= n; i += kDoubles) take(s, load(a + i), load(b + i), near);
  int64_t padding = 0;
  if (i < n) {  // the last lanes: equal zeros beyond the end
    double tail_a[kDoubles] = {}, tail_b[kDoubles] = {};
    __builtin_memcpy(tail_a, a + i, static_cast<size_t>(n - i) * sizeof(double));
    __builtin_memcpy(tail_b, b + i, static_cast<size_t>(n - i) * sizeof(double));
    padding = kDoubles - (n - i);
    take(s, load(tail_a), load(tail_b), near);
  }
  f.count += n;
  f.near += count_of(s.near) - padding;
  f.equal += count_of(s.equal) - padding;
  f.nan_a += count_of(s.nan_a);
  f.nan_b += count_of(s.nan_b);
  f.inf_a += count_of(s.inf_a);
  f.inf_b += count_of(s.inf_b);
  f.max_abs = f.max_abs < max_of(s.max_abs) ? max_of(s.max_abs) : f.max_abs;
  f.sum_abs += sum_of(s.sum_abs);
  f.max_rel = f.max_rel < max_of(s.max_rel) ? max_of(s.max_rel) : f.max_rel;
  f.sum_rel += sum_of(s.sum_rel);
  f.dot += sum_of(s.dot);
  f.norm_a += sum_of(s.norm_a);
  f.norm_b += sum_of(s.norm_b);
  const double farthest = max_of(s.farthest);
  if (farthest > f.worst_distance || f.worst < 0) find_worst(a, b, n, first, near, farthest, f);
}

template <class Bits>
constexpr Bits kMagnitude = static_cast<Bits>(~(uint64_t{1} << (sizeof(Bits) * 8 - 1)));

// Floating-point numbers in their order: as many apart as there are numbers between them.
template <class Bits>
inline int64_t place(Bits bits) {
  const int64_t size = bits & kMagnitude<Bits>;
  return bits < 0 ? -size : size;
}

template <class Bits, Bits Infinity>
void ulps(const void* a, const void* b, int64_t n, Figures& f) {
  const Bits* x = static_cast<const Bits*>(a);
  const Bits* y = static_cast<const Bits*>(b);
  uint64_t most = 0;
  double sum = 0;
  for (int64_t at = 0; at < n; at += 256) {  // sums of a few fit in 64 bits for the narrow types
    const int64_t end = at + 256 < n ? at + 256 : n;
    uint64_t whole = 0;
    for (int64_t i = at; i < end; ++i) {
      const int64_t p = place(x[i]), q = place(y[i]);
      const bool nan = (x[i] & kMagnitude<Bits>) > Infinity || (y[i] & kMagnitude<Bits>) > Infinity;
      const uint64_t up = static_cast<uint64_t>(p) - static_cast<uint64_t>(q);
      const uint64_t apart = nan ? 0 : p > q ? up : 0 - up;
      most = most > apart ? most : apart;
      if constexpr (sizeof(Bits) == 8)
        sum += static_cast<double>(apart);
      else
        whole += apart;
    }
    sum += static_cast<double>(whole);
  }
  f.max_ulp = f.max_ulp > most ? f.max_ulp : most;
  f.sum_ulp += sum;
}

template <class T>
void convert(const void* from, double* to, int64_t n) {
  const char* at = static_cast<const char*>(from);
  for (int64_t i = 0; i < n; ++i) {
    T v;
    __builtin_memcpy(&v, at + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    to[i] = static_cast<double>(v);
  }
}
void convert_bool(const void* from, double* to, int64_t n) {
  const auto* at = static_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = at[i] != 0;
}
void convert_f16(const void* from, double* to, int64_t n) {
  const auto* at = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t sign = static_cast<uint32_t>(at[i] & 0x8000u) << 16, rest = at[i] & 0x7fffu;
    const float small = static_cast<float>(rest) * 0x1p-24f;  // subnormal: exact
    uint32_t bits = (rest << 13) + 0x38000000u;
    bits = rest >= 0x7c00u ? 0x7f800000u | (rest & 0x3ffu) << 13 : bits;
    float normal;
    __builtin_memcpy(&normal, &bits, sizeof normal);
    const double size = rest < 0x400u ? small : normal;
    to[i] = sign ? -size : size;
  }
}
void convert_bf16(const void* from, double* to, int64_t n) {
  const auto* at = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(at[i]) << 16;
    float v;
    __builtin_memcpy(&v, &bits, sizeof v);
    to[i] = v;
  }
}

template <DType kType>
void convert_f8(const void* from, double* to, int64_t n) {
  const auto* at = static_cast<const uint8_t*>(from);
  const double* values = compare::float8_values(kType);
  for (int64_t i = 0; i < n; ++i) to[i] = values[at[i]];
}

}  // namespace

extern const compare::Loops compare_loops;
// clang-format off
const compare::Loops compare_loops = {
    block,
    {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
     ulps<int16_t, 0x7c00>, ulps<int16_t, 0x7f80>, ulps<int32_t, 0x7f800000>,
     ulps<int64_t, 0x7ff0000000000000>, ulps<int32_t, 0x7f800000>,
     ulps<int64_t, 0x7ff0000000000000>, ulps<int16_t, 0x7c00>, ulps<int8_t, 0x7e>, nullptr,
     ulps<int8_t, 0x7c>, nullptr, nullptr},
    {convert_bool, convert<uint8_t>, convert<int8_t>, convert<uint16_t>, convert<int16_t>,
     convert<uint32_t>, convert<int32_t>, convert<uint64_t>, convert<int64_t>, convert_f16,
     convert_bf16, convert<float>, convert<double>, convert<float>, convert<double>, convert_f16,
     convert_f8<DType::F8E4M3FN>, convert_f8<DType::F8E4M3FNUZ>, convert_f8<DType::F8E5M2>,
     convert_f8<DType::F8E5M2FNUZ>, convert_f8<DType::F8E8M0FNU>}};
// clang-format on

#endif
