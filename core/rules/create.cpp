// Rules of operators that make tensors or copy them.
#include "generated/rules.h"

namespace msa {

Dims copy_strides(const Tensor& input, OptFormat format) {
  switch (format.value_or(MemoryFormat::Preserve)) {
    case MemoryFormat::Preserve: return preserved_strides(input.sizes(), input.strides());
    case MemoryFormat::Contiguous: return contiguous_strides(input.sizes());
    case MemoryFormat::ChannelsLast:
      MSA_REQUIRE(input.dim() == 4, Runtime, "required rank 4 tensor to use channels_last format, got ", input);
      return channels_last_strides(input.sizes());
    case MemoryFormat::ChannelsLast3d:
      MSA_REQUIRE(input.dim() == 5, Runtime, "required rank 5 tensor to use channels_last_3d format, got ", input);
      return channels_last_strides(input.sizes());
  }
  __builtin_unreachable();
}

namespace rules {

OutSpec sized(const Dims& size, OptDType dtype, OptDevice) { return {size, dtype.value_or(default_dtype())}; }

OutSpec sized_like(const Tensor& input, OptDType dtype, OptDevice, OptFormat memory_format) {
  return {input.sizes(), dtype.value_or(input.dtype()), copy_strides(input, memory_format)};
}

OutSpec clone(const Tensor& input, OptFormat memory_format) {
  return {input.sizes(), input.dtype(), copy_strides(input, memory_format)};
}

OutSpec to_copy(const Tensor& input, OptDType dtype, OptDevice device, OptFormat memory_format) {
  MSA_REQUIRE(!input.device().is_meta() || device.value_or(input.device()).is_meta(), NotImplemented,
              "Cannot copy out of meta tensor; no data! Make the tensor on its device: torch.empty_like(t, device=...)");
  return {input.sizes(), dtype.value_or(input.dtype()), copy_strides(input, memory_format)};
}

}  // namespace rules
}  // namespace msa
