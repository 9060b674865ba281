// Tensors that are no bytes: sparse ones, and those whose operators Python runs. Each is on a
// device kind of its own, which no kernel takes, so that calls on them end at their backend.
#pragma once
#include "core/tensor/tensor.h"

namespace msa {

// Behind the kinds that have a name: users cannot ask for them, and no table of devices has them.
inline constexpr DeviceKind kSparseKind = DeviceKind::Count;
inline constexpr DeviceKind kPythonKind =
    static_cast<DeviceKind>(static_cast<int>(kSparseKind) + 1);

inline bool is_opaque(Device d) { return d.kind >= kSparseKind; }
inline bool is_opaque(const Tensor& t) {
  return __builtin_expect(is_opaque(t->storage->device), 0);
}
inline bool is_python(const Tensor& t) {
  return __builtin_expect(t->storage->device.kind == kPythonKind, 0);
}

inline Device claimed_device(Device d) {
  return d.kind == kPythonKind ? Device{static_cast<DeviceKind>(d.index)} : d;
}

// What is known of a tensor of a class with __torch_dispatch__ (bindings/torch_dispatch.h).
struct PythonParts {
  Device device;  // where it says it is; the storage's index has its kind
  Tensor data;    // what it was made of (_make_subclass); undefined for a wrapper
};
inline const PythonParts& python_parts(const Tensor& t) {
  return *static_cast<const PythonParts*>(t->storage->context);
}

}  // namespace msa
