// Shape and dtype rules: what a row's output looks like, computed before any kernel runs.
#pragma once
#include "core/dispatch/options.h"

namespace msa {

// One output to allocate. Empty strides mean contiguous.
struct OutSpec {
  Dims sizes;
  DType dtype;
  Dims strides = {};
};

// A dimension list as reductions take it: wrapped, sorted, unique; none or empty means all.
Dims reduced_dims(std::string_view op, const OptDims& dim, int64_t ndim);
Dims reduced_sizes(DimsView sizes, DimsView dims, bool keepdim);

// Strides of a copy of `input`: by default its own, dense.
Dims copy_strides(const Tensor& input, OptFormat format);

// The rules themselves live in namespace rules, one function `rules::<shape field>` for each use,
// declared by the generator from the rows; bodies in core/rules/*.cpp by family.

}  // namespace msa
