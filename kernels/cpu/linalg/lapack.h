// The one interface to LAPACK: routines by name, called on column-major matrices.
#pragma once
#include <algorithm>

#include "core/dtype/dtype.h"

namespace msa::cpu::lapack {

// The routine's address; raises where the library lacks it or is not there.
void* find(const char* interface, char letter, const char* routine);

template <class T>
inline constexpr char kLetter = 0;
template <>
inline constexpr char kLetter<float> = 's';
template <>
inline constexpr char kLetter<double> = 'd';
template <>
inline constexpr char kLetter<c64> = 'c';
template <>
inline constexpr char kLetter<c128> = 'z';

template <class T>
inline constexpr bool kComplex = false;
template <class R>
inline constexpr bool kComplex<std::complex<R>> = true;

template <size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, chars); }
  char chars[N];
};

// call<"getrf", float>(m, n, a, lda, pivots) is LAPACKE_sgetrf; the result is LAPACK's info.
template <Name routine, class T, class... Args>
int call(Args... args) {
  using Function = int (*)(int, Args...);
  static const auto function =
      reinterpret_cast<Function>(find("LAPACKE_", kLetter<T>, routine.chars));
  constexpr int kColumnMajor = 102;
  return function(kColumnMajor, args...);
}

// B := A^-1 B or B A^-1 for a triangular A (BLAS' trsm).
template <class T>
void solve_triangular(bool left, bool upper, bool unit, int rows, int columns, const T* a,
                      int a_leading, T* b, int b_leading) {
  using Function = void (*)(const char*, const char*, const char*, const char*, const int*,
                            const int*, const T*, const T*, const int*, T*, const int*);
  static const auto function = reinterpret_cast<Function>(find("", kLetter<T>, "trsm_"));
  const T one = 1;
  function(left ? "L" : "R", upper ? "U" : "L", "N", unit ? "U" : "N", &rows, &columns, &one, a,
           &a_leading, b, &b_leading);
}

}  // namespace msa::cpu::lapack
