// Small things that composed operators share: numbers as tensors, tables of values, reductions.
#pragma once
#include <algorithm>
#include <vector>

#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_reduce.h"

namespace msa::composed {

inline Tensor number(double value) { return wrapped_number(Scalar(value)); }

inline void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  MSA_REQUIRE(!b.defined() || a.dtype() == b.dtype(), Runtime, op,
              ": expected tensors of one dtype, but got ", a.dtype(), " and ", b.dtype(),
              "; convert one with .to().");
}

// A vector tensor of computed values, on the device where it is used.
template <class T>
Tensor table(const std::vector<T>& values, Device device) {
  const Tensor host = empty(Dims{static_cast<int64_t>(values.size())}, dtype_of<T>::value);
  std::copy(values.begin(), values.end(), host.data<T>());
  return device.is_cpu() ? host : ops::_to_copy(host, {}, device);
}

enum Reduction : int64_t { kNone, kMean, kSum };

// The elements of a loss reduced by PyTorch's number for it.
inline Tensor reduced(const Tensor& elements, int64_t reduction) {
  switch (reduction) {
    case kNone:
      return elements;
    case kMean:
      return ops::div(ops::sum(elements), number(static_cast<double>(elements.numel())));
    case kSum:
      return ops::sum(elements);
    default:
      fail(ErrorKind::Value, "loss: reduction must be 0 (none), 1 (mean) or 2 (sum), but got ",
           reduction, ".");
  }
}

}  // namespace msa::composed
