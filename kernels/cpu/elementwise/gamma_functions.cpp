// Functions around gamma, erf: recurrences, asymptotic series (NIST DLMF chapters 5, 7, 8, 25) and
// Newton steps.
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise/special_functions.h"

namespace msa::cpu::special {
namespace {
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTwoOverRootPi = 1.1283791670955126;
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kTiny = 1e-17;  // a term this much smaller than its sum no longer changes it
}  // namespace

// DLMF 5.11.2 from 10 on, the recurrence below, the reflection for negative numbers.
double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    return digamma(1 - x) - M_PI / std::tan(M_PI * std::fmod(x, 1.0));
  }
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  double r = 1 / (x * x);
  double series =
      r *
      (1.0 / 12 -
       r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760))))));
  return shift + std::log(x) - 0.5 / x - series;
}

// Euler and Maclaurin's sum (DLMF 25.11.5), its remainder from a point above 10.
double hurwitz_zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1) || std::isnan(q)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNan;
  }
  double sum = 0, a = q;
  for (int k = 0; k < 10 || a < 10; ++k, a += 1) {
    double term = std::pow(a, -s);
    sum += term;
    if (a > 0 && term < kTiny * std::fabs(sum)) return sum;
  }
  double power = std::pow(a, -s);
  sum += power * a / (s - 1) + power / 2;
  // B_2j / (2j)!
  constexpr double bernoulli[] = {1.0 / 12,          -1.0 / 720,
                                  1.0 / 30240,       -1.0 / 1209600,
                                  1.0 / 47900160,    -691.0 / 1307674368000,
                                  1.0 / 74724249600, -3617.0 / 10670622842880000};
  double factor = s;
  power /= a;
  for (int j = 0; j < 8; ++j) {
    double term = bernoulli[j] * factor * power;
    sum += term;
    if (std::fabs(term) < kTiny * std::fabs(sum)) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    power /= a * a;
  }
  return sum;
}

// DLMF 5.15.8 from six steps of the recurrence on, below 0.5 the reflection.
template <class T>
T trigamma(T x) {
  if (x < T(0.5)) {
    const T sine = std::sin(T(M_PI) * x);
    return T(M_PI) * T(M_PI) / (sine * sine) - trigamma(1 - x);
  }
  T shift = 0;
  for (int i = 0; i < 6; ++i, x += 1) shift += 1 / (x * x);
  const T r = 1 / (x * x);
  const T series = T(1.0 / 6) - r * (T(1.0 / 30) - r * T(1.0 / 42));
  return shift + (1 + 1 / (2 * x) + r * series) / x;
}
template float trigamma(float);
template double trigamma(double);

namespace {

double gamma_prefactor(double a, double x) {
  return std::exp(a * std::log(x) - x - std::lgamma(a));
}

// DLMF 8.11.4, for x below a + 1.
double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < 100000 && term > kTiny * sum; ++n) sum += term *= x / (a + n);
  return sum * gamma_prefactor(a, x);
}

// The continued fraction DLMF 8.9.2 by Lentz's method, for x from a + 1 on.
double upper_fraction(double a, double x) {
  constexpr double least = 1e-300;
  double b = x + 1 - a, c = 1 / least, d = 1 / b, h = d;
  for (int n = 1; n < 100000; ++n) {
    double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = 1 / (d == 0 ? least : d);
    if (c == 0) c = least;
    double change = c * d;
    h *= change;
    if (std::fabs(change - 1) < 1e-16) break;
  }
  return h * gamma_prefactor(a, x);
}

// P where the answer is plain from the arguments alone; else a negative number.
double plain_lower_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return std::isinf(x) ? 1 : -1;
}

}  // namespace

double lower_gamma(double a, double x) {
  double plain = plain_lower_gamma(a, x);
  if (!(plain < 0)) return plain;
  return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}

double upper_gamma(double a, double x) {
  double plain = plain_lower_gamma(a, x);
  if (!(plain < 0)) return 1 - plain;
  return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

// The asymptotic series DLMF 7.12.1 where erfc would underflow.
double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  double r = 1 / (2 * x * x), term = 1, sum = 1;
  for (int n = 1; n < 12; ++n) sum += term *= -(2 * n - 1) * r;
  return sum * kTwoOverRootPi / (2 * x);
}

double log_normal_cdf(double x) {
  if (x < -1) return std::log(scaled_erfc(-x * kRootHalf) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * kRootHalf) / 2);
}

}  // namespace msa::cpu::special
