// What "cuda" and "npu" mean where there is no such device.
#include "core/storage/stand_in.h"

#include <atomic>

#include "core/base/error.h"
#include "core/base/warn.h"

namespace msa {
namespace {
std::atomic<Device> here{Device{}};
std::atomic<bool> present[static_cast<int>(DeviceKind::Count)];
std::atomic<bool> said{false};
std::atomic<Refusal> npu_refusal{
    [] { return std::string("device 'npu' is not on this machine: take cpu or mindspore"); }};

bool is_absent_npu(std::string_view name) {
  return name == device_name(DeviceKind::Npu) && !present[static_cast<int>(DeviceKind::Npu)];
}

}  // namespace

Device accelerator() { return here; }
void set_accelerator(Device device) { here = device; }

void set_npu_refusal(Refusal refusal) { npu_refusal = refusal; }

void set_device_present(DeviceKind kind, bool is) { present[static_cast<int>(kind)] = is; }

bool is_absent_accelerator(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return name == "cuda" || is_absent_npu(name);
}

void say_stand_in() {
  if (accelerator().is_cpu() && !said.exchange(true))
    warn(
        "this machine has no accelerator: 'cuda' means 'cpu' here, for tensors, streams, events "
        "and all else that the script asks of it (said once)");
}

Device meant_device_of_any_machine(std::string_view text) {
  size_t colon = text.find(':');
  if (!is_absent_accelerator(text)) return parse_device_of_any_machine(text);
  if (colon != std::string_view::npos)  // raises for what is no index
    parse_device(std::string("cpu").append(text.substr(colon)));
  if (is_absent_npu(text.substr(0, colon)) && accelerator().is_cpu()) {
    const std::string why = npu_refusal.load()();
    if (!why.empty()) fail(ErrorKind::Runtime, why);
    return parse_device_of_any_machine(text);
  }
  return accelerator();
}

}  // namespace msa
