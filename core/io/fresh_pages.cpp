// Huge pages cost a third of small ones where the machine has them at hand. Where a virtual
// machine must first get them from its host they take seconds per GiB: then small ones do, which
// are found among those that were in use before, and huge ones are tried again later.
#include "core/io/fresh_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace msa::io {

#ifdef MADV_POPULATE_WRITE
namespace {

constexpr size_t kPage = 4096, kHugePage = 2 << 20;
constexpr size_t kSmallBytes = 256 << 10;     // small pages backed at once: they stay in the cache
constexpr int64_t kSlowNanoseconds = 500000;  // a huge page that takes more is no gain
constexpr int64_t kShortestPauseBytes = 16 << 20, kLongestPauseBytes = 1 << 30;

std::atomic<int64_t> pause_bytes = kShortestPauseBytes;  // after the next huge page that is slow
std::atomic<int64_t> small_bytes_left = 0;               // until the next try

// Of this thread's work, so that other programs' turns on the processor do not count.
int64_t work_nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

size_t back_huge(char* memory) {
  int64_t start = work_nanoseconds();
  (void)madvise(memory, kHugePage, MADV_HUGEPAGE);
  (void)madvise(memory, kHugePage, MADV_POPULATE_WRITE);
  if (work_nanoseconds() - start < kSlowNanoseconds) {
    pause_bytes = kShortestPauseBytes;
  } else {
    small_bytes_left = pause_bytes.load();
    pause_bytes = std::min(2 * pause_bytes.load(), kLongestPauseBytes);
  }
  return kHugePage;
}

size_t back_small(char* memory, size_t bytes) {
  auto begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) & ~(kPage - 1);
  auto end = reinterpret_cast<uintptr_t>(memory + bytes) & ~(kPage - 1);
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
  small_bytes_left -= static_cast<int64_t>(bytes);
  return bytes;
}

}  // namespace

size_t back_with_pages(char* memory, size_t bytes) {
  size_t in_block = reinterpret_cast<uintptr_t>(memory) % kHugePage;
  if (!in_block && bytes >= kHugePage && small_bytes_left <= 0) return back_huge(memory);
  return back_small(memory, std::min({bytes, kSmallBytes, kHugePage - in_block}));
}
#else
size_t back_with_pages(char*, size_t bytes) { return bytes; }
#endif

}  // namespace msa::io
