// The one interface to the library of Fourier transforms: a plan for lines of one length.
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

}  // namespace msa::cpu::fft
