// A Python number on its way through the core: bool, int, float or complex, kept as it was given.
#pragma once
#include <complex>
#include <cstdint>

#include "core/dtype/dtype.h"

namespace msa {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Float, Complex };

  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool v) : kind_(Kind::Bool), int_(v) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int64_t v) : kind_(Kind::Int), int_(v) {}
  Scalar(double v) : kind_(Kind::Float), real_(v) {}
  Scalar(c128 v) : kind_(Kind::Complex), real_(v.real()), imag_(v.imag()) {}

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral() const { return kind_ <= Kind::Int; }  // bool included
  bool is_floating() const { return kind_ == Kind::Float; }
  bool is_complex() const { return kind_ == Kind::Complex; }

  // The dtype a 0-d tensor made of it has: bool, int64, the default float, its complex twin.
  DType natural_dtype() const;

  int64_t to_int() const { return is_integral() ? int_ : static_cast<int64_t>(real_); }
  double to_double() const { return is_integral() ? static_cast<double>(int_) : real_; }
  c128 to_complex() const { return {to_double(), is_complex() ? imag_ : 0.0}; }

  // The value as a C++ element type, converted as PyTorch converts it (no range check).
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
      return T(to_complex());
    } else if constexpr (std::is_same_v<T, c32>) {
      return c32(c64(to_complex()));
    } else if constexpr (std::is_same_v<T, bool>) {
      return is_complex() ? (real_ != 0 || imag_ != 0) : is_integral() ? int_ != 0 : real_ != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(to_int());
    } else {
      return static_cast<T>(static_cast<T>(to_double()));
    }
  }
  bool operator==(double v) const { return !is_complex() && to_double() == v; }

 private:
  Kind kind_;
  union {
    int64_t int_;
    double real_;
  };
  double imag_ = 0;
};

// One element in memory, written from and read to a number.
void store_scalar(const Scalar& value, DType dtype, void* element);
// The same, but raises when the number does not fit (300 in uint8, 1e300 in float32, 1j in a real).
void store_checked(const Scalar& value, DType dtype, void* element);
Scalar load_scalar(DType dtype, const void* element);

namespace detail {
void append(std::string& s, const Scalar& v);  // as Python writes it: True, 3, 0.5, 1+2j
}

}  // namespace msa
