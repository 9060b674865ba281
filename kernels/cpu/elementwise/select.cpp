// Choosing between elements: where and masked_fill, on bytes of a size, whatever the dtype.
#ifndef MSA_ISA
#include "generated/kernels_compare.h"
#include "kernels/cpu/walk.h"
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/select.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::kernels {
namespace {

Loop select_loop(size_t item_bytes) {
  DType stands_for = item_bytes == 1   ? DType::U8
                     : item_bytes == 2 ? DType::U16
                     : item_bytes == 4 ? DType::U32
                     : item_bytes == 8 ? DType::U64
                                       : DType::C128;
  return cpu::loops_select->loops[static_cast<int>(stands_for)];
}

void select(const Tensor& condition, const Tensor& yes, const Tensor& no, Tensor& out) {
  const Tensor* tensors[] = {&out, &condition, &yes, &no};
  Dims strides[4];
  cpu::Operand operands[4];
  for (int k = 0; k < 4; ++k) {
    strides[k] = expanded_strides(tensors[k]->sizes(), tensors[k]->strides(), out.sizes());
    operands[k] = {tensors[k]->data(), tensors[k]->dtype(), strides[k].data()};
  }
  DType seen[] = {out.dtype(), DType::Bool, out.dtype(), out.dtype()};
  cpu::walk(out.sizes(), operands, select_loop(out.item_bytes()), seen);
}

}  // namespace

void where(const Tensor& condition, const Tensor& input, const Tensor& other, Tensor& out0) {
  select(condition, input, other, out0);
}

void masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value, Tensor& out0) {
  select(mask, value, input, out0);
}

}  // namespace msa::kernels
#else

using Sizes = Types<uint8_t, uint16_t, uint32_t, uint64_t, Cx<double> >;
MSA_LOOPS(select, Sizes, []<class T>(const Scalar*) {
  if constexpr (kIsComplex<T>) {
    return [](bool condition, T yes, T no) -> T { return condition ? yes : no; };
  } else {  // by masks: no branch that data at random would mislead
    return [](uint8_t condition, T yes, T no) -> T {  // bool's conversion makes no vectors
      const T mask = static_cast<T>(T(0) - T(condition));
      return static_cast<T>((yes & mask) | (no & static_cast<T>(~mask)));
    };
  }
})
#endif
