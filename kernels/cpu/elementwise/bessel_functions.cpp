// Bessel functions by their series (NIST DLMF chapters 9, 10) or the C++ library, and orthogonal
// polynomials (chapter 18).
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/special_functions.h"

namespace msa::cpu::special {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-17;
constexpr double kAsymptoticFrom =
    30;  // beyond it the large-argument series are exact to the last bits

// Sum of the large-argument series of I_n (sign -1) and K_n (sign 1), DLMF 10.40.1 and 10.40.2.
double large_series(int n, double x, double sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 40 && std::fabs(term) > kTiny; ++k) {
    double odd = 2 * k - 1;
    sum += term *= sign * (4 * n * n - odd * odd) / (8 * k * x);
  }
  return sum;
}

}  // namespace

double scaled_bessel_i(int n, double x) {
  double a = std::fabs(x), out;
  if (!(a <= kAsymptoticFrom)) {
    out = large_series(n, a, -1) / std::sqrt(2 * M_PI * a);
  } else {  // DLMF 10.25.2
    double half = a / 2, term = n ? half : 1, sum = term;
    for (int k = 1; term > kTiny * sum; ++k) sum += term *= half * half / (k * (k + n));
    out = sum * std::exp(-a);
  }
  return n && x < 0 ? -out : out;
}
double bessel_i(int n, double x) { return std::exp(std::fabs(x)) * scaled_bessel_i(n, x); }

double scaled_bessel_k(int n, double x) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNan;
  if (x > kAsymptoticFrom) return large_series(n, x, 1) * std::sqrt(M_PI / (2 * x));
  return std::exp(x) * std::cyl_bessel_k(n, x);
}
double bessel_k(int n, double x) {
  return x > 0 ? std::exp(-x) * scaled_bessel_k(n, x) : scaled_bessel_k(n, x);
}

// Through Bessel functions of order 1/3 (DLMF 9.6.1, 9.6.6).
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (std::fabs(x) < 1e-12) return 0.3550280538878172 - 0.2588194037928068 * x;
  if (x > 103) return 0;
  double size = std::fabs(x), z = 2 * size * std::sqrt(size) / 3;
  if (x > 0) return std::sqrt(size / 3) * std::cyl_bessel_k(1.0 / 3, z) / M_PI;
  return std::sqrt(size) / 2 *
         (std::cyl_bessel_j(1.0 / 3, z) - std::cyl_neumann(1.0 / 3, z) / std::sqrt(3.0));
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return std::fabs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

namespace {

// p_0 = 1, p_1 given, p_{k+1} = (a_k x + b_k) p_k - c_k p_{k-1}, each step from `next(k, p_k,
// p_{k-1})`.
template <class Next>
double recur(double degree, double first, Next next) {
  if (std::isnan(degree)) return kNan;
  auto n = static_cast<int64_t>(degree);
  if (n < 0) return 0;
  if (n == 0) return 1;
  double before = 1, now = first;
  for (int64_t k = 1; k < n && !std::isnan(now); ++k) {
    double after = next(static_cast<double>(k), now, before);
    before = now;
    now = after;
  }
  return now;
}

double chebyshev(double x, double n, double first) {
  return recur(n, first, [x](double, double now, double before) { return 2 * x * now - before; });
}

}  // namespace

// Of high degree inside [-1, 1] the cosine form is exact where the recurrence gathers rounding.
double chebyshev_t(double x, double n) {
  return n > 6 && std::fabs(x) < 1 ? std::cos(std::trunc(n) * std::acos(x)) : chebyshev(x, n, x);
}
double chebyshev_u(double x, double n) { return chebyshev(x, n, 2 * x); }
double chebyshev_v(double x, double n) { return chebyshev(x, n, 2 * x - 1); }
double chebyshev_w(double x, double n) { return chebyshev(x, n, 2 * x + 1); }

double hermite_h(double x, double n) {
  return recur(n, 2 * x,
               [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}
double hermite_he(double x, double n) {
  return recur(n, x, [x](double k, double now, double before) { return x * now - k * before; });
}
double laguerre_l(double x, double n) {
  return recur(n, 1 - x, [x](double k, double now, double before) {
    return ((2 * k + 1 - x) * now - k * before) / (k + 1);
  });
}
double legendre_p(double x, double n) {
  return recur(n, x, [x](double k, double now, double before) {
    return ((2 * k + 1) * x * now - k * before) / (k + 1);
  });
}

}  // namespace msa::cpu::special
