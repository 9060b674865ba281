// Numbers to and from elements in memory.
#include "core/dtype/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.h"

namespace msa {
namespace {
template <class T>
Scalar as_scalar(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(v);
  } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
    return c128(v);
  } else if constexpr (std::is_same_v<T, c32>) {
    return c128(static_cast<c64>(v));
  } else {
    return static_cast<double>(v);
  }
}

// Both ends of the range of an eight-bit float; what lies at an infinite one fits.
template <class T>
bool fits_float8(double x) {
  const auto number = [](uint8_t bits) {
    T v;
    v.bits = bits;
    return static_cast<double>(v);
  };
  if constexpr (std::is_same_v<T, f8_e8m0fnu>) {
    return !(x < number(0x00)) && !(x > number(0xfe));
  } else {
    return (T::kHasInfinity && std::isinf(x)) || !(std::fabs(x) > number(T::kLargest));
  }
}

// Whether a real part lies in the range of T; infinities and NaN do where T has them. Unsigned
// types take the negatives of what they hold, as wrapped values.
template <class T>
bool fits(const Scalar& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
    return fits<typename T::value_type>(v.to_double()) &&
           fits<typename T::value_type>(v.to_complex().imag());
  } else if constexpr (std::is_same_v<T, c32>) {
    if (!v.is_complex()) return fits<float>(v);  // as PyTorch has it
    return fits<f16>(v.to_double()) && fits<f16>(v.to_complex().imag());
  } else if constexpr (sizeof(T) == 1 && !std::is_integral_v<T>) {
    const bool unsigned_takes_it = std::is_same_v<T, f8_e8m0fnu> && v.is_integral();
    return unsigned_takes_it || fits_float8<T>(v.to_double());
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (v.is_integral()) {
      if (sizeof(T) == 8) return true;
      int64_t n = v.to_int(), most = static_cast<int64_t>(Limits::max());
      return n <= most && n >= (std::is_signed_v<T> ? static_cast<int64_t>(Limits::min()) : -most);
    }
    double most = std::ldexp(1.0, Limits::digits), x = v.to_double();
    return x < most && x >= -most;
  } else {
    double x = std::fabs(v.to_double()), most;
    if constexpr (std::is_same_v<T, f16>) {
      most = 65504.0;
    } else if constexpr (std::is_same_v<T, bf16>) {
      most = 0x1.fep127;
    } else {
      most = std::numeric_limits<T>::max();
    }
    return !(x > most) || std::isinf(x);
  }
}

bool fits(const Scalar& v, DType dtype) {
  switch (dtype) {
#define MSA_FITS(E, T) \
  case DType::E:       \
    return fits<T>(v);
    MSA_FOR_EACH_DTYPE(MSA_FITS)
    MSA_FOR_EACH_STORED_DTYPE(MSA_FITS)
#undef MSA_FITS
    default:
      refuse_dtype("fill_", dtype);
  }
}
}  // namespace

void store_checked(const Scalar& value, DType dtype, void* element) {
  bool drops = value.is_complex() && !is_complex(dtype) && dtype != DType::Bool &&
               value.to_complex().imag() != 0;
  MSA_REQUIRE(!drops && fits(value, dtype), Runtime, "value cannot be converted to type ", dtype,
              " without overflow: ", value);
  store_scalar(value, dtype, element);
}

void store_scalar(const Scalar& value, DType dtype, void* element) {
  switch (dtype) {
#define MSA_STORE(E, T)                 \
  case DType::E: {                      \
    T v = value.to<T>();                \
    std::memcpy(element, &v, sizeof v); \
    return;                             \
  }
    MSA_FOR_EACH_DTYPE(MSA_STORE)
    MSA_FOR_EACH_STORED_DTYPE(MSA_STORE)
#undef MSA_STORE
    default:
      refuse_dtype("fill_", dtype);
  }
}

Scalar load_scalar(DType dtype, const void* element) {
  switch (dtype) {
#define MSA_LOAD(E, T)                  \
  case DType::E: {                      \
    T v;                                \
    std::memcpy(&v, element, sizeof v); \
    return as_scalar(v);                \
  }
    MSA_FOR_EACH_DTYPE(MSA_LOAD)
    MSA_FOR_EACH_STORED_DTYPE(MSA_LOAD)
#undef MSA_LOAD
    default:
      refuse_dtype("item", dtype);
  }
}

namespace detail {
void append(std::string& s, const Scalar& v) {
  if (v.is_bool()) return append(s, v.to_int() != 0);
  if (v.is_integral()) return append(s, static_cast<long long>(v.to_int()));
  append(s, v.to_double());
  if (!v.is_complex()) return;
  if (v.to_complex().imag() >= 0) append(s, '+');
  append(s, v.to_complex().imag());
  append(s, 'j');
}
}  // namespace detail

}  // namespace msa
