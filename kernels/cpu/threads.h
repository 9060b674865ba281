// How many threads kernels use, and the one way to split work over them.
#pragma once
#include <cstdint>
#include <type_traits>

namespace msa::cpu {

int get_num_threads();
void set_num_threads(int n);  // raises for n < 1

// Elements of cheap work below which a second thread costs more than it brings.
inline constexpr int64_t kGrain = 32768;

using Range = void (*)(void* context, int64_t begin, int64_t end);
void split(int64_t n, int64_t grain, Range body, void* context);

// body(begin, end) over [0, n) in at most get_num_threads() pieces of at least `grain`. The body
// may not throw and may not touch counted objects. Nested calls run on the calling thread.
template <class F>
void parallel(int64_t n, int64_t grain, F&& body) {
  using Body = std::remove_reference_t<F>;
  split(
      n, grain, [](void* c, int64_t b, int64_t e) { (*static_cast<Body*>(c))(b, e); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace msa::cpu
