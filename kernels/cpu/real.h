// What kernels of real floating-point numbers share: half types are computed as float.
#pragma once
#include "core/base/error.h"
#include "kernels/cpu/contiguous.h"

namespace msa::cpu {

// Calls f<float>() or f<double>(), whichever computes `dtype`.
template <class F>
void with_real(const char* op, DType dtype, F&& f) {
  switch (opmath(dtype)) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    default:
      fail(ErrorKind::NotImplemented, op, ": not implemented for ", dtype,
           ": give a floating-point dtype.");
  }
}

// An operand as contiguous T; undefined stays undefined, and its data is null.
template <class T>
Tensor as(const Tensor& t) {
  return t.defined() ? contiguous(t, dtype_of<T>::value) : t;
}
template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

// A float as the half type holds it.
inline float rounded(DType half, float v) {
  return half == DType::F16 ? static_cast<float>(f16(v)) : static_cast<float>(bf16(v));
}

// Statistics of half types are kept as PyTorch rounds them, unless the parameters are wider.
inline void round_statistics(const Tensor& input, const Tensor& weight, const Tensor& stats) {
  const DType half = input.dtype();
  if (!is_half(half) || (weight.defined() && weight.dtype() != half)) return;
  float* values = stats.data<float>();
  for (int64_t i = 0; i < stats.numel(); ++i) values[i] = rounded(half, values[i]);
}

}  // namespace msa::cpu
