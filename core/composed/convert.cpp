// Conversions that return the tensor itself where nothing changes.
#include "core/sparse/sparse.h"
#include "generated/composed_convert.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_math.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

bool in_format(const Tensor& t, OptFormat format) { return !format || t.is_contiguous(*format); }

Tensor to_dtype(const Tensor& input, DType dtype, OptFormat format) {
  return ops::to_device(input, {}, dtype, false, false, format);
}

}  // namespace

Tensor contiguous(const Tensor& input, MemoryFormat memory_format) {
  MSA_REQUIRE(memory_format != MemoryFormat::Preserve, Runtime,
              "preserve memory format is unsupported by the contiguous operator; use clone()");
  return input.is_contiguous(memory_format) ? input : ops::clone(input, memory_format);
}

Tensor to_device(const Tensor& input, OptDevice device, OptDType dtype, bool, bool copy,
                 OptFormat memory_format) {
  bool moves = device && device->kind != true_device(input).kind && device->kind != kSparseKind;
  bool casts = dtype && *dtype != input.dtype();
  if (!copy && !moves && !casts && in_format(input, memory_format)) return input;
  return ops::_to_copy(input, dtype, device, memory_format);
}

Tensor to_dtype(const Tensor& input, DType dtype, bool, bool copy, OptFormat memory_format) {
  return ops::to_device(input, {}, dtype, false, copy, memory_format);
}

Tensor half(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::F16, memory_format);
}
Tensor bfloat16(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::BF16, memory_format);
}
Tensor float_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::F32, memory_format);
}
Tensor double_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::F64, memory_format);
}
Tensor chalf(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::C32, memory_format);
}
Tensor cfloat(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::C64, memory_format);
}
Tensor cdouble(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::C128, memory_format);
}
Tensor bool_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::Bool, memory_format);
}
Tensor byte(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::U8, memory_format);
}
Tensor char_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::I8, memory_format);
}
Tensor short_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::I16, memory_format);
}
Tensor int_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::I32, memory_format);
}
Tensor long_(const Tensor& input, OptFormat memory_format) {
  return to_dtype(input, DType::I64, memory_format);
}

Tensor conj(const Tensor& input) {
  return is_complex(input.dtype()) ? ops::_conj_physical(input) : input;
}

Tensor real(const Tensor& input) {
  return is_complex(input.dtype()) ? ops::select(ops::view_as_real(input), -1, 0) : input;
}

Tensor imag(const Tensor& input) {
  MSA_REQUIRE(is_complex(input.dtype()), Runtime,
              "imag is not implemented for tensors with non-complex dtypes, got ", input);
  return ops::select(ops::view_as_real(input), -1, 1);
}

}  // namespace msa::composed
