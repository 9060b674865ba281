// Filling and copying: what makes tensors hold a value or another tensor's elements.
#include <cstring>

#include "core/base/warn.h"
#include "core/dispatch/overlap.h"
#include "generated/kernels_create.h"
#include "kernels/cpu/walk.h"

namespace msa::kernels {
namespace {

cpu::Operand operand(const Tensor& t) { return {t.data(), t.dtype(), t.strides().data()}; }

void fill_with(Tensor& t, const void* element) {
  if (t.numel() == 0) return;
  Dims repeat(t.sizes().size(), 0);
  cpu::copy_elements(t.sizes(), operand(t), {const_cast<void*>(element), t.dtype(), repeat.data()});
}

void zero(Tensor& t) {
  if (is_dense(t.sizes(), t.strides())) {
    if (t.numel()) std::memset(t.data(), 0, static_cast<size_t>(t.numel()) * t.item_bytes());
    return;
  }
  static constexpr char kZeros[16] = {};
  fill_with(t, kZeros);
}

}  // namespace

void zeros(const Dims&, OptDType, OptDevice, Tensor& out0) { zero(out0); }
void zeros_like(const Tensor&, OptDType, OptDevice, OptFormat, Tensor& out0) { zero(out0); }

void zero_(Tensor& input) { zero(input); }

void fill_(Tensor& input, const Scalar& value) {
  alignas(16) char element[16];
  store_checked(value, input.dtype(), element);
  fill_with(input, element);
}

void copy_(Tensor& input, const Tensor& src, bool) {
  if (input.impl() == src.impl()) return;
  MSA_REQUIRE(!src.device().is_meta(), NotImplemented,
              "copy_: cannot copy out of meta tensor; no data!");
  MSA_REQUIRE(broadcast_sizes("copy_", input.sizes(), src.sizes()) == input.sizes(), Runtime,
              "copy_: output with shape ", input.sizes(),
              " doesn't match the broadcast shape of src ", src.sizes());
  check_no_repeats("copy_", input);
  check_no_overlap("copy_", input, src);
  if (is_complex(src.dtype()) && !is_complex(input.dtype()))
    warn("Casting complex values to real discards the imaginary part");
  Dims strides = expanded_strides(src.sizes(), src.strides(), input.sizes());
  cpu::copy_elements(input.sizes(), operand(input), {src.data(), src.dtype(), strides.data()});
}

void clone(const Tensor& input, OptFormat, Tensor& out0) {
  cpu::copy_elements(input.sizes(), operand(out0), operand(input));
}

void _to_copy(const Tensor& input, OptDType, OptDevice, OptFormat, Tensor& out0) {
  if (is_complex(input.dtype()) && !is_complex(out0.dtype()))
    warn("Casting complex values to real discards the imaginary part");
  cpu::copy_elements(input.sizes(), operand(out0), operand(input));
}

}  // namespace msa::kernels
