// Box-Muller on one block of 16 uniforms, in the plain form that every processor can run.
#pragma once

#include <cmath>
#include <numbers>

namespace msa::random {

// data[0..8) become radii and data[8..16) angles; radius times cosine and sine take their places.
template <class Real>
void box_muller_block(Real* data, Real mean, Real std) {
  for (int i = 0; i < 8; ++i) {
    const Real positive = 1 - data[i];  // (0, 1], so that the logarithm is finite
    const Real radius = std::sqrt(-2 * std::log(positive));
    const Real theta = static_cast<Real>(2 * std::numbers::pi * data[i + 8]);
    data[i] = std::fma(radius * std::cos(theta), std, mean);
    data[i + 8] = std::fma(radius * std::sin(theta), std, mean);
  }
}

}  // namespace msa::random
