// The dtype tables: names, sizes and PyTorch's promotion lattice.
#include "core/dtype/dtype.h"

#include "core/base/error.h"
#include "core/dtype/scalar.h"

namespace msa {

const DTypeInfo dtype_infos[kDTypes] = {
    {"bool", 1, false, false, false},      {"uint8", 1, false, false, false},
    {"int8", 1, false, false, true},       {"uint16", 2, false, false, false},
    {"int16", 2, false, false, true},      {"uint32", 4, false, false, false},
    {"int32", 4, false, false, true},      {"uint64", 8, false, false, false},
    {"int64", 8, false, false, true},      {"float16", 2, true, false, true},
    {"bfloat16", 2, true, false, true},    {"float32", 4, true, false, true},
    {"float64", 8, true, false, true},     {"complex64", 8, false, true, true},
    {"complex128", 16, false, true, true},
};

namespace {
DType default_ = DType::F32;

// Rank among the signed integers; uint8 fits int16 and wider.
DType promote_integers(DType a, DType b) {
  auto barebones = [](DType t) { return is_barebones_unsigned(t); };
  if (barebones(a) || barebones(b)) {
    MSA_REQUIRE(
        false, Runtime,
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", a,
        " and ", b, "; convert one with .to() first");
  }
  if (a == DType::U8 || b == DType::U8) {
    DType other = a == DType::U8 ? b : a;
    return other == DType::I8 ? DType::I16 : other;
  }
  return size_bytes(a) >= size_bytes(b) ? a : b;
}
}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_integral(a) && is_integral(b)) return promote_integers(a, b);
  if (is_integral(a)) return b;
  if (is_integral(b)) return a;
  if (is_complex(a) || is_complex(b)) {
    bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (a == DType::F64 || b == DType::F64) return DType::F64;
  return DType::F32;  // two different ones of f16, bf16, f32
}

DType to_complex(DType t) {
  if (is_complex(t)) return t;
  return t == DType::F64 ? DType::C128 : DType::C64;
}

DType to_real(DType t) {
  if (t == DType::C64) return DType::F32;
  return t == DType::C128 ? DType::F64 : t;
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
