// The shared runner of elementwise rows: promotion, broadcasting, output, device, then the loops.
#pragma once
#include <initializer_list>

#include "core/tensor/tensor.h"

namespace msa {

// A loop over `outer` x `inner` elements. data[0] is the output, data[1..] the inputs, all of the
// loop's own dtype (bool output for comparisons, the real type for abs of complex). `strides` holds
// n_operands inner strides in bytes, then n_operands outer ones.
using Loop = void (*)(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                      const Scalar* params);

// The loops of one operator for one instruction set, by compute dtype; null: not supported. Half
// types have none: the walker converts blocks and runs the float loop.
struct LoopTable {
  Loop loops[kLoopDTypes] = {};
  Loop of(DType t) const { return t < DType::C32 ? loops[static_cast<int>(t)] : nullptr; }
};

// How the compute dtype and the output's dtype follow from the inputs.
enum class DTypeRule : uint8_t {
  Promote,       // compute and return torch.result_type
  PromoteFloat,  // the same, integers to the default float first
  Compare,       // compute in the promoted type, return bool
  ToReal,        // compute in the promoted type, return its real type (abs, angle, real-valued)
  Float,         // like PromoteFloat but complex is refused
};

// kRefusesNegative: a negative int as the second input, where the first holds integers.
enum : uint8_t { kRefusesBool = 1, kRefusesComplex = 2, kRefusesNegative = 4 };

struct ElementwiseOp {
  const char* name;
  DTypeRule rule;
  uint8_t n_inputs;
  const LoopTable* const* table;  // points at the table chosen for this machine when loaded
  // Half types: a 0-d `other` is not rounded to half first (mul and div in PyTorch).
  bool exact_other = false;
  bool exact_out = false;  // out= must have the result's dtype
  bool alpha = false;      // the parameter is a factor that must suit the result's dtype
  uint8_t refuses = 0;     // inputs that PyTorch names as wrong
};

// `out`: null makes a new tensor; `inplace` means that out is the first input and may not change
// shape.
Tensor run_elementwise(const ElementwiseOp& op, std::initializer_list<const Tensor*> inputs,
                       std::initializer_list<Scalar> params = {}, Tensor* out = nullptr,
                       bool inplace = false);

// torch.result_type over tensors: dimensioned ones, then 0-d ones, then wrapped numbers.
DType result_type(std::span<const Tensor* const> inputs);

}  // namespace msa
