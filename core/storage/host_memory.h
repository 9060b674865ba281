// Which devices beside cpu keep their tensors in host memory, so that the core may allocate it for
// them.
#pragma once
#include "core/storage/device.h"

namespace msa {

// Said once by a backend: MindSpore's CPU target lives in host memory, Ascend does not.
void set_host_memory(DeviceKind kind, bool in_host_memory);
bool in_host_memory(Device device);

}  // namespace msa
