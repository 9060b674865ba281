// KissFFT's C++ header, and Bluestein's algorithm for the lengths that it is slow at.
#include "kernels/cpu/fft/plan.h"

#include <algorithm>
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

RealPlan::RealPlan(int64_t n, bool forward)
    : even_(n % 2 == 0),
      plan_(even_ ? n / 2 : n, forward),
      in_(static_cast<size_t>(even_ ? n / 2 : n)),
      out_(in_.size()) {
  for (int64_t k = 0; even_ && k <= n / 2; ++k) {
    const double angle =
        (forward ? -2 : 2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    turns_.emplace_back(std::cos(angle), std::sin(angle));
  }
}

void RealPlan::spectrum(const double* line, c128* half) {
  const size_t n = in_.size();
  for (size_t i = 0; i < n; ++i) in_[i] = even_ ? c128(line[2 * i], line[2 * i + 1]) : line[i];
  plan_.run(in_.data(), out_.data());
  if (!even_) {
    std::copy_n(out_.data(), n / 2 + 1, half);
    return;
  }
  // The spectra of the even and of the odd places are the Hermitian parts of what came out.
  for (size_t k = 0; k <= n; ++k) {
    const c128 a = out_[k % n], b = std::conj(out_[(n - k) % n]), odd = (a - b) * 0.5;
    half[k] = (a + b) * 0.5 + turns_[k] * c128(odd.imag(), -odd.real());
  }
}

void RealPlan::line(const c128* half, double* line) {
  const size_t n = in_.size();
  if (!even_) {
    in_[0] = half[0].real();
    for (size_t k = 1; k <= n / 2; ++k) {
      in_[k] = half[k];
      in_[n - k] = std::conj(half[k]);
    }
  } else {
    for (size_t k = 0; k < n; ++k) {
      // The ends are real numbers, whatever their imaginary parts say.
      const c128 a = k ? half[k] : half[0].real(), b = k ? std::conj(half[n - k]) : half[n].real(),
                 odd = turns_[k] * (a - b);
      in_[k] = a + b + c128(-odd.imag(), odd.real());
    }
  }
  plan_.run(in_.data(), out_.data());
  for (size_t i = 0; i < n; ++i) {
    if (!even_) {
      line[i] = out_[i].real();
    } else {
      line[2 * i] = out_[i].real(), line[2 * i + 1] = out_[i].imag();
    }
  }
}

template <class P>
std::shared_ptr<const P> recent(int64_t n, bool forward) {
  constexpr int64_t kLargestKept = 1 << 16;  // 1 MiB of roots of unity
  constexpr size_t kKept = 16;
  struct Entry {
    int64_t n;
    bool forward;
    std::shared_ptr<const P> plan;
  };
  static std::vector<Entry> entries;  // the last used in front
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& e) { return e.n == n && e.forward == forward; });
  if (found != entries.end()) {
    std::rotate(entries.begin(), found, found + 1);
    return entries.front().plan;
  }
  auto plan = std::make_shared<const P>(n, forward);
  if (n > kLargestKept) return plan;
  if (entries.size() == kKept) entries.pop_back();
  entries.insert(entries.begin(), Entry{n, forward, plan});
  return plan;
}
template std::shared_ptr<const Plan> recent(int64_t, bool);
template std::shared_ptr<const RealPlan> recent(int64_t, bool);

}  // namespace msa::cpu::fft
