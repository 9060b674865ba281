// Brings elements to where they can be read.
#include "core/dispatch/host.h"

#include "core/capture/watcher.h"
#include "core/dispatch/opaque.h"
#include "core/dispatch/thread_state.h"
#include "core/transforms/batched.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"

namespace msa {

Tensor in_host(const Tensor& t) {
  capture::tell_read(t, "an operator that decides by elements");
  if (t.device().is_cpu()) return t;
  refuse_reading(t);
  if (!is_python(t)) return ops::to_device(t, Device{});
  GradMode off(false);
  Tensor host = empty(t.sizes(), t.dtype());  // the class copies into it what it stands for
  ops::copy_(host, t);
  return host;
}

}  // namespace msa
