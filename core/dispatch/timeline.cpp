// Times each operator call on its way through the layers.
#include "core/dispatch/timeline.h"

#include <chrono>

namespace msa {

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Timeline::call(LayerCall& call) {
  const size_t place = calls.size();
  calls.push_back({&call.op, call.form, steady_now_ns(), 0});
  call.proceed();
  calls[place].end_ns = steady_now_ns();
}

}  // namespace msa
