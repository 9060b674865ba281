// The one interface to the library of Fourier transforms: plans for lines of one length.
#pragma once
#include <memory>
#include <vector>

#include "core/dtype/dtype.h"
#include "kernels/cpu/fft/lanes.h"

namespace msa::cpu::fft {

// Transforms lines of n numbers without scaling, in float64 whatever the tensor's dtype: a float32
// result is then right to its last digits. Lines lie in bundles of `width`, 1 or kLines, as lanes.h
// says. A copy of a plan may run on another thread.
class Plan {
 public:
  Plan(int64_t n, bool forward);
  Plan(const Plan&);
  ~Plan();
  bool takes_bundles() const { return lanes_ != nullptr; }  // else the width must be 1
  // The transformed bundle: where the given one was, or in room of the plan's.
  const double* run(double* bundle, int width);

 private:
  struct Direct;
  struct Chirp;
  struct Lanes;
  int64_t n_;
  double sign_;
  std::unique_ptr<Direct> direct_;
  std::unique_ptr<Chirp> chirp_;        // instead of both where n has a large prime factor
  std::shared_ptr<const Lanes> lanes_;  // for bundles
  std::vector<double> room_;
};

// Transforms lines of n real numbers, [n][width], to the first n / 2 + 1 of their spectrum, and
// such halves back. An even line is seen as n / 2 complex numbers, which halves the work.
class RealPlan {
 public:
  RealPlan(int64_t n, bool forward);
  bool takes_bundles() const { return plan_.takes_bundles(); }
  const double* spectrum(double* lines, int width);
  const double* lines(const double* halves, int width);

 private:
  const double* even_spectrum(const double* packed, int width);
  void pack_even(const double* halves, int width);
  void pack_odd(const double* halves, int width);

  int64_t n_;
  bool even_;
  Plan plan_;
  std::vector<c128> turns_;  // exp(-+2 pi i k / n), for even lines
  std::vector<double> bundle_, reals_;
};

// A plan from the small store of recent ones; the core lock guards it.
template <class P>
std::shared_ptr<const P> recent(int64_t n, bool forward);

}  // namespace msa::cpu::fft
