// Rules of reductions: which dimensions go, and the dtype in which sums are given.
#include <bitset>

#include "generated/rules_order.h"
#include "generated/rules_reduce.h"

namespace msa {

Dims reduced_dims(std::string_view op, const OptDims& dim, int64_t ndim) {
  Dims dims;
  if (!dim || dim->empty()) {
    for (int64_t d = 0; d < ndim; ++d) dims.push_back(d);
    return dims;
  }
  constexpr int64_t kMostDims = 64;
  MSA_REQUIRE(ndim <= kMostDims, Runtime, op, ": only tensors with up to ", kMostDims,
              " dims are supported, but the input has ", ndim, "; squeeze it first.");
  std::bitset<kMostDims> named;
  for (int64_t d : *dim) {
    int64_t w = wrap_dim(d, ndim);
    MSA_REQUIRE(!named[w], Runtime, op, ": dim ", w, " appears multiple times in the list of dims ",
                *dim);
    named.set(w);
  }
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

DType mean_dtype(const Tensor& input, OptDType dtype) {
  DType out = dtype.value_or(input.dtype());
  MSA_REQUIRE(is_inexact(out), Runtime,
              "mean: could not infer output dtype. Input dtype must be either a floating point or ",
              "complex dtype. Got: ", out, "; convert with .float(), or pass dtype=");
  return out;
}

// The largest of nothing does not exist.
void check_not_empty(std::string_view op, const Tensor& input, const OptDims& dim) {
  if (input.numel() != 0) return;
  if (!dim || dim->empty())
    fail(ErrorKind::Runtime, op,
         ": Expected reduction dim to be specified for input.numel() == 0. Specify the reduction ",
         "dim with the 'dim' argument.");
  for (int64_t d : *dim)
    MSA_REQUIRE(input.size(d) != 0, Index, op, ": Expected reduction dim ", d,
                " to have non-zero size.");
}

// One element of each line along `dim`, and where it stood.
std::array<OutSpec, 2> selected_with_index(std::string_view op, const Tensor& input, int64_t dim,
                                           bool keepdim) {
  check_not_empty(op, input, Dims{dim});
  Dims sizes = reduced_sizes(input.sizes(), reduced_dims(op, Dims{dim}, input.dim()), keepdim);
  return {OutSpec{sizes, input.dtype()}, OutSpec{sizes, DType::I64}};
}

}  // namespace

OutSpec sum(const Tensor& input, OptDType dtype) { return {{}, sum_dtype(input, dtype)}; }

OutSpec sum_dim(const Tensor& input, const OptDims& dim, bool keepdim, OptDType dtype) {
  Dims dims = reduced_dims("sum", dim, input.dim());
  return {reduced_sizes(input.sizes(), dims, keepdim), sum_dtype(input, dtype)};
}

OutSpec mean(const Tensor& input, OptDType dtype) { return {{}, mean_dtype(input, dtype)}; }

OutSpec mean_dim(const Tensor& input, const OptDims& dim, bool keepdim, OptDType dtype) {
  return {reduced_sizes(input.sizes(), reduced_dims("mean", dim, input.dim()), keepdim),
          mean_dtype(input, dtype)};
}

OutSpec prod_dim(const Tensor& input, int64_t dim, bool keepdim, OptDType dtype) {
  return sum_dim(input, Dims{dim}, keepdim, dtype);
}

OutSpec any(const Tensor& input) {
  return {{}, input.dtype() == DType::U8 ? DType::U8 : DType::Bool};
}

OutSpec any_dim(const Tensor& input, const OptDims& dim, bool keepdim) {
  if (dim && dim->empty()) return {input.sizes(), any(input).dtype};  // no dimension, not all
  return {reduced_sizes(input.sizes(), reduced_dims("any", dim, input.dim()), keepdim),
          any(input).dtype};
}

OutSpec extreme(const Tensor& input) {
  check_not_empty("max, min", input, {});
  return {{}, input.dtype()};
}

OutSpec extreme_over(const Tensor& input, const Dims& dim, bool keepdim) {
  check_not_empty("amax, amin", input, dim);
  return {reduced_sizes(input.sizes(), reduced_dims("amax, amin", dim, input.dim()), keepdim),
          input.dtype()};
}

std::array<OutSpec, 2> extreme_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return selected_with_index("max, min", input, dim, keepdim);
}

std::array<OutSpec, 2> mode(const Tensor& input, int64_t dim, bool keepdim) {
  return selected_with_index("mode", input, dim, keepdim);
}

std::array<OutSpec, 2> kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, input.dim()), n = input.dim() ? input.sizes()[d] : 1;
  MSA_REQUIRE(k >= 1 && k <= n, Runtime, "kthvalue: selected number k out of range: ", k,
              " for dimension ", dim, " with ", n, " elements");
  return selected_with_index("kthvalue", input, dim, keepdim);
}

OutSpec arg_extreme(const Tensor& input, OptInt dim, bool keepdim) {
  MSA_REQUIRE(input.dtype() != DType::Bool && !is_complex(input.dtype()), Runtime,
              "argmax, argmin: bool and complex elements have no order here, got ", input.dtype(),
              "; convert with .to() first");
  OptDims dims = dim ? OptDims(Dims{*dim}) : OptDims();
  MSA_REQUIRE(dim || input.numel() != 0, Index,
              "argmax, argmin: Expected reduction dim to be specified for input.numel() == 0; give "
              "dim=, one whose size is not 0");
  check_not_empty("argmax, argmin", input, dims);
  return {reduced_sizes(input.sizes(), reduced_dims("argmax, argmin", dims, input.dim()), keepdim),
          DType::I64};
}

OutSpec moment(const Tensor& input, const OptDims& dim, double, bool keepdim) {
  return {reduced_sizes(input.sizes(), reduced_dims("var, std", dim, input.dim()), keepdim),
          input.dtype()};
}

OutSpec moment(const Tensor& input, double, const OptDims& dim, bool keepdim) {
  return {reduced_sizes(input.sizes(), reduced_dims("vector_norm", dim, input.dim()), keepdim),
          input.dtype()};
}

std::array<OutSpec, 2> moments(const Tensor& input, const OptDims& dim, double correction,
                               bool keepdim) {
  OutSpec one = moment(input, dim, correction, keepdim);
  return {one, one};
}

}  // namespace rules
}  // namespace msa
