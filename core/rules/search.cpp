// Rules of searches, counts and scatter reductions.
#include "generated/rules_index.h"
#include "generated/rules_place.h"
#include "generated/rules_search.h"
#include "generated/rules_special.h"

namespace msa::rules {

std::array<OutSpec, 2> frexp(const Tensor& input) {
  MSA_REQUIRE(is_floating(input.dtype()), Runtime,
              "frexp: only supports floating-point dtypes, got ", input.dtype());
  Dims strides = preserved_strides(input.sizes(), input.strides());
  return {OutSpec{input.sizes(), input.dtype(), strides},
          OutSpec{input.sizes(), DType::I32, strides}};
}

OutSpec searchsorted(const Tensor&, const Tensor& input, const Tensor&, bool, bool out_int32) {
  return {input.sizes(), out_int32 ? DType::I32 : DType::I64};
}

OutSpec histogram(const Tensor& input, const Tensor& edges, const Tensor&, bool) {
  return {{edges.numel() - 1}, input.dtype()};
}

OutSpec histc(const Tensor& input, int64_t bins, double, double) { return {{bins}, input.dtype()}; }

OutSpec logcumsumexp(const Tensor& input, int64_t dim) {
  wrap_dim(dim, input.dim());
  MSA_REQUIRE(is_inexact(input.dtype()), NotImplemented, "logcumsumexp: not implemented for ",
              input.dtype(), "; convert with .float() first");
  return {input.sizes(), input.dtype()};
}

OutSpec scatter_fold(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                     std::string_view, bool) {
  return scatter(input, dim, index, src);
}

}  // namespace msa::rules
