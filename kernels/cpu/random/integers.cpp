// random_ in its three forms, on which randint rests, and randperm.
#include "core/random/integers.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/warn.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"
#include "kernels/cpu/random/limits.h"

namespace msa::kernels {
namespace {

using cpu::Drawing;
using cpu::Target;
using random::kDigits;
using random::kIsFloating;

// As the processor converts: what no int64 holds becomes the smallest one.
int64_t to_int64(double value) {
  constexpr double kEnd = 0x1p63;
  return value >= -kEnd && value < kEnd ? static_cast<int64_t>(value)
                                        : std::numeric_limits<int64_t>::min();
}

// The distance between neighbouring numbers of type T around `value`.
template <class T>
int64_t spacing(int64_t value) {
  const int exponent = std::bit_width(static_cast<uint64_t>(std::abs(value))) - 1;
  return int64_t{1} << (exponent - kDigits<T> + 1);
}

// Converting to a floating type rounds, which could carry a value across the range's end: `from`
// moves up and `to` down to the next number that conversion leaves inside.
template <class T>
int64_t round_from(int64_t from) {
  const int64_t after = to_int64(static_cast<T>(from + 1));
  return after < from ? after + spacing<T>(from + 1) : from;
}
template <class T>
int64_t round_to(int64_t to) {
  const int64_t before = to_int64(static_cast<T>(to - 1));
  return before >= to ? before - spacing<T>(to - 1) : to;
}

template <class T>
void check_bound(const char* name, int64_t value, DType dtype) {
  if constexpr (kIsFloating<T>) {
    MSA_REQUIRE(std::abs(static_cast<double>(value)) <= cpu::kLargest<T>, Runtime,
                "random_: ", name, " = ", value, " is out of bounds for ", dtype, ".");
    constexpr int64_t kExact = int64_t{1} << kDigits<T>;
    if (value < -kExact || value > kExact) {
      warn("random_: ", name, " = ", value, " is out of bounds [-(2^", kDigits<T>, "), 2^",
           kDigits<T>, "], within which ", dtype,
           " holds every integer; the distribution has gaps.");
    }
  } else {
    constexpr int64_t kLow =
        std::is_unsigned_v<T> ? 0 : static_cast<int64_t>(std::numeric_limits<T>::min());
    constexpr int64_t kHigh = sizeof(T) == 8 ? std::numeric_limits<int64_t>::max()
                                             : static_cast<int64_t>(std::numeric_limits<T>::max());
    MSA_REQUIRE(value >= kLow && value <= kHigh, Runtime, "random_: ", name, " = ", value,
                " is out of bounds for ", dtype, ", which holds ", kLow, " to ", kHigh, ".");
  }
}

// `range` values from `from` on; 0 stands for all 2^64.
template <class T>
void draw_range(const Tensor& input, int64_t from, uint64_t range, OptGenerator generator) {
  if (input.numel() == 0) return;
  const Target out("random_", input);
  Drawing drawing(generator, out.numel);
  cpu::fill_rows<T>(out, [&](T* run, int64_t count) {
    random::fill_integers(drawing.gen, run, count, range, from);
  });
}

// [from, last], both included.
template <class T>
void draw_between(const Tensor& input, int64_t from, int64_t last, OptGenerator generator) {
  check_bound<T>("from", from, input.dtype());
  check_bound<T>("to - 1", last, input.dtype());
  draw_range<T>(input, from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1,
                generator);
}

template <class T>
void draw_from_to(const Tensor& input, int64_t from, int64_t to, OptGenerator generator) {
  MSA_REQUIRE(from < to, Runtime,
              "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to,
              ".");
  if constexpr (kIsFloating<T>) {
    from = round_from<T>(from);
    to = round_to<T>(to);
    MSA_REQUIRE(from < to, Runtime, "random_: no ", input.dtype(), " lies between from=", from,
                " and to=", to, ".");
  }
  draw_between<T>(input, from, to - 1, generator);
}

template <class T>
void draw_from(const Tensor& input, int64_t from, OptGenerator generator) {
  if (from == std::numeric_limits<int64_t>::min()) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                  std::is_same_v<T, float> || std::is_same_v<T, bf16>) {
      return draw_range<T>(input, from, 0, generator);
    }
    cpu::no_dtype("random_ over all 64-bit integers", input.dtype(),
                  "int64, float64, float32 or bfloat16");
  }
  if constexpr (kIsFloating<T>) {
    MSA_REQUIRE(from < random::random_max<T>(), Runtime, "random_: from=", from, " is not below 2^",
                kDigits<T>, ", the largest that ", input.dtype(), " reaches.");
    from = round_from<T>(from);
  }
  draw_between<T>(input, from, random::random_max<T>(), generator);
}

}  // namespace

void random_(Tensor& input, OptGenerator generator) {
  if (input.numel() == 0) return;
  cpu::for_common_and_bool("random_", input.dtype(), [&]<class T> {
    const Target out("random_", input);
    Drawing drawing(generator, out.numel);
    cpu::fill_rows<T>(out,
                      [&](T* run, int64_t count) { random::fill_random(drawing.gen, run, count); });
  });
}

void random_from_(Tensor& input, int64_t from, OptInt to, OptGenerator generator) {
  cpu::for_real("random_", input.dtype(), [&]<class T> {
    if (to) {
      draw_from_to<T>(input, from, *to, generator);
    } else {
      draw_from<T>(input, from, generator);
    }
  });
}

void random_to_(Tensor& input, int64_t to, OptGenerator generator) {
  random_from_(input, 0, to, generator);
}

void randperm(int64_t n, OptGenerator generator, OptDType, OptDevice, Tensor& result) {
  cpu::for_common("randperm", result.dtype(), [&]<class T> {
    const double largest = 1 + (kIsFloating<T> ? std::ldexp(1.0, kDigits<T>) : cpu::kLargest<T>);
    MSA_REQUIRE(static_cast<double>(n) <= largest, Runtime, "randperm: n = ", n,
                " cannot be greater than ", largest, " for ", result.dtype(), ".");
    const Target out("randperm", result);
    Drawing drawing(generator, n);
    if (out.contiguous) return random::fill_permutation(drawing.gen, static_cast<T*>(out.data), n);
    std::vector<T> shuffled(static_cast<size_t>(n));
    random::fill_permutation(drawing.gen, shuffled.data(), n);
    cpu::fill_each<T>(out, [next = shuffled.data()]() mutable { return *next++; });
  });
}

}  // namespace msa::kernels
