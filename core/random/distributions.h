// One value of each distribution from the generator's bits, by the transforms PyTorch's CPU kernels
// use.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "core/random/generator.h"

namespace msa::random {

// Uniform in [0, 1) from as many bits as the type's mantissa holds.
inline float unit_f32(uint32_t bits) { return static_cast<float>(bits & 0xffffffu) * 0x1p-24f; }
inline double unit_f64(uint64_t bits) {
  return static_cast<double>(bits & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

template <class Real>
Real unit(Generator& gen);
template <>
inline float unit<float>(Generator& gen) {
  return unit_f32(gen.random());
}
template <>
inline double unit<double>(Generator& gen) {
  return unit_f64(gen.random64());
}

// Standard normal by Box-Muller; every second call takes the value that waits in the generator.
inline double standard_normal(Generator& gen) {
  if (auto& waiting = gen.waiting_normal()) {
    double value = *waiting;
    waiting.reset();
    return value;
  }
  double turn = unit<double>(gen);
  double radius = std::sqrt(-2.0 * std::log1p(-unit<double>(gen)));
  double theta = 2.0 * std::numbers::pi * turn;
  gen.waiting_normal() = radius * std::sin(theta);
  return radius * std::cos(theta);
}

// PyTorch's compiler fuses this product and sum, so we do.
inline double normal(Generator& gen, double mean, double std) {
  return std::fma(standard_normal(gen), std, mean);
}

inline double log_normal(Generator& gen, double mean, double std) {
  return std::exp(normal(gen, mean, std));
}

inline double exponential(Generator& gen, double rate) {
  return -1.0 / rate * std::log1p(-unit<double>(gen));
}

inline double cauchy(Generator& gen, double median, double sigma) {
  return std::fma(sigma, std::tan(std::numbers::pi * (unit<double>(gen) - 0.5)), median);
}

inline double geometric(Generator& gen, double p) {
  return std::ceil(std::log(unit<double>(gen)) / std::log1p(-p));
}

// Marsaglia and Tsang (2000). Real, float or double, decides how alpha is rounded on the way.
template <class Real>
double gamma(Generator& gen, Real alpha);

// Knuth's product of uniforms below 10, Hoermann's transformed rejection (1993) from there on.
int64_t poisson(Generator& gen, double rate);

// Inversion by geometric gaps, or Hoermann's BTRS where count * p is 10 or more.
template <class Real>
Real binomial(Generator& gen, Real count, Real p);

}  // namespace msa::random
