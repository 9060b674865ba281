// Splits work over an OpenMP team. A team does not survive fork(): the child runs on one thread.
#include "kernels/cpu/threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>

#include "core/base/error.h"

namespace msa::cpu {
namespace {

int threads =
    0;  // 0: not asked yet; then OpenMP's default, which heeds OMP_NUM_THREADS and affinity
bool forked = false;

void after_fork_in_child() {
  forked = true;
  threads = 1;
  omp_set_num_threads(1);  // for the libraries that ask OpenMP themselves
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

int get_num_threads() {
  if (threads == 0) threads = omp_get_max_threads();
  return threads;
}

void set_num_threads(int n) {
  MSA_REQUIRE(n >= 1, Runtime, "set_num_threads: expected a positive number of threads, got ", n);
  threads = forked ? 1 : n;
  omp_set_num_threads(threads);
}

void split(int64_t n, int64_t grain, Range body, void* context) {
  int64_t pieces = std::min<int64_t>(get_num_threads(), n / std::max<int64_t>(grain, 1));
  if (pieces <= 1 || omp_in_parallel()) {
    if (n > 0) body(context, 0, n);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(pieces))
  {
    int64_t i = omp_get_thread_num(), count = omp_get_num_threads();
    int64_t begin = n * i / count, end = n * (i + 1) / count;
    if (begin < end) body(context, begin, end);
  }
}

}  // namespace msa::cpu
