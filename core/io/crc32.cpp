// CRC-32: carry-less multiplication folds 64 or 256 bytes at a time where the processor has it,
// tables do the rest.
#include "core/io/crc32.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace msa::io {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // of IEEE 802.3, lowest bit first
constexpr int kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// [0][b] is the checksum of the byte b, [k][b] that of b and k zero bytes behind it.
constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? kPolynomial : 0);
    t[0][b] = c;
  }
  for (int k = 1; k < kSlices; ++k)
    for (uint32_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 255];
  return t;
}
constexpr Tables kTables = make_tables();

// The product of two polynomials modulo the checksum's; the highest bit is x^0.
constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
    if (a & bit) sum ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return sum;
}

constexpr uint32_t power_of_x(uint64_t exponent) {
  uint32_t power = 1u << 31, square = 1u << 30;  // x^0 and x^1
  for (; exponent; exponent >>= 1, square = product(square, square))
    if (exponent & 1) power = product(power, square);
  return power;
}

// Works on the state, which is the checksum's complement.
uint32_t by_tables(uint32_t state, const unsigned char* p, size_t bytes) {
  for (; bytes >= 8; p += 8, bytes -= 8) {
    uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + 4, 4);
    low ^= state;
    state = 0;
    for (int i = 0; i < 4; ++i) {
      state ^= kTables[7 - i][low >> (8 * i) & 255];
      state ^= kTables[3 - i][high >> (8 * i) & 255];
    }
  }
  for (; bytes; ++p, --bytes) state = (state >> 8) ^ kTables[0][(state ^ *p) & 255];
  return state;
}

#if defined(__x86_64__)
constexpr size_t kFoldBytes = 64, kWideFoldBytes = 256;

// What moves 128 bits ahead by so many, as two factors of 64 bits each: for their high half in
// [0], for their low half in [1]. The shift is that of products of reflected polynomials.
struct Powers {
  int64_t of[2];
};
constexpr Powers powers(int bits) {
  return {int64_t{power_of_x(bits - 32)} << 1, int64_t{power_of_x(bits + 32)} << 1};
}
constexpr Powers k128 = powers(128), k512 = powers(512), k2048 = powers(2048);

[[gnu::target("pclmul,sse4.1")]] inline __m128i ahead(__m128i x, __m128i powers) {
  return _mm_xor_si128(_mm_clmulepi64_si128(x, powers, 0x00),
                       _mm_clmulepi64_si128(x, powers, 0x11));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i load(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// At least 64 bytes: four lanes of 16 are folded into the next 64 bytes again and again, then into
// one, whose remainder is that of all.
[[gnu::target("pclmul,sse4.1")]] uint32_t by_folding(uint32_t state, const unsigned char* p,
                                                     size_t bytes) {
  const __m128i far = _mm_set_epi64x(k512.of[0], k512.of[1]);
  const __m128i near = _mm_set_epi64x(k128.of[0], k128.of[1]);
  __m128i lanes[4];
  for (int i = 0; i < 4; ++i) lanes[i] = load(p + 16 * i);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(state)));
  for (p += kFoldBytes, bytes -= kFoldBytes; bytes >= kFoldBytes;
       p += kFoldBytes, bytes -= kFoldBytes) {
    for (int i = 0; i < 4; ++i) lanes[i] = _mm_xor_si128(ahead(lanes[i], far), load(p + 16 * i));
  }
  __m128i sum = lanes[0];
  for (int i = 1; i < 4; ++i) sum = _mm_xor_si128(ahead(sum, near), lanes[i]);
  unsigned char rest[16];
  std::memcpy(rest, &sum, sizeof rest);
  return by_tables(by_tables(0, rest, sizeof rest), p, bytes);
}

#define MSA_WIDE [[gnu::target("avx512f,vpclmulqdq,pclmul,sse4.1")]]

// Four blocks of 128 bits each `x` ahead, plus `next`.
MSA_WIDE inline __m512i ahead_plus(__m512i x, __m512i powers, __m512i next) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, powers, 0x00),
                                   _mm512_clmulepi64_epi128(x, powers, 0x11), next, kXorOfThree);
}

MSA_WIDE inline __m512i in_each_block(Powers p) {
  return _mm512_set4_epi64(p.of[0], p.of[1], p.of[0], p.of[1]);
}

// At least 256 bytes: as above with lanes of 64; the last 64 bytes' worth are left to it.
MSA_WIDE uint32_t by_wide_folding(uint32_t state, const unsigned char* p, size_t bytes) {
  const __m512i far = in_each_block(k2048), near = in_each_block(k512);
  __m512i lanes[4];
  for (int i = 0; i < 4; ++i) lanes[i] = _mm512_loadu_si512(p + 64 * i);
  const __m128i begin = _mm_cvtsi32_si128(static_cast<int>(state));
  lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(begin));
  for (p += kWideFoldBytes, bytes -= kWideFoldBytes; bytes >= kWideFoldBytes;
       p += kWideFoldBytes, bytes -= kWideFoldBytes) {
    for (int i = 0; i < 4; ++i)
      lanes[i] = ahead_plus(lanes[i], far, _mm512_loadu_si512(p + 64 * i));
  }
  __m512i sum = lanes[0];
  for (int i = 1; i < 4; ++i) sum = ahead_plus(sum, near, lanes[i]);
  unsigned char rest[kFoldBytes];
  _mm512_storeu_si512(rest, sum);
  state = by_folding(0, rest, sizeof rest);
  return bytes < kFoldBytes ? by_tables(state, p, bytes) : by_folding(state, p, bytes);
}
#undef MSA_WIDE

const bool can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
const bool can_fold_wide =
    can_fold && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  auto* p = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  if (bytes >= kWideFoldBytes && can_fold_wide) return ~by_wide_folding(~crc, p, bytes);
  if (bytes >= kFoldBytes && can_fold) return ~by_folding(~crc, p, bytes);
#endif
  return ~by_tables(~crc, p, bytes);
}

uint32_t crc32_join(uint32_t first, uint32_t second, uint64_t second_bytes) {
  return product(power_of_x(8 * second_bytes), first) ^ second;
}

}  // namespace msa::io
