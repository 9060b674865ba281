// The loops for AVX2, with the logarithm, sine and cosine of PyTorch's AVX2 build, rounding for
// rounding.
#include "core/random/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")

namespace msa::random {
namespace {

constexpr int kLanes = 8;
#include "core/random/loops.inc"

using Floats = __m256;
using Ints = __m256i;

inline Floats all(float x) { return _mm256_set1_ps(x); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats bits_as_floats(Ints x) { return _mm256_castsi256_ps(x); }
inline Ints floats_as_bits(Floats x) { return _mm256_castps_si256(x); }

// Evaluates a polynomial by Horner's rule, highest coefficient first.
template <size_t N>
inline Floats horner(Floats x, const float (&coefficients)[N]) {
  Floats sum = all(coefficients[0]);
  for (size_t i = 1; i < N; ++i) sum = fma(sum, x, all(coefficients[i]));
  return sum;
}

// Natural logarithm of positive normal numbers: Cephes' logf.
inline Floats log(Floats x) {
  const Ints raw = floats_as_bits(x);
  Floats exponent =
      _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(raw, 23), _mm256_set1_epi32(126)));
  const Floats mantissa = bits_as_floats(_mm256_or_si256(
      _mm256_and_si256(raw, _mm256_set1_epi32(0x007fffff)), _mm256_set1_epi32(0x3f000000)));
  // With the mantissa in [sqrt(1/2), sqrt(2)), its distance from 1 is small.
  const Floats small = _mm256_cmp_ps(mantissa, all(0.707106781186547524f), _CMP_LT_OS);
  exponent = _mm256_sub_ps(exponent, _mm256_and_ps(small, all(1.0f)));
  const Floats r =
      _mm256_add_ps(_mm256_sub_ps(mantissa, all(1.0f)), _mm256_and_ps(small, mantissa));
  const Floats square = _mm256_mul_ps(r, r);
  static constexpr float kCoefficients[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                            -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                            2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  // ln 2 in two parts, so that exponent * ln 2 loses nothing.
  Floats y = _mm256_mul_ps(horner(r, kCoefficients), r);
  y = fma(y, square, _mm256_mul_ps(exponent, all(-2.12194440e-4f)));
  y = fma(square, all(-0.5f), y);
  return fma(exponent, all(0.693359375f), _mm256_add_ps(r, y));
}

struct SinCos {
  Floats sin, cos;
};

// Of angles in [0, 8192): Cephes' sinf and cosf.
inline SinCos sincos(Floats x) {
  Ints octant = _mm256_cvttps_epi32(_mm256_mul_ps(x, all(1.27323954473516f)));
  octant = _mm256_and_si256(_mm256_add_epi32(octant, _mm256_set1_epi32(1)), _mm256_set1_epi32(~1));
  const Floats turns = _mm256_cvtepi32_ps(octant);
  // x - octant * pi / 4, pi / 4 in three parts.
  x = fma(turns, all(-0.78515625f), x);
  x = fma(turns, all(-2.4187564849853515625e-4f), x);
  x = fma(turns, all(-3.77489497744594108e-8f), x);
  const Floats square = _mm256_mul_ps(x, x);

  static constexpr float kCos[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                                   4.166664568298827e-2f};
  static constexpr float kSin[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  Floats even = _mm256_mul_ps(horner(square, kCos), square);
  even = fma(even, square, _mm256_mul_ps(square, all(-0.5f)));
  even = _mm256_add_ps(even, all(1.0f));
  const Floats odd = fma(_mm256_mul_ps(horner(square, kSin), square), x, x);

  // Octants 2, 3, 6, 7 swap sine and cosine; signs follow from bit 2.
  const Ints two = _mm256_set1_epi32(2), four = _mm256_set1_epi32(4);
  const Floats straight =
      bits_as_floats(_mm256_cmpeq_epi32(_mm256_and_si256(octant, two), _mm256_setzero_si256()));
  const Ints sin_sign = _mm256_slli_epi32(_mm256_and_si256(octant, four), 29);
  const Ints cos_sign =
      _mm256_slli_epi32(_mm256_andnot_si256(_mm256_sub_epi32(octant, two), four), 29);
  return {_mm256_xor_ps(_mm256_blendv_ps(even, odd, straight), bits_as_floats(sin_sign)),
          _mm256_xor_ps(_mm256_blendv_ps(odd, even, straight), bits_as_floats(cos_sign))};
}

void normal(float* data, size_t blocks, float mean, float std) {
  for (size_t b = 0; b < blocks; ++b, data += kBlock) {
    const Floats positive = _mm256_sub_ps(all(1.0f), _mm256_loadu_ps(data));
    const Floats radius = _mm256_sqrt_ps(_mm256_mul_ps(all(-2.0f), log(positive)));
    const SinCos turn = sincos(_mm256_mul_ps(all(6.283185307179586f), _mm256_loadu_ps(data + 8)));
    _mm256_storeu_ps(data, fma(_mm256_mul_ps(radius, turn.cos), all(std), all(mean)));
    _mm256_storeu_ps(data + 8, fma(_mm256_mul_ps(radius, turn.sin), all(std), all(mean)));
  }
}

void to_f16(const float* in, f16* out, size_t blocks) {
  for (size_t i = 0; i < blocks * kBlock; i += 8) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), packed);
  }
}

}  // namespace

const Loops avx2_loops = {next_block, temper, uniform, normal, below, to_f16, to_bf16};

}  // namespace msa::random
#endif
