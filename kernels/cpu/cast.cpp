// Conversion loops between all dtypes; those among the common ones exist for each instruction set.
#ifndef MSA_ISA
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/cast.h"

namespace msa::cpu {
struct CastTable {
  Loop loops[kLoopDTypes][kLoopDTypes] = {};  // [to][from]
};
struct ReverseTable {
  void (*of_item[9])(char* out, const char* in, int64_t n);  // by the bytes of an element
};
}  // namespace msa::cpu

#define MSA_KERNEL_FILE "kernels/cpu/cast.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
namespace {

const ReverseTable* const reverses = MSA_CHOOSE(reverse_table);

// Four rows of four become columns: a transposed copy reads and writes whole vectors.
typedef uint32_t Four __attribute__((vector_size(16)));
inline void transpose_4x4(char* out, int64_t out_step, const char* in, int64_t in_step) {
  Four row[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&row[i], in + i * in_step, sizeof row[i]);
  Four a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
       b = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  Four c = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
       d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  Four column[] = {
      __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
      __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * out_step, &column[i], sizeof column[i]);
}

// Elements of four bytes whose input is dense along the outer dimension.
void copy_transposed(char* const* data, const int64_t* strides, int64_t inner, int64_t outer) {
  for (int64_t j = 0; j + 4 <= outer; j += 4)
    for (int64_t i = 0; i + 4 <= inner; i += 4)
      transpose_4x4(data[0] + i * strides[0] + j * strides[2], strides[2],
                    data[1] + i * strides[1] + j * strides[3], strides[1]);
}

// One element, n times over.
template <class T>
void repeat(char* out, const char* element, int64_t n) {
  constexpr int64_t step = 2048 / sizeof(T);
  const int64_t first = std::min(n, step);
  for (int64_t i = 0; i < first; ++i)
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), element, sizeof(T));
  for (int64_t i = first; i < n; i += step)  // the C library stores whole vectors
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), out,
                static_cast<size_t>(std::min(step, n - i)) * sizeof(T));
}

// A row with steps of any length.
template <class T>
void copy_row(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t n) {
  constexpr int64_t item = sizeof(T);
  if (out_step == item && in_step == item) {
    std::memcpy(out, in, static_cast<size_t>(n * item));
    return;
  }
  if (out_step == item && in_step == 0) return repeat<T>(out, in, n);
  if constexpr (item <= 8) {
    if (out_step == item && in_step == -item) return reverses->of_item[item](out, in, n);
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * out_step, in + i * in_step, sizeof(T));
}

template <class T>
void copy(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, const Scalar*) {
  if constexpr (sizeof(T) == 4)
    if (inner % 4 == 0 && outer % 4 == 0 && strides[0] == sizeof(T) && strides[3] == sizeof(T) &&
        strides[1] >= 16)
      return copy_transposed(data, strides, inner, outer);
  for (int64_t j = 0; j < outer; ++j)
    copy_row<T>(data[0] + j * strides[2], strides[0], data[1] + j * strides[3], strides[1], inner);
}

}  // namespace

Loop copy_loop(size_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return copy<uint8_t>;
    case 2:
      return copy<uint16_t>;
    case 4:
      return copy<uint32_t>;
    case 8:
      return copy<uint64_t>;
    default:
      return copy<c128>;
  }
}

Loop cast_loop(DType to, DType from) {
  if (to == from) return copy_loop(size_bytes(to));
  if (to >= DType::C32 || from >= DType::C32) return stored_cast_loop(to, from);
  static const CastTable* const common = MSA_CHOOSE(common_casts);
  Loop loop = common->loops[static_cast<int>(to)][static_cast<int>(from)];
  return loop ? loop : base::other_casts.loops[static_cast<int>(to)][static_cast<int>(from)];
}

}  // namespace msa::cpu
#else

template <class To, class From>
inline To cast_one(From v) {
  if constexpr (kIsComplex<To> && kIsComplex<From>) {
    return To(static_cast<Real<To> >(v.re), static_cast<Real<To> >(v.im));
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<Real<To> >(v));
  } else if constexpr (kIsComplex<From>) {
    if constexpr (sizeof(To) == 1 && std::is_same_v<To, bool>) {
      return v.re != 0 || v.im != 0;
    } else {
      return cast_one<To>(v.re);
    }
  } else if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>) {
    return static_cast<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else {
    return static_cast<To>(v);
  }
}

template <class To, class From>
void cast(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, const Scalar*) {
  auto convert = [](From v) { return cast_one<To>(v); };
  ElementLoop<To, From>::run(data, strides, inner, outer, convert, std::index_sequence<0>{});
}

#ifndef MSA_ISA_IS_BASE
// The processor converts float16 itself.
#if MSA_VECTOR_BYTES == 64
constexpr __mmask16 all = 0xffff;
inline void widen(float* out, const f16* in) {
  _mm512_storeu_ps(
      out, _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))));
}
inline void widen(float* out, const bf16* in) {
  const __m512i bits =
      _mm512_maskz_cvtepu16_epi32(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
  _mm512_storeu_si512(out, _mm512_maskz_slli_epi32(all, bits, 16));
}
inline void narrow(f16* out, const float* in) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm512_maskz_cvtps_ph(all, _mm512_loadu_ps(in), 0));
}
#else
inline void widen(float* out, const f16* in) {
  _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
}
inline void widen(float* out, const bf16* in) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_slli_epi32(bits, 16));
}
inline void narrow(f16* out, const float* in) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(_mm256_loadu_ps(in), 0));
}
#endif

// Whole vectors of dense rows go through `convert`, the rest one by one.
template <class To, class From, class F>
inline void cast_vectors(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                         F convert) {
  constexpr int64_t lanes = kLanes<float>;
  int64_t whole =
      strides[0] == sizeof(To) && strides[1] == sizeof(From) ? inner / lanes * lanes : 0;
  for (int64_t j = 0; j < outer; ++j) {
    char* row_data[] = {data[0] + j * strides[2], data[1] + j * strides[3]};
    for (int64_t i = 0; i < whole; i += lanes)
      convert(reinterpret_cast<To*>(row_data[0]) + i,
              reinterpret_cast<const From*>(row_data[1]) + i);
    row_data[0] += whole * strides[0];
    row_data[1] += whole * strides[1];
    if (whole < inner) cast<To, From>(row_data, strides, inner - whole, 1, nullptr);
  }
}
void cast_float_f16(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                    const Scalar*) {
  cast_vectors<float, f16>(data, strides, inner, outer,
                           [](float* out, const f16* in) { widen(out, in); });
}
void cast_float_bf16(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                     const Scalar*) {
  cast_vectors<float, bf16>(data, strides, inner, outer,
                            [](float* out, const bf16* in) { widen(out, in); });
}
void cast_f16_float(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                    const Scalar*) {
  cast_vectors<f16, float>(data, strides, inner, outer,
                           [](f16* out, const float* in) { narrow(out, in); });
}
#endif

// A row read backwards in whole vectors: `in` is the element that comes first.
template <class T, size_t... I>
inline void reverse_in(char* out, const char* in, int64_t n, std::index_sequence<I...>) {
  typedef T Lanes __attribute__((vector_size(MSA_VECTOR_BYTES)));
  constexpr int64_t lanes = sizeof...(I), item = sizeof(T);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Lanes v;
    __builtin_memcpy(&v, in - (i + lanes - 1) * item, sizeof v);
    v = __builtin_shufflevector(v, v, (lanes - 1 - static_cast<int64_t>(I))...);
    __builtin_memcpy(out + i * item, &v, sizeof v);
  }
  for (; i < n; ++i) __builtin_memcpy(out + i * item, in - i * item, item);
}
template <class T>
void reverse(char* out, const char* in, int64_t n) {
  reverse_in<T>(out, in, n, std::make_index_sequence<MSA_VECTOR_BYTES / sizeof(T)>{});
}
constexpr ReverseTable reverse_table = {{nullptr, reverse<uint8_t>, reverse<uint16_t>, nullptr,
                                         reverse<uint32_t>, nullptr, nullptr, nullptr,
                                         reverse<uint64_t>}};

template <class To, class... From>
constexpr void add_casts(CastTable& table, Types<From...>) {
  ((table.loops[index_of<To>()][index_of<From>()] = &cast<To, From>), ...);
}
template <class... To, class List>
constexpr void add_all_casts(CastTable& table, Types<To...>, List from) {
  (add_casts<To>(table, from), ...);
}

using Common = Types<bool, uint8_t, int8_t, int32_t, int64_t, f16, bf16, float, double>;
constexpr CastTable make_common_casts() {
  CastTable table;
  add_all_casts(table, Common{}, Common{});
#ifndef MSA_ISA_IS_BASE
  table.loops[index_of<float>()][index_of<f16>()] = &cast_float_f16;
  table.loops[index_of<f16>()][index_of<float>()] = &cast_f16_float;
  table.loops[index_of<float>()][index_of<bf16>()] = &cast_float_bf16;
#endif
  return table;
}
constexpr CastTable common_casts = make_common_casts();

#ifdef MSA_ISA_IS_BASE
using Others = Join<Types<int16_t>, Unsigned, Complexes>;
using Any = Join<Common, Others>;
constexpr CastTable make_other_casts() {
  CastTable table;
  add_all_casts(table, Others{}, Any{});
  add_all_casts(table, Common{}, Others{});
  return table;
}
constexpr CastTable other_casts = make_other_casts();
#endif
#endif
