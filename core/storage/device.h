// Where a tensor lives.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace msa {

enum class DeviceKind : uint8_t { Cpu, Meta, MindSpore, Npu, Count };

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int8_t index = -1;  // -1: none given

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return kind == DeviceKind::Cpu; }
  bool is_meta() const { return kind == DeviceKind::Meta; }
};

// Behind the kinds that have a name, and those of core/dispatch/opaque.h: tensors of a vmap
// (core/transforms/batched.h). Such a device has the real kind as its index.
inline constexpr auto kBatchedKind =
    static_cast<DeviceKind>(static_cast<int>(DeviceKind::Count) + 2);
inline Device placed(Device d) {
  return d.kind == kBatchedKind ? Device{static_cast<DeviceKind>(d.index)} : d;
}

std::string_view device_name(DeviceKind kind);  // "cpu"
Device parse_device(std::string_view text);     // "cpu", "mindspore:0"; raises PyTorch's errors

namespace detail {
void append(std::string& s, const Device& d);  // "cpu", "mindspore:0"
}

}  // namespace msa
