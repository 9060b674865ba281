// A layer that writes down when operators began and ended: what the profiler shows.
#pragma once
#include <vector>

#include "core/dispatch/layers.h"

namespace msa {

struct TimedCall {
  const OpInfo* op;
  Form form;
  int64_t begin_ns, end_ns;  // of the steady clock
};

// Sees what the user wrote and what backward runs; the parts of composed operators are in their
// time.
class Timeline final : public Layer {
 public:
  Level level() const override { return Level::Outermost; }
  void call(LayerCall& call) override;
  std::vector<TimedCall> calls;
};

int64_t steady_now_ns();

}  // namespace msa
