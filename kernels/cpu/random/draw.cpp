// Errors of random kernels, and how they see the tensor that they fill.
#include "kernels/cpu/random/draw.h"

namespace msa::cpu {

void no_dtype(std::string_view op, DType dtype, std::string_view wanted) {
  fail(ErrorKind::NotImplemented, op, ": not implemented for ", dtype, "; use ", wanted, ".");
}

Target::Target(std::string_view op, const Tensor& out)
    : data(out.data()),
      dtype(to_real(out.dtype())),
      sizes(out.sizes()),
      strides(out.strides()),
      numel(out.numel()),
      contiguous(out.is_contiguous()) {
  MSA_REQUIRE(
      !is_expanded(sizes, strides), Runtime, op,
      ": more than one element of the written-to tensor refers to a single memory location; "
      "clone() the tensor first.");
  if (!is_complex(out.dtype())) return;
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  numel *= 2;
}

}  // namespace msa::cpu
