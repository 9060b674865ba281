// What a script's accelerator ("cuda", "npu") means on this machine: scripts written for one GPU
// name it without asking whether there is one.
#pragma once
#include "core/storage/device.h"

namespace msa {

// `cpu` while there is none. Set once, when a backend for an accelerator has been found.
Device accelerator();
void set_accelerator(Device device);

// Said by whoever gives a device a backend: a device of this name then means itself.
void set_device_present(DeviceKind kind, bool present);

// As parse_device, for what a script wrote: an accelerator that is not here means `accelerator()`,
// and a warning says so once where that is `cpu`.
Device meant_device(std::string_view text);

// The same for torch.device, which may also name a device that only other machines have ("mps"), to
// compare with: nothing can be put there.
Device meant_device_of_any_machine(std::string_view text);
Device parse_device_of_any_machine(std::string_view text);
bool is_elsewhere(Device device);
void require_here(Device device);

// The stand-in for an accelerator given as "cuda", or by its bare index.
Device stand_in();

}  // namespace msa
