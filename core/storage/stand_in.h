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

// Whether the text names an accelerator that is not here: it then means `accelerator()`; "npu" is
// refused where that is `cpu`.
bool is_absent_accelerator(std::string_view text);

// As parse_device, for what a script wrote; may also be a device that only other machines have
// ("mps"), to compare with: nothing can be put there. Says nothing of a stand-in: that is for
// whoever puts something there.
Device meant_device_of_any_machine(std::string_view text);
Device parse_device_of_any_machine(std::string_view text);
bool is_elsewhere(Device device);
void require_here(Device device);

// Something is put on an accelerator that is not here: a warning says once where it goes instead.
void say_stand_in();

// What the refusal of "npu" says: who knows what to look for on a machine gives it. Empty where it
// has found the device, which is present from then on.
using Refusal = std::string (*)();
void set_npu_refusal(Refusal refusal);

}  // namespace msa
