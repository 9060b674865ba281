// KissFFT's C++ header, and Bluestein's algorithm for the lengths that it is slow at.
#include "kernels/cpu/fft/plan.h"

#include <cmath>
#include <kissfft/kissfft.hh>
#include <numbers>

namespace msa::cpu::fft {
namespace {

// The library spends n * p operations on a prime factor p.
constexpr int64_t kLargestFactor = 60;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

size_t power_of_two_from(int64_t n) {
  size_t size = 1;
  while (size < static_cast<size_t>(n)) size *= 2;
  return size;
}

}  // namespace

struct Plan::Direct {
  Direct(int64_t n, bool forward) : transform(static_cast<size_t>(n), !forward) {}
  kissfft<double> transform;
};

// Bluestein 1970: with jk = (j^2 + k^2 - (k - j)^2) / 2 a transform becomes a convolution with a
// chirp, which transforms of a power of two compute.
struct Plan::Chirp {
  Chirp(int64_t n, bool forward)
      : size(power_of_two_from(2 * n - 1)),
        there(size, false),
        back(size, true),
        chirp(static_cast<size_t>(n)),
        kernel(size),
        line(size),
        spectrum(size) {
    std::vector<c128> wave(size);
    for (int64_t k = 0; k < n; ++k) {
      const double turn = static_cast<double>(k * k % (2 * n)) / static_cast<double>(n);
      const double angle = (forward ? -1 : 1) * std::numbers::pi * turn;
      const auto i = static_cast<size_t>(k);
      chirp[i] = {std::cos(angle), std::sin(angle)};
      wave[i] = wave[(size - i) % size] = std::conj(chirp[i]);
    }
    there.transform(wave.data(), kernel.data());
  }

  void run(const c128* in, c128* out) {
    const size_t n = chirp.size();
    for (size_t i = 0; i < n; ++i) line[i] = in[i] * chirp[i];
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(n), line.end(), c128());
    there.transform(line.data(), spectrum.data());
    for (size_t i = 0; i < size; ++i) spectrum[i] *= kernel[i];
    back.transform(spectrum.data(), line.data());
    for (size_t i = 0; i < n; ++i) out[i] = line[i] * chirp[i] / static_cast<double>(size);
  }

  size_t size;
  kissfft<double> there, back;
  std::vector<c128> chirp, kernel, line, spectrum;
};

Plan::Plan(int64_t n, bool forward) {
  if (largest_prime_factor(n) <= kLargestFactor) {
    direct_ = std::make_unique<Direct>(n, forward);
  } else {
    chirp_ = std::make_unique<Chirp>(n, forward);
  }
}
Plan::Plan(const Plan& o)
    : direct_(o.direct_ ? std::make_unique<Direct>(*o.direct_) : nullptr),
      chirp_(o.chirp_ ? std::make_unique<Chirp>(*o.chirp_) : nullptr) {}
Plan::~Plan() = default;

void Plan::run(const c128* in, c128* out) {
  if (direct_) {
    direct_->transform.transform(in, out);
  } else {
    chirp_->run(in, out);
  }
}

}  // namespace msa::cpu::fft
