// Positions as byte offsets: indexing kernels add up lists of these instead of walking N
// dimensions.
#pragma once
#include <vector>

#include "kernels/cpu/contiguous.h"

namespace msa::cpu {

// The offset in bytes of each element of a layout, in row-major order.
std::vector<int64_t> byte_offsets(DimsView sizes, DimsView strides, size_t item_bytes);

// f(tag of an unsigned type as wide as an item) for copies that do not care what the bytes mean.
struct Pair128 {
  uint64_t low, high;
};
template <class F>
void for_item_type(size_t item_bytes, F&& f) {
  switch (item_bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Pair128{});
  }
}

// f(tag) for the C++ type of a dtype that `op` computes with.
template <class F>
void for_dtype(const char* op, DType dtype, F&& f) {
  switch (dtype) {
#define MSA_CASE(E, T) \
  case DType::E:       \
    return f(T{});
    MSA_FOR_EACH_DTYPE(MSA_CASE)
#undef MSA_CASE
    default:
      refuse_dtype(op, dtype);
  }
}

// Reduced types are added up in the one they compute in and rounded once: add(source, sum) gets
// both in it.
template <class F>
void add_in_opmath(const Tensor& input, const Tensor& source, Tensor& out, F&& add) {
  const DType compute = opmath(input.dtype());
  Tensor sum = copied(input, compute);
  add(copied(source, compute), sum);
  copy_into(out, sum);
}

// a + b as an element of the type: bool adds as "or", halves through float.
template <class T>
T add_element(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <class T>
T mul_element(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T(static_cast<float>(a) * static_cast<float>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

}  // namespace msa::cpu
