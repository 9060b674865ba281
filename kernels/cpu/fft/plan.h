// The one interface to the library of Fourier transforms: plans for lines of one length.
#pragma once
#include <memory>
#include <vector>

#include "core/dtype/dtype.h"

namespace msa::cpu::fft {

// Transforms lines of n numbers without scaling, in float64 whatever the tensor's dtype: a float32
// result is then right to its last digits. A copy of a plan may run on another thread.
class Plan {
 public:
  Plan(int64_t n, bool forward);
  Plan(const Plan&);
  ~Plan();
  void run(const c128* in, c128* out);

 private:
  struct Direct;
  struct Chirp;
  std::unique_ptr<Direct> direct_;
  std::unique_ptr<Chirp> chirp_;  // instead of direct_ where n has a large prime factor
};

// Transforms lines of n real numbers to the first n / 2 + 1 of their spectrum, and such halves back
// to n real numbers. An even line is seen as n / 2 complex numbers, which halves the work.
class RealPlan {
 public:
  RealPlan(int64_t n, bool forward);
  void spectrum(const double* line, c128* half);
  void line(const c128* half, double* line);

 private:
  bool even_;
  Plan plan_;
  std::vector<c128> turns_;  // exp(-+2 pi i k / n), for even lines
  std::vector<c128> in_, out_;
};

// A plan from the small store of recent ones; the core lock guards it.
template <class P>
std::shared_ptr<const P> recent(int64_t n, bool forward);

}  // namespace msa::cpu::fft
