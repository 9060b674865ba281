// Distributions that need an unknown number of draws: gamma, Poisson, binomial.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/random/distributions.h"

namespace msa::random {

template <class Real>
double gamma(Generator& gen, Real alpha) {
  if (alpha == 0) return 0.0;
  double scale = 1.0;
  if (alpha < 1) {  // sample alpha + 1, which is accepted more often, and scale down
    scale = std::pow(1 - unit<double>(gen), static_cast<double>(1 / alpha));
    alpha += 1;
  }
  const double d = alpha - 1.0f / 3.0f;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    double x, y;
    do {
      x = standard_normal(gen);
      y = 1.0 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - unit<double>(gen);
    const double square = x * x;
    // 0.0331f: PyTorch's constant is a float, and the comparison must fall the same way.
    if (u < 1.0 - 0.0331f * square * square) return scale * d * v;
    if (std::log(u) < 0.5 * square + d * (1.0 - v + std::log(v))) return scale * d * v;
  }
}
template double gamma<float>(Generator&, float);
template double gamma<double>(Generator&, double);

namespace {

int64_t poisson_by_rejection(Generator& gen, double rate) {
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double inner = 0.9277 - 3.6224 / (b - 2);
  const double log_rate = std::log(rate);
  for (;;) {
    const double u = unit<double>(gen) - 0.5;
    const double v = unit<double>(gen);
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= inner) return static_cast<int64_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double left = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
    if (left <= -rate + k * log_rate - std::lgamma(k + 1)) return static_cast<int64_t>(k);
  }
}

int64_t poisson_by_products(Generator& gen, double rate) {
  const double limit = std::exp(-rate);
  double product = 1.0;
  for (int64_t count = 0;; ++count) {
    product *= unit<double>(gen);
    if (product <= limit) return count;
  }
}

}  // namespace

int64_t poisson(Generator& gen, double rate) {
  if (rate == 0) return 0;
  return rate >= 10 ? poisson_by_rejection(gen, rate) : poisson_by_products(gen, rate);
}

namespace {

// log(k!) minus Stirling's formula.
double stirling_tail(double k) {
  static constexpr std::array<double, 10> kSmall = {
      0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
      0.00925546218271273, 0.00833056343336287,
  };
  if (k < kSmall.size()) return kSmall[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

template <class Real>
Real binomial_by_gaps(Generator& gen, Real count, Real p) {
  const double log_miss = std::log1p(-p);
  double trials = 0;
  for (Real hits = 0;; hits += 1) {
    trials += std::ceil(std::log(unit<double>(gen)) / log_miss);
    if (trials > count) return hits;
  }
}

template <class Real>
Real binomial_by_rejection(Generator& gen, Real count, Real p) {
  const double stddev = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * stddev;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = count * p + 0.5;
  const double inner = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * stddev;
  const double mode = std::floor((count + 1) * p);
  for (;;) {
    const double u = unit<double>(gen) - 0.5;
    double v = unit<double>(gen);
    const double us = 0.5 - std::fabs(u);
    const Real k = static_cast<Real>(std::floor((2 * a / us + b) * u + centre));
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= inner) return k;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) +
                         stirling_tail(mode) + stirling_tail(count - mode) - stirling_tail(k) -
                         stirling_tail(count - k);
    if (v <= bound) return k;
  }
}

template <class Real>
Real binomial_up_to_half(Generator& gen, Real count, Real p) {
  return count * p >= 10 ? binomial_by_rejection(gen, count, p) : binomial_by_gaps(gen, count, p);
}

}  // namespace

template <class Real>
Real binomial(Generator& gen, Real count, Real p) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p <= 0.5) return binomial_up_to_half(gen, count, p);
  if (p > 0.5) return count - binomial_up_to_half(gen, count, static_cast<Real>(1.0 - p));
  return std::numeric_limits<Real>::quiet_NaN();
}
template float binomial<float>(Generator&, float, float);
template double binomial<double>(Generator&, double, double);

}  // namespace msa::random
