// Rules of sorts, scans and rearrangements.
#include <bitset>

#include "generated/rules_order.h"

namespace msa::rules {
namespace {

OutSpec like(const Tensor& input) {
  return {input.sizes(), input.dtype(), preserved_strides(input.sizes(), input.strides())};
}

OutSpec indices_like(const OutSpec& values) { return {values.sizes, DType::I64, values.strides}; }

}  // namespace

OutSpec scan(const Tensor& input, int64_t dim, OptDType dtype) {
  wrap_dim(dim, input.dim());
  return {input.sizes(), dtype.value_or(is_integral(input.dtype()) ? DType::I64 : input.dtype())};
}

std::array<OutSpec, 2> scan_with_index(const Tensor& input, int64_t dim) {
  wrap_dim(dim, input.dim());
  OutSpec values{input.sizes(), input.dtype()};
  return {values, indices_like(values)};
}

std::array<OutSpec, 2> sort(const Tensor& input, OptBool, int64_t dim, bool) {
  wrap_dim(dim, input.dim());
  MSA_REQUIRE(!is_complex(input.dtype()), Runtime, "sort: complex elements have no order, got ",
              input.dtype(), "; sort .real or .abs()");
  OutSpec values = like(input);
  return {values, indices_like(values)};
}

std::array<OutSpec, 2> topk(const Tensor& input, int64_t k, int64_t dim, bool, bool) {
  int64_t d = wrap_dim(dim, input.dim()), n = input.dim() ? input.sizes()[d] : 1;
  MSA_REQUIRE(input.dtype() != DType::Bool && !is_complex(input.dtype()), Runtime,
              "topk: bool and complex elements have no order here, got ", input.dtype(),
              "; convert with .to() first");
  MSA_REQUIRE(k >= 0 && k <= n, Runtime, "topk: selected index k out of range: ", k, " of dim ", d,
              " with ", n, " elements");
  OutSpec values{input.sizes(), input.dtype()};
  if (input.dim()) values.sizes[d] = k;
  return {values, indices_like(values)};
}

OutSpec flip(const Tensor& input, const Dims& dims) {
  constexpr int64_t kMostDims = 64;
  MSA_REQUIRE(input.dim() <= kMostDims, Runtime, "flip: only tensors with up to ", kMostDims,
              " dims are supported, but the input has ", input.dim(), "; squeeze it first.");
  std::bitset<kMostDims> named;
  for (int64_t dim : dims) {
    int64_t d = wrap_dim(dim, input.dim());
    MSA_REQUIRE(!named[d], Runtime, "flip: dim ", d, " appears multiple times in the list of dims ",
                dims);
    named.set(d);
  }
  return like(input);
}

OutSpec triangle(const Tensor& input, int64_t) {
  MSA_REQUIRE(input.dim() >= 2, Runtime,
              "tril, triu: input tensor must have at least 2 dimensions, got ", input);
  return {input.sizes(), input.dtype()};
}

}  // namespace msa::rules
