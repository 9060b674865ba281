// Random integers: which bits give a value of each dtype, and the ranges that a dtype can hold.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype/half.h"
#include "core/random/generator.h"

namespace msa::random {

// Bits of a floating type's mantissa, the hidden one included.
template <class T>
inline constexpr int kDigits = std::numeric_limits<T>::digits;
template <>
inline constexpr int kDigits<f16> = 11;
template <>
inline constexpr int kDigits<bf16> = 8;

template <class T>
inline constexpr bool kIsFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// Ranges from here on take 64 bits, as 32 would skew `bits % range` by more than about 5 %.
inline constexpr uint64_t kWideRange = uint64_t{1} << 28;

// The largest value of random_() without bounds: the type's maximum, or 2^digits where all integers
// up to that are exact.
template <class T>
constexpr int64_t random_max() {
  if constexpr (std::is_same_v<T, bool>) {
    return 1;
  } else if constexpr (kIsFloating<T>) {
    return int64_t{1} << kDigits<T>;
  } else {
    return static_cast<int64_t>(std::numeric_limits<T>::max());
  }
}

// Integers in [base, base + range); range 0 stands for 2^64.
template <class T>
void fill_integers(Generator& gen, T* out, int64_t count, uint64_t range, int64_t base);

// random_() without bounds: [0, random_max<T>()].
template <class T>
void fill_random(Generator& gen, T* out, int64_t count);

// A random permutation of 0 .. count - 1.
template <class T>
void fill_permutation(Generator& gen, T* out, int64_t count);

}  // namespace msa::random
