// float16 and bfloat16 as storage types: kernels convert blocks to float and compute there.
#pragma once
#include <bit>
#include <cstdint>

namespace msa {

struct f16 {
  uint16_t bits = 0;
  f16() = default;
  f16(float v);
  operator float() const;
};

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  bf16(float v) {
    uint32_t u = std::bit_cast<uint32_t>(v);
    bits = (u & 0x7fffffffu) > 0x7f800000u
               ? 0x7fc0  // NaN stays NaN
               : static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

inline f16::operator float() const {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x400u)  // subnormal: exact in float
    return std::bit_cast<float>(sign |
                                std::bit_cast<uint32_t>(static_cast<float>(rest) * 0x1p-24f));
  return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
}

inline f16::f16(float v) {
  uint32_t u = std::bit_cast<uint32_t>(v), sign = u >> 16 & 0x8000u, rest = u & 0x7fffffffu;
  uint32_t out;
  if (rest > 0x7f800000u) {
    out = 0x7e00u;
  } else if (rest >= 0x477ff000u) {  // rounds to 65536 or more: infinity
    out = 0x7c00u;
  } else if (rest >= 0x38800000u) {  // normal: round the low 13 bits to nearest even
    out = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
  } else {  // subnormal: adding 0.5 lets the float adder round at 2^-24
    out = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  }
  bits = static_cast<uint16_t>(sign | out);
}

}  // namespace msa
