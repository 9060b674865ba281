// Element types: their sizes, names, categories and PyTorch's promotion lattice.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype/float8.h"
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
  // From here on dtypes are stored and converted; kernels compute with them as another, if at all.
  C32,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  F4E2M1FNx2,
  // Names of how bytes are to be read: nothing here reads them.
  I1,
  I2,
  I3,
  I4,
  I5,
  I6,
  I7,
  U1,
  U2,
  U3,
  U4,
  U5,
  U6,
  U7,
  Bits8,
  Bits16,
  Bits1x8,
  Bits2x4,
  Bits4x2,
  Count
};
inline constexpr int kDTypes = static_cast<int>(DType::Count);
inline constexpr int kLoopDTypes = static_cast<int>(DType::C32);  // tables of kernels are as long

using c64 = std::complex<float>;
using c128 = std::complex<double>;

// complex32 as a storage type.
struct c32 {
  f16 re, im;
  c32() = default;
  explicit c32(c64 v) : re(v.real()), im(v.imag()) {}
  explicit operator c64() const { return {re, im}; }
};

// X(enumerator, C++ type) for every element type that kernels compute with, in the order of the
// enum.
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

// The same for those that are only stored: their elements are numbers that convert to others.
#define MSA_FOR_EACH_STORED_DTYPE(X) \
  X(C32, c32)                        \
  X(F8E4M3FN, f8_e4m3fn)             \
  X(F8E4M3FNUZ, f8_e4m3fnuz)         \
  X(F8E5M2, f8_e5m2) X(F8E5M2FNUZ, f8_e5m2fnuz) X(F8E8M0FNU, f8_e8m0fnu)

struct DTypeInfo {
  std::string_view name;         // "float32", as after "torch."
  std::string_view scalar_name;  // "Float", as PyTorch's errors and old type names call it
  uint8_t size_bytes;
  bool is_floating, is_complex, is_signed;
};
extern const DTypeInfo dtype_infos[kDTypes];

inline const DTypeInfo& info(DType t) { return dtype_infos[static_cast<int>(t)]; }
inline size_t size_bytes(DType t) { return info(t).size_bytes; }
inline bool is_floating(DType t) {
  return (t >= DType::F16 && t <= DType::F64) || (t >= DType::F8E4M3FN && t <= DType::F4E2M1FNx2);
}
inline bool is_complex(DType t) { return t >= DType::C64 && t <= DType::C32; }
inline bool is_inexact(DType t) { return t >= DType::F16 && t <= DType::F4E2M1FNx2; }
inline bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
inline bool is_float8(DType t) { return t >= DType::F8E4M3FN && t <= DType::F8E8M0FNU; }
inline bool is_opaque(DType t) { return t >= DType::F4E2M1FNx2; }  // no element has a value
inline bool is_bits(DType t) { return t >= DType::Bits8; }
// Kernels have no loops of it, but those of opmath(t) stand in for them.
inline bool is_reduced(DType t) { return is_half(t) || t == DType::C32; }
inline bool is_integral(DType t) { return t < DType::F16; }  // bool included
inline bool is_barebones_unsigned(DType t) {  // u16, u32, u64: few operators in PyTorch
  return t == DType::U16 || t == DType::U32 || t == DType::U64;
}

// torch.promote_types, and the float/complex counterparts.
DType promote_types(DType a, DType b);
DType to_complex(DType t);  // f16 -> c32, bf16/f32 -> c64, f64 -> c128
DType to_real(DType t);     // c32 -> f16, c64 -> f32, c128 -> f64, else itself
// What sums accumulate in and half-precision kernels compute in: f16/bf16 -> f32, c32 -> c64, else
// itself.
inline DType opmath(DType t) { return is_half(t) ? DType::F32 : t == DType::C32 ? DType::C64 : t; }
bool can_cast(DType from, DType to);
// Raises PyTorch's NotImplementedError for a dtype that `op` has no kernel for.
[[noreturn]] void refuse_dtype(std::string_view op, DType t);

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
MSA_FOR_EACH_STORED_DTYPE(MSA_DTYPE_OF)
#undef MSA_DTYPE_OF

namespace detail {
void append(std::string& s, DType t);  // "torch.float32" is written by the bindings; here "float32"
}

}  // namespace msa
