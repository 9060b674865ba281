// Device names, parsed as PyTorch parses them.
#include "core/storage/device.h"

#include <charconv>

#include "core/base/error.h"
#include "core/storage/stand_in.h"

namespace msa {
namespace {
// "sparse", "python" and "batched" are no places that one can ask for: core/dispatch/opaque.h.
// Those behind them are devices of other machines.
constexpr std::string_view kNames[] = {"cpu",    "meta",    "mindspore", "npu",    "sparse",
                                       "python", "batched", "xpu",       "mps",    "xla",
                                       "hpu",    "mtia",    "ipu",       "vulkan", "privateuseone"};
constexpr int kHere = static_cast<int>(DeviceKind::Count);
constexpr int kElsewhere = kHere + 3;

int8_t parse_index(std::string_view text, std::string_view digits) {
  int index = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool whole = error == std::errc() && end == digits.data() + digits.size() && index >= 0;
  bool padded = digits.size() > 1 && digits[0] == '0';
  MSA_REQUIRE(whole && !padded && index < 128, Runtime, "Invalid device string: '", text,
              "': after the colon comes an index from 0 to 127");
  return static_cast<int8_t>(index);
}
}  // namespace

std::string_view device_name(DeviceKind kind) { return kNames[static_cast<int>(kind)]; }

bool is_elsewhere(Device device) { return static_cast<int>(device.kind) >= kElsewhere; }

Device parse_device_of_any_machine(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  Device device{DeviceKind::Count};
  for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i)
    if ((i < kHere || i >= kElsewhere) && kNames[i] == name)
      device.kind = static_cast<DeviceKind>(i);
  MSA_REQUIRE(
      device.kind != DeviceKind::Count, Runtime,
      "Expected one of cpu, meta, mindspore, npu device type at start of device string: ", text);
  if (colon != std::string_view::npos) device.index = parse_index(text, text.substr(colon + 1));
  return device;
}

void require_here(Device device) {
  MSA_REQUIRE(!is_elsewhere(device), Runtime, "device '", device,
              "' is not on this machine: take one of cpu, meta, mindspore, npu");
}

Device parse_device(std::string_view text) {
  Device device = parse_device_of_any_machine(text);
  require_here(device);
  return device;
}

namespace detail {
void append(std::string& s, const Device& d) {
  s.append(device_name(d.kind));
  if (d.index >= 0) s.append(":").append(std::to_string(d.index));
}
}  // namespace detail

}  // namespace msa
