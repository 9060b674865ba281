// KissFFT's C++ header, and Bluestein's algorithm for the lengths that it is slow at.
#include "kernels/cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <kissfft/kissfft.hh>
#include <numbers>

namespace msa::cpu::fft {
namespace {

// The library spends n * p operations on a prime factor p, and so do our own passes.
constexpr int64_t kLargestFactor = kLargestRadix;

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

// (cosine, sine) of 2 pi i / n, appended.
void add_root(std::vector<double>& to, int64_t i, int64_t n) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(i % n) / static_cast<double>(n);
  to.push_back(std::cos(angle));
  to.push_back(std::sin(angle));
}

// Stockham's passes.
struct Plan::Lanes {
  explicit Lanes(int64_t n) {
    int64_t length = n, stride = 1;
    for (const int radix : radices(n)) {
      const int64_t butterflies = length / radix;
      std::vector<double>& t = tables.emplace_back();
      for (int64_t p = 0; p < butterflies; ++p) {
        for (int64_t k = 1; k < radix; ++k) add_root(t, p * k, length);
      }
      std::vector<double>& r = tables.emplace_back();
      for (int64_t j = 0; j < radix; ++j) add_root(r, j, radix);
      passes.push_back({radix, butterflies, stride, t.data(), r.data()});
      length = butterflies;
      stride *= radix;
    }
  }
  static std::vector<int> radices(int64_t n) {
    std::vector<int> found;
    for (; n % 4 == 0; n /= 4) found.push_back(4);
    for (int p = 2; n > 1; ++p) {
      for (; n % p == 0; n /= p) found.push_back(p);
    }
    return found;
  }
  std::deque<std::vector<double>> tables;  // which the passes point into
  std::vector<LanePass> passes;
};

Plan::Plan(int64_t n, bool forward) : n_(n), sign_(forward ? -1 : 1) {
  if (largest_prime_factor(n) <= kLargestFactor) {
    direct_ = std::make_unique<Direct>(n, forward);
    lanes_ = std::make_shared<const Lanes>(n);
  } else {
    chirp_ = std::make_unique<Chirp>(n, forward);
  }
}
Plan::Plan(const Plan& o)
    : n_(o.n_),
      sign_(o.sign_),
      direct_(o.direct_ ? std::make_unique<Direct>(*o.direct_) : nullptr),
      chirp_(o.chirp_ ? std::make_unique<Chirp>(*o.chirp_) : nullptr),
      lanes_(o.lanes_) {}
Plan::~Plan() = default;

const double* Plan::run(double* bundle, int width) {
  room_.resize(static_cast<size_t>(2 * n_ * width));
  if (width == kLines) {
    return transform_lanes(lanes_->passes.data(), static_cast<int>(lanes_->passes.size()), sign_,
                           bundle, room_.data());
  }
  const auto* const in = reinterpret_cast<const c128*>(bundle);
  auto* const out = reinterpret_cast<c128*>(room_.data());
  if (direct_) {
    direct_->transform.transform(in, out);
  } else {
    chirp_->run(in, out);
  }
  return room_.data();
}

RealPlan::RealPlan(int64_t n, bool forward)
    : n_(n), even_(n % 2 == 0), plan_(even_ ? n / 2 : n, forward) {
  for (int64_t k = 0; even_ && k <= n / 2; ++k) {
    const double angle =
        (forward ? -2 : 2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    turns_.emplace_back(std::cos(angle), std::sin(angle));
  }
}

const double* RealPlan::spectrum(double* lines, int width) {
  if (even_) return even_spectrum(plan_.run(lines, width), width);
  bundle_.assign(static_cast<size_t>(2 * n_ * width), 0.0);
  for (int64_t i = 0; i < n_; ++i) std::copy_n(lines + i * width, width, &bundle_[2 * i * width]);
  return plan_.run(bundle_.data(), width);
}

// The spectra of the even and of the odd places are the Hermitian parts of what came out.
const double* RealPlan::even_spectrum(const double* packed, int width) {
  const int64_t n = n_ / 2;
  bundle_.resize(static_cast<size_t>(2 * (n + 1) * width));
  for (int64_t k = 0; k <= n; ++k) {
    const double* const a = packed + 2 * (k % n) * width;
    const double* const b = packed + 2 * ((n - k) % n) * width;
    double* const out = &bundle_[2 * k * width];
    const double c = turns_[k].real(), d = turns_[k].imag();
    for (int i = 0; i < width; ++i) {
      const double even_re = (a[i] + b[i]) * 0.5, even_im = (a[width + i] - b[width + i]) * 0.5;
      const double odd_re = (a[width + i] + b[width + i]) * 0.5, odd_im = (b[i] - a[i]) * 0.5;
      out[i] = even_re + (c * odd_re - d * odd_im);
      out[width + i] = even_im + (c * odd_im + d * odd_re);
    }
  }
  return bundle_.data();
}

const double* RealPlan::lines(const double* halves, int width) {
  bundle_.resize(static_cast<size_t>(2 * (even_ ? n_ / 2 : n_) * width));
  if (even_) {
    pack_even(halves, width);
    return plan_.run(bundle_.data(), width);
  }
  pack_odd(halves, width);
  const double* const out = plan_.run(bundle_.data(), width);
  reals_.resize(static_cast<size_t>(n_ * width));
  for (int64_t i = 0; i < n_; ++i) std::copy_n(out + 2 * i * width, width, &reals_[i * width]);
  return reals_.data();
}

// The ends of a half are real numbers, whatever their imaginary parts say.
void RealPlan::pack_even(const double* halves, int width) {
  const int64_t n = n_ / 2;
  for (int64_t k = 0; k < n; ++k) {
    const double* const a = halves + 2 * k * width;
    const double* const b = halves + 2 * (n - k) * width;
    double* const out = &bundle_[2 * k * width];
    const double c = turns_[k].real(), d = turns_[k].imag();
    for (int i = 0; i < width; ++i) {
      const double a_im = k ? a[width + i] : 0.0, b_im = k ? b[width + i] : 0.0;
      const double re = a[i] - b[i], im = a_im + b_im;
      out[i] = a[i] + b[i] - (c * im + d * re);
      out[width + i] = a_im - b_im + (c * re - d * im);
    }
  }
}

void RealPlan::pack_odd(const double* halves, int width) {
  for (int64_t k = 0; k < n_; ++k) {
    const bool mirrored = k > n_ / 2;
    const double* const from = halves + 2 * (mirrored ? n_ - k : k) * width;
    double* const out = &bundle_[2 * k * width];
    for (int i = 0; i < width; ++i) {
      out[i] = from[i];
      out[width + i] = k == 0 ? 0.0 : mirrored ? -from[width + i] : from[width + i];
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
