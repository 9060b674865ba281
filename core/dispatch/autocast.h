// Mixed precision: while autocast is on, operators get their inputs in the dtype their row names.
#pragma once
#include "core/dispatch/layers.h"

namespace msa {

struct AutocastDevice {
  bool enabled = false;
  DType dtype = DType::BF16;  // of what runs in lower precision
};

// Of this thread; `device` is cpu or an accelerator.
AutocastDevice& autocast_of(DeviceKind device);
void set_autocast_enabled(DeviceKind device, bool enabled);

// Weights are cast once for as long as autocast is on: while no entered region is left, the caller
// clears the cache.
bool& autocast_keeps_weights();  // of this thread
int& autocast_nesting();         // entered regions of this thread
void clear_autocast_cache();

// Runs the call with its inputs cast if autocast has something to say about it.
bool autocast_call(const OpInfo& op, Form form, const Value* args, Results& results);

}  // namespace msa
