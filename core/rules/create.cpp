// Rules of operators that make tensors or copy them.
#include <cmath>

#include "generated/rules_create.h"

namespace msa {

Dims copy_strides(const Tensor& input, OptFormat format) {
  switch (format.value_or(MemoryFormat::Preserve)) {
    case MemoryFormat::Preserve:
      return preserved_strides(input.sizes(), input.strides());
    case MemoryFormat::Contiguous:
      return contiguous_strides(input.sizes());
    case MemoryFormat::ChannelsLast:
      MSA_REQUIRE(input.dim() == 4, Runtime,
                  "required rank 4 tensor to use channels_last format, got ", input);
      return channels_last_strides(input.sizes());
    case MemoryFormat::ChannelsLast3d:
      MSA_REQUIRE(input.dim() == 5, Runtime,
                  "required rank 5 tensor to use channels_last_3d format, got ", input);
      return channels_last_strides(input.sizes());
  }
  __builtin_unreachable();
}

namespace rules {
namespace {

// How many numbers `arange` gives; integers are counted exactly.
int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const bool fractions = !start.is_integral() || !end.is_integral() || !step.is_integral();
  if (dtype == DType::I64 && fractions) {  // which count for nothing then
    const auto whole = step.to<int64_t>();
    MSA_REQUIRE(whole != 0 || step == 0.0, Value, "arange: step must be nonzero, but in int64 ",
                step, " is 0");
    return arange_length(start.to<int64_t>(), end.to<int64_t>(), whole, dtype);
  }
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  MSA_REQUIRE(by != 0, Runtime, "arange: step must be nonzero");
  MSA_REQUIRE(std::isfinite(from) && std::isfinite(to), Runtime,
              "arange: unsupported range: ", start, " -> ", end);
  MSA_REQUIRE((by > 0 && to >= from) || (by < 0 && to <= from), Runtime,
              "arange: upper bound and lower bound inconsistent with step sign: from ", start,
              " to ", end, " by ", step);
  if (!fractions) {
    int64_t a = start.to_int(), b = end.to_int(), s = step.to_int();
    return (b - a) / s + ((b - a) % s != 0);
  }
  double length = std::ceil((to - from) / by);
  MSA_REQUIRE(length < 0x1p62, Runtime, "arange: invalid size, possible overflow: ", length,
              " elements");
  return static_cast<int64_t>(length);
}

}  // namespace

OutSpec empty(const Dims& size, OptDType dtype, OptDevice, OptFormat memory_format) {
  OutSpec spec{size, dtype.value_or(default_dtype())};
  MSA_REQUIRE(memory_format != MemoryFormat::Preserve, Runtime,
              "empty: preserve_format needs a tensor to preserve; use empty_like");
  if (memory_format.value_or(MemoryFormat::Contiguous) != MemoryFormat::Contiguous)
    spec.strides = channels_last_strides(size);
  return spec;
}

OutSpec empty_strided(const Dims& size, const Dims& stride, OptDType dtype, OptDevice) {
  MSA_REQUIRE(size.size() == stride.size(), Runtime, "empty_strided: ", size.size(), " sizes and ",
              stride.size(), " strides; give one stride for each size");
  for (int64_t s : stride)
    MSA_REQUIRE(s >= 0, Runtime, "empty_strided: negative stride in ", stride);
  return {size, dtype.value_or(default_dtype()), stride};
}

OutSpec full(const Dims& size, const Scalar& fill_value, OptDType dtype, OptDevice) {
  return {size, dtype.value_or(fill_value.natural_dtype())};
}

OutSpec full_like(const Tensor& input, const Scalar&, OptDType dtype, OptDevice device,
                  OptFormat memory_format) {
  return sized_like(input, dtype, device, memory_format);
}

OutSpec arange(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype,
               OptDevice) {
  const bool integers = start.is_integral() && end.is_integral() && step.is_integral();
  const DType given = dtype.value_or(integers ? DType::I64 : default_dtype());
  return {{arange_length(start, end, step, given)}, given};
}

OutSpec linspace(const Scalar& start, const Scalar& end, int64_t steps, OptDType dtype, OptDevice) {
  MSA_REQUIRE(steps >= 0, Runtime, "linspace: number of steps must be non-negative, got ", steps);
  bool complex = start.is_complex() || end.is_complex();
  MSA_REQUIRE(!complex || !dtype || is_complex(*dtype), Runtime, "linspace: inferred dtype ",
              to_complex(default_dtype()), " can't be safely cast to passed dtype ",
              dtype.value_or(default_dtype()));
  return {{steps}, dtype.value_or(complex ? to_complex(default_dtype()) : default_dtype())};
}

OutSpec eye(int64_t n, int64_t m, OptDType dtype, OptDevice) {
  MSA_REQUIRE(n >= 0 && m >= 0, Runtime, "eye: n and m must be greater or equal to 0, got ", n,
              " and ", m);
  return {{n, m}, dtype.value_or(default_dtype())};
}

OutSpec sized(const Dims& size, OptDType dtype, OptDevice) {
  return {size, dtype.value_or(default_dtype())};
}

OutSpec sized_like(const Tensor& input, OptDType dtype, OptDevice, OptFormat memory_format) {
  return {input.sizes(), dtype.value_or(input.dtype()), copy_strides(input, memory_format)};
}

OutSpec clone(const Tensor& input, OptFormat memory_format) {
  return {input.sizes(), input.dtype(), copy_strides(input, memory_format)};
}

OutSpec to_copy(const Tensor& input, OptDType dtype, OptDevice device, OptFormat memory_format) {
  MSA_REQUIRE(!input.device().is_meta() || device.value_or(input.device()).is_meta(),
              NotImplemented,
              "Cannot copy out of meta tensor; no data! Make the tensor on its device: "
              "torch.empty_like(t, device=...)");
  return {input.sizes(), dtype.value_or(input.dtype()), copy_strides(input, memory_format)};
}

}  // namespace rules
}  // namespace msa
