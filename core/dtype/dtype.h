// Element types: their sizes, names, categories and PyTorch's promotion lattice.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype/half.h"

namespace msa {

enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
  Count
};
inline constexpr int kDTypes = static_cast<int>(DType::Count);

using c64 = std::complex<float>;
using c128 = std::complex<double>;

// X(enumerator, C++ type) for every element type, in the order of the enum.
#define MSA_FOR_EACH_DTYPE(X) \
  X(Bool, bool)               \
  X(U8, uint8_t)              \
  X(I8, int8_t)               \
  X(U16, uint16_t)            \
  X(I16, int16_t)             \
  X(U32, uint32_t)            \
  X(I32, int32_t)             \
  X(U64, uint64_t)            \
  X(I64, int64_t) X(F16, f16) X(BF16, bf16) X(F32, float) X(F64, double) X(C64, c64) X(C128, c128)

struct DTypeInfo {
  std::string_view name;  // "float32", as after "torch."
  uint8_t size_bytes;
  bool is_floating, is_complex, is_signed;
};
extern const DTypeInfo dtype_infos[kDTypes];

inline const DTypeInfo& info(DType t) { return dtype_infos[static_cast<int>(t)]; }
inline size_t size_bytes(DType t) { return info(t).size_bytes; }
inline bool is_floating(DType t) { return t >= DType::F16 && t <= DType::F64; }
inline bool is_complex(DType t) { return t >= DType::C64; }
inline bool is_inexact(DType t) { return t >= DType::F16; }
inline bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
inline bool is_integral(DType t) { return t < DType::F16; }  // bool included
inline bool is_barebones_unsigned(DType t) {  // u16, u32, u64: few operators in PyTorch
  return t == DType::U16 || t == DType::U32 || t == DType::U64;
}

// torch.promote_types, and the float/complex counterparts.
DType promote_types(DType a, DType b);
DType to_complex(DType t);  // f16/bf16/f32 -> c64, f64 -> c128
DType to_real(DType t);     // c64 -> f32, c128 -> f64, else itself
// What sums accumulate in and half-precision kernels compute in: f16/bf16 -> f32, else itself.
inline DType opmath(DType t) { return is_half(t) ? DType::F32 : t; }
bool can_cast(DType from, DType to);

DType default_dtype();  // torch.get_default_dtype()
void set_default_dtype(DType t);

template <class T>
struct dtype_of;
#define MSA_DTYPE_OF(E, T)                   \
  template <>                                \
  struct dtype_of<T> {                       \
    static constexpr DType value = DType::E; \
  };
MSA_FOR_EACH_DTYPE(MSA_DTYPE_OF)
#undef MSA_DTYPE_OF

namespace detail {
void append(std::string& s, DType t);  // "torch.float32" is written by the bindings; here "float32"
}

}  // namespace msa
