// What "cuda" and "npu" mean where there is no such device.
#include "core/storage/stand_in.h"

#include <atomic>

#include "core/base/warn.h"

namespace msa {
namespace {
std::atomic<Device> here{Device{}};
std::atomic<bool> present[static_cast<int>(DeviceKind::Count)];
std::atomic<bool> said{false};

}  // namespace

Device accelerator() { return here; }
void set_accelerator(Device device) { here = device; }

void set_device_present(DeviceKind kind, bool is) { present[static_cast<int>(kind)] = is; }

bool is_absent_accelerator(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const bool npu = name == device_name(DeviceKind::Npu);
  return name == "cuda" || (npu && !present[static_cast<int>(DeviceKind::Npu)]);
}

void say_stand_in() {
  if (accelerator().is_cpu() && !said.exchange(true))
    warn(
        "this machine has no accelerator: 'cuda' and 'npu' mean 'cpu' here, for tensors, streams, "
        "events and all else that the script asks of them (said once)");
}

Device meant_device_of_any_machine(std::string_view text) {
  size_t colon = text.find(':');
  if (!is_absent_accelerator(text)) return parse_device_of_any_machine(text);
  if (colon != std::string_view::npos)  // raises for what is no index
    parse_device(std::string("cpu").append(text.substr(colon)));
  return accelerator();
}

}  // namespace msa
