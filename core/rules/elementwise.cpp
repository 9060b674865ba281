// Rules of elementwise kernels that are no plain elementwise rows.
#include "core/dispatch/elementwise.h"

#include "core/base/warn.h"
#include "generated/rules_compare.h"
#include "generated/rules_math.h"

namespace msa::rules {

OutSpec where(const Tensor& condition, const Tensor& input, const Tensor& other) {
  MSA_REQUIRE(condition.dtype() == DType::Bool || condition.dtype() == DType::U8, Runtime,
              "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              condition.dtype());
  if (condition.dtype() == DType::U8)
    warn("where: a uint8 condition is deprecated; convert it with .bool()");
  const Tensor* values[] = {&input, &other};
  Dims sizes = broadcast_sizes("where", broadcast_sizes("where", condition.sizes(), input.sizes()),
                               other.sizes());
  return {sizes, result_type(values)};
}

OutSpec interleaved(const Tensor& real, const Tensor&) {
  return {real.sizes(), to_complex(real.dtype())};
}

OutSpec masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value) {
  MSA_REQUIRE(mask.dtype() == DType::Bool, Runtime,
              "masked_fill only supports boolean masks, but got mask with dtype ", mask.dtype());
  MSA_REQUIRE(value.dim() == 0, Runtime,
              "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  MSA_REQUIRE(!is_complex(value.dtype()) || is_complex(input.dtype()), Runtime,
              "masked_fill: value cannot be converted to type ", input.dtype(),
              " without overflow");
  Dims sizes = broadcast_sizes("masked_fill", input.sizes(), mask.sizes());
  if (sizes == input.sizes())
    return {sizes, input.dtype(), preserved_strides(input.sizes(), input.strides())};
  return {sizes, input.dtype()};
}

}  // namespace msa::rules
