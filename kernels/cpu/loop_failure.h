// How a loop, which may run on any thread, reports that its data was wrong: the walker raises
// after.
#pragma once
#include <atomic>

namespace msa::cpu {

extern std::atomic<bool> divided_by_zero;
[[gnu::cold, gnu::noinline]] void note_division_by_zero();
// Raises PyTorch's RuntimeError when a loop noted one since the last call.
[[gnu::cold]] void raise_division_by_zero();
inline void check_loops() {
  if (__builtin_expect(divided_by_zero.load(std::memory_order_relaxed), 0))
    raise_division_by_zero();
}

}  // namespace msa::cpu
