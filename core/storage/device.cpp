// Device names, parsed as PyTorch parses them.
#include "core/storage/device.h"

#include <charconv>

#include "core/base/error.h"

namespace msa {
namespace {
// The last are no places that one can ask for: core/dispatch/opaque.h.
constexpr std::string_view kNames[] = {"cpu",    "meta",   "mindspore", "npu",
                                       "sparse", "python", "batched"};
static_assert(std::size(kNames) == static_cast<size_t>(DeviceKind::Count) + 3);
}  // namespace

std::string_view device_name(DeviceKind kind) { return kNames[static_cast<int>(kind)]; }

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  Device device{DeviceKind::Count};
  for (int i = 0; i < static_cast<int>(DeviceKind::Count); ++i)
    if (kNames[i] == name) device.kind = static_cast<DeviceKind>(i);
  MSA_REQUIRE(
      device.kind != DeviceKind::Count, Runtime,
      "Expected one of cpu, meta, mindspore, npu device type at start of device string: ", text);
  if (colon == std::string_view::npos) return device;
  std::string_view digits = text.substr(colon + 1);
  int index = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool whole = error == std::errc() && end == digits.data() + digits.size() && index >= 0;
  bool padded = digits.size() > 1 && digits[0] == '0';
  MSA_REQUIRE(whole && !padded && index < 128, Runtime, "Invalid device string: '", text,
              "': after the colon comes an index from 0 to 127");
  device.index = static_cast<int8_t>(index);
  return device;
}

namespace detail {
void append(std::string& s, const Device& d) {
  s.append(device_name(d.kind));
  if (d.index >= 0) s.append(":").append(std::to_string(d.index));
}
}  // namespace detail

}  // namespace msa
