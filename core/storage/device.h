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

std::string_view device_name(DeviceKind kind);  // "cpu"
Device parse_device(std::string_view text);     // "cpu", "mindspore:0"; raises PyTorch's errors

namespace detail {
void append(std::string& s, const Device& d);  // "cpu", "mindspore:0"
}

}  // namespace msa
