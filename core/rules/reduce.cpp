// Rules of reductions: which dimensions go, and the dtype in which sums are given.
#include <bitset>

#include "generated/rules.h"

namespace msa {

Dims reduced_dims(std::string_view op, const OptDims& dim, int64_t ndim) {
  std::bitset<64> named;
  if (!dim || dim->empty()) {
    for (int64_t d = 0; d < ndim; ++d) named.set(d);
  } else {
    for (int64_t d : *dim) {
      int64_t w = wrap_dim(d, ndim);
      MSA_REQUIRE(!named[w], Runtime, op, ": dim ", w, " appears multiple times in the list of dims ", *dim);
      named.set(w);
    }
  }
  Dims dims;
  for (int64_t d = 0; d < ndim; ++d)
    if (named[d]) dims.push_back(d);
  return dims;
}

Dims reduced_sizes(DimsView sizes, DimsView dims, bool keepdim) {
  Dims out;
  size_t next = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool reduced = next < dims.size() && dims[next] == static_cast<int64_t>(d);
    next += reduced;
    if (!reduced) out.push_back(sizes[d]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

namespace rules {
namespace {

DType sum_dtype(const Tensor& input, OptDType dtype) {
  return dtype.value_or(is_integral(input.dtype()) ? DType::I64 : input.dtype());
}

}  // namespace

OutSpec sum(const Tensor& input, OptDType dtype) { return {{}, sum_dtype(input, dtype)}; }

OutSpec sum_dim(const Tensor& input, const OptDims& dim, bool keepdim, OptDType dtype) {
  Dims dims = reduced_dims("sum", dim, input.dim());
  return {reduced_sizes(input.sizes(), dims, keepdim), sum_dtype(input, dtype)};
}

}  // namespace rules
}  // namespace msa
