// The eight-bit floats as storage types: all that is computed with them is computed in float.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace msa {

// How a format spends the codes at the end of its range.
enum class Float8Ends : uint8_t {
  Ieee,          // the largest exponent holds infinities and NaN
  Finite,        // no infinities, one NaN; what is beyond the range becomes the largest number
  UnsignedZero,  // no infinities: what would be the negative zero is the one NaN
};

template <int kExponentBits, int kBias, Float8Ends kEnds>
struct float8 {
  static constexpr int kMantissaBits = 7 - kExponentBits;
  static constexpr uint8_t kInfinity = 0x7f & ~((1 << kMantissaBits) - 1);  // Ieee only
  static constexpr uint8_t kNan = kEnds == Float8Ends::UnsignedZero ? 0x80 : 0x7f;
  static constexpr bool kHasInfinity = kEnds == Float8Ends::Ieee;
  static constexpr uint8_t kLargest = kHasInfinity                  ? kInfinity - 1
                                      : kEnds == Float8Ends::Finite ? kNan - 1
                                                                    : 0x7f;
  static constexpr uint8_t kBeyond = kHasInfinity                  ? kInfinity
                                     : kEnds == Float8Ends::Finite ? kLargest
                                                                   : kNan;

  uint8_t bits = 0;
  float8() = default;
  float8(float v);
  operator float() const;
};

// A scale: a power of two with its exponent biased by 127, no sign, and one NaN.
struct f8_e8m0fnu {
  static constexpr bool kHasInfinity = false;

  uint8_t bits = 0;
  f8_e8m0fnu() = default;
  f8_e8m0fnu(float v);
  operator float() const {
    if (bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : static_cast<uint32_t>(bits) << 23);
  }
};

using f8_e4m3fn = float8<4, 7, Float8Ends::Finite>;
using f8_e4m3fnuz = float8<4, 8, Float8Ends::UnsignedZero>;
using f8_e5m2 = float8<5, 15, Float8Ends::Ieee>;
using f8_e5m2fnuz = float8<5, 16, Float8Ends::UnsignedZero>;

template <int E, int B, Float8Ends kEnds>
float8<E, B, kEnds>::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24, rest = bits & 0x7fu;
  const bool nan = kEnds == Float8Ends::UnsignedZero ? bits == kNan
                   : kEnds == Float8Ends::Finite     ? rest == kNan
                                                     : rest > kInfinity;
  if (nan) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (kHasInfinity && rest == kInfinity) return std::bit_cast<float>(sign | 0x7f800000u);
  if (rest >> kMantissaBits == 0) {  // subnormal: exact in float
    constexpr float step =
        std::bit_cast<float>(static_cast<uint32_t>(128 - B - kMantissaBits) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(rest) * step));
  }
  return std::bit_cast<float>(
      sign | ((rest << (23 - kMantissaBits)) + (static_cast<uint32_t>(127 - B) << 23)));
}

// Rounds to nearest even.
template <int E, int B, Float8Ends kEnds>
float8<E, B, kEnds>::float8(float v) {
  constexpr int drop = 23 - kMantissaBits;
  constexpr uint32_t smallest_normal = static_cast<uint32_t>(128 - B) << 23;
  constexpr uint32_t past_all =  // the first power of two without a code
      static_cast<uint32_t>(127 + (1 << E) - B - (kHasInfinity ? 1 : 0)) << 23;
  const uint32_t u = std::bit_cast<uint32_t>(v), rest = u & 0x7fffffffu;
  const auto sign = static_cast<uint8_t>(u >> 24 & 0x80u);
  uint32_t code;
  if (rest >= past_all) {
    code = rest > 0x7f800000u ? kNan : kBeyond;
  } else if (rest < smallest_normal) {  // adding the last place's power lets the float adder round
    constexpr uint32_t place = static_cast<uint32_t>(128 - B + drop) << 23;
    code =
        std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + std::bit_cast<float>(place)) - place;
  } else {
    code = (rest - (static_cast<uint32_t>(127 - B) << 23) + (1u << (drop - 1)) - 1 +
            (rest >> drop & 1u)) >>
           drop;
    if (kEnds == Float8Ends::Finite && code >= kNan) code = kBeyond;
  }
  const bool signless = kEnds == Float8Ends::UnsignedZero && code == 0;
  bits = signless ? 0 : static_cast<uint8_t>(code | sign);
}

// To the nearest power of two by the mantissa, halves up; the sign is dropped.
inline f8_e8m0fnu::f8_e8m0fnu(float v) {
  const uint32_t u = std::bit_cast<uint32_t>(v), exponent = u >> 23 & 0xffu, rest = u & 0x7fffffu;
  const bool up = exponent == 0 ? rest > 0x400000u : rest >= 0x400000u;
  bits = static_cast<uint8_t>(exponent == 0xff ? 0xff : exponent + (up ? 1 : 0));
}

}  // namespace msa
