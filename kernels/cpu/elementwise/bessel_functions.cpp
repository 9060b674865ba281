// Bessel functions by their series (NIST DLMF chapters 9, 10) or the C++ library, and orthogonal
// polynomials (chapter 18).
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/special_functions.h"

namespace msa::cpu::special {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 1e-17;

// Maclaurin's series (DLMF 9.4.1), where its terms do not cancel too far.
double airy_series(double x) {
  const double cube = x * x * x;
  double f = 1, g = x, f_sum = f, g_sum = g;
  for (double k = 2; std::fabs(f) > kTiny || std::fabs(g) > kTiny; k += 3) {
    f_sum += f *= cube / (k * (k + 1));
    g_sum += g *= cube / ((k + 1) * (k + 2));
  }
  return 0.3550280538878172392 * f_sum - 0.2588194037928067984 * g_sum;
}

}  // namespace

// Further out through Bessel functions of order 1/3 (DLMF 9.6.1, 9.6.6).
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x > -3 && x < 2) return airy_series(x);
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
template <class T, class Next>
T recur(T degree, T first, Next next) {
  if (std::isnan(degree)) return T(kNan);
  auto n = static_cast<int64_t>(degree);
  if (n < 0) return 0;
  if (n == 0) return 1;
  T before = 1, now = first;
  for (int64_t k = 1; k < n && !std::isnan(now); ++k) {
    T after = next(static_cast<T>(k), now, before);
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

// The others in the element type, fused where PyTorch's are: rounding grows with the degree.
template <class T>
T hermite_h(T x, T n) {
  return recur(n, 2 * x,
               [x](T k, T now, T before) { return std::fma(2 * x, now, -(2 * k * before)); });
}
template <class T>
T hermite_he(T x, T n) {
  return recur(n, x, [x](T k, T now, T before) { return std::fma(x, now, -(k * before)); });
}
template <class T>
T laguerre_l(T x, T n) {
  return recur(n, 1 - x, [x](T k, T now, T before) {
    return std::fma(2 * k + (1 - x), now, -(k * before)) / (k + 1);
  });
}
template <class T>
T legendre_p(T x, T n) {
  return recur(n, x, [x](T k, T now, T before) {
    return std::fma((2 * k + 1) * x, now, -(k * before)) / (k + 1);
  });
}
#define MSA_FLOAT_AND_DOUBLE(name)   \
  template float name(float, float); \
  template double name(double, double);
MSA_FLOAT_AND_DOUBLE(hermite_h)
MSA_FLOAT_AND_DOUBLE(hermite_he)
MSA_FLOAT_AND_DOUBLE(laguerre_l)
MSA_FLOAT_AND_DOUBLE(legendre_p)
#undef MSA_FLOAT_AND_DOUBLE

}  // namespace msa::cpu::special
