// The dtype tables: names, sizes and PyTorch's promotion lattice.
#include "core/dtype/dtype.h"

#include "core/base/error.h"
#include "core/dtype/scalar.h"

namespace msa {

const DTypeInfo dtype_infos[kDTypes] = {
    {"bool", "Bool", 1, false, false, false},
    {"uint8", "Byte", 1, false, false, false},
    {"int8", "Char", 1, false, false, true},
    {"uint16", "UInt16", 2, false, false, false},
    {"int16", "Short", 2, false, false, true},
    {"uint32", "UInt32", 4, false, false, false},
    {"int32", "Int", 4, false, false, true},
    {"uint64", "UInt64", 8, false, false, false},
    {"int64", "Long", 8, false, false, true},
    {"float16", "Half", 2, true, false, true},
    {"bfloat16", "BFloat16", 2, true, false, true},
    {"float32", "Float", 4, true, false, true},
    {"float64", "Double", 8, true, false, true},
    {"complex64", "ComplexFloat", 8, false, true, true},
    {"complex128", "ComplexDouble", 16, false, true, true},
    {"complex32", "ComplexHalf", 4, false, true, true},
    {"float8_e4m3fn", "Float8_e4m3fn", 1, true, false, true},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", 1, true, false, true},
    {"float8_e5m2", "Float8_e5m2", 1, true, false, true},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", 1, true, false, true},
    {"float8_e8m0fnu", "Float8_e8m0fnu", 1, true, false, false},
    {"float4_e2m1fn_x2", "Float4_e2m1fn_x2", 1, true, false, true},
    {"int1", "Int1", 1, false, false, true},
    {"int2", "Int2", 1, false, false, true},
    {"int3", "Int3", 1, false, false, true},
    {"int4", "Int4", 1, false, false, true},
    {"int5", "Int5", 1, false, false, true},
    {"int6", "Int6", 1, false, false, true},
    {"int7", "Int7", 1, false, false, true},
    {"uint1", "UInt1", 1, false, false, false},
    {"uint2", "UInt2", 1, false, false, false},
    {"uint3", "UInt3", 1, false, false, false},
    {"uint4", "UInt4", 1, false, false, false},
    {"uint5", "UInt5", 1, false, false, false},
    {"uint6", "UInt6", 1, false, false, false},
    {"uint7", "UInt7", 1, false, false, false},
    {"bits8", "Bits8", 1, false, false, false},
    {"bits16", "Bits16", 2, false, false, false},
    {"bits1x8", "Bits1x8", 1, false, false, false},
    {"bits2x4", "Bits2x4", 1, false, false, false},
    {"bits4x2", "Bits4x2", 1, false, false, false},
};

namespace {
DType default_ = DType::F32;

// Unsigned integers but uint8 go with floating numbers only.
DType promote_barebones(DType a, DType b) {
  const DType other = is_barebones_unsigned(a) ? b : a;
  MSA_REQUIRE(is_floating(other), Runtime,
              "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
              info(a).scalar_name, " and ", info(b).scalar_name, "; convert one with .to() first");
  return other;
}

// Rank among the signed integers; uint8 fits int16 and wider.
DType promote_integers(DType a, DType b) {
  if (a == DType::U8 || b == DType::U8) {
    DType other = a == DType::U8 ? b : a;
    return other == DType::I8 ? DType::I16 : other;
  }
  return size_bytes(a) >= size_bytes(b) ? a : b;
}
}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  MSA_REQUIRE(!is_float8(a) && !is_float8(b), Runtime,
              "Promotion for Float8 Types is not supported, attempted to promote ",
              info(a).scalar_name, " and ", info(b).scalar_name, "; convert one with .to() first");
  if (is_barebones_unsigned(a) || is_barebones_unsigned(b)) return promote_barebones(a, b);
  MSA_REQUIRE(!is_opaque(a) && !is_opaque(b), Runtime, "Promotion from ", info(a).scalar_name,
              " and ", info(b).scalar_name, " is unsupported.");
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_integral(a) && is_integral(b)) return promote_integers(a, b);
  if (is_integral(a)) return b;
  if (is_integral(b)) return a;
  if (is_complex(a) || is_complex(b)) {
    a = to_complex(a);
    b = to_complex(b);
    return size_bytes(a) >= size_bytes(b) ? a : b;
  }
  if (a == DType::F64 || b == DType::F64) return DType::F64;
  return DType::F32;  // two different ones of f16, bf16, f32
}

DType to_complex(DType t) {
  if (is_complex(t)) return t;
  if (t == DType::F16) return DType::C32;
  return t == DType::F64 ? DType::C128 : DType::C64;
}

DType to_real(DType t) {
  if (t == DType::C32) return DType::F16;
  if (t == DType::C64) return DType::F32;
  return t == DType::C128 ? DType::F64 : t;
}

void refuse_dtype(std::string_view op, DType t) {
  fail(ErrorKind::NotImplemented, '"', op, "\" not implemented for '", info(t).scalar_name,
       "'; convert it with .to() first");
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  if (from != DType::Bool && to == DType::Bool) return false;
  return true;
}

DType default_dtype() { return default_; }
void set_default_dtype(DType t) { default_ = t; }

DType Scalar::natural_dtype() const {
  switch (kind_) {
    case Kind::Bool:
      return DType::Bool;
    case Kind::Int:
      return DType::I64;
    case Kind::Float:
      return default_;
    case Kind::Complex:
      return msa::to_complex(default_);
  }
  __builtin_unreachable();
}

namespace detail {
void append(std::string& s, DType t) { s.append(info(t).name); }
}  // namespace detail

}  // namespace msa
