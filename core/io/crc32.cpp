// CRC-32: carry-less multiplication folds 64 bytes at a time where the processor has it, tables do
// the rest.
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
constexpr size_t kFoldBytes = 64;

// `x` moved ahead by the distance that `powers` stand for: x^(distance +- 32) mod the polynomial.
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
  const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);   // 512 bits ahead
  const __m128i near = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);  // 128 bits ahead
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

const bool can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif

// The product of two polynomials modulo the checksum's; the highest bit is x^0.
uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
    if (a & bit) sum ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return sum;
}

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  auto* p = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  if (bytes >= kFoldBytes && can_fold) return ~by_folding(~crc, p, bytes);
#endif
  return ~by_tables(~crc, p, bytes);
}

uint32_t crc32_join(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t power = 1u << 31, square = 1u << 23;  // x^0, and x^8: a byte's worth
  for (; second_bytes; second_bytes >>= 1, square = product(square, square))
    if (second_bytes & 1) power = product(power, square);
  return product(power, first) ^ second;
}

}  // namespace msa::io
