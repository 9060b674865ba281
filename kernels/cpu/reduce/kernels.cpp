// The reduction rows' kernels: each picks a reducer and hands it to the driver.
#include <algorithm>

#include "generated/kernels_reduce.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/reduce/reduce.h"

namespace msa {
namespace cpu {
extern const ReducerTable *const reducer_sum,
    *const reducer_mean,
        *const reducer_nansum,
            *const reducer_prod,
                *const reducer_norm2,
                    *const reducer_norm1,
                        *const reducer_norm0,
                            *const reducer_norm_p,
                                *const reducer_any,
                                    *const reducer_all,
                                        *const reducer_amax,
                                            *const reducer_amin,
                                                *const reducer_max_dim,
                                                    *const reducer_min_dim,
                                                        *const reducer_argmax,
                                                            *const reducer_argmin,
                                                                *const reducer_var,
                                                                    *const reducer_std,
                                                                        *const reducer_var_mean,
                                                                            *const reducer_std_mean;
}  // namespace cpu

namespace kernels {
namespace {

using cpu::Reducer;
using cpu::ReducerTable;

// The reducer for elements of `t`; half types are reduced as float.
const Reducer& reducer_for(const char* op, const ReducerTable& table, DType t) {
  const DType compute = opmath(t);
  const Reducer* r = compute < DType::C32 ? table.reducers[static_cast<int>(compute)] : nullptr;
  if (!r) refuse_dtype(op, t);
  return *r;
}

void run(const char* op, const ReducerTable& table, DType seen, const Tensor& input,
         const OptDims& dim, Tensor& out, const Scalar* params = nullptr) {
  Tensor* outs[] = {&out};
  cpu::reduce(input, reduced_dims(op, dim, input.dim()), reducer_for(op, table, seen), outs,
              params);
}

void run(const char* op, const ReducerTable& table, const Tensor& input, const OptDims& dim,
         Tensor& out0, Tensor& out1, const Scalar* params = nullptr) {
  Tensor* outs[] = {&out0, &out1};
  cpu::reduce(input, reduced_dims(op, dim, input.dim()), reducer_for(op, table, input.dtype()),
              outs, params);
}

// Unlike in the other reductions an empty `dim` names no dimension: each element by itself.
void run_truth(const char* op, const ReducerTable& table, const Tensor& input, const OptDims& dim,
               Tensor& out) {
  Tensor* outs[] = {&out};
  Dims over = dim && dim->empty() ? Dims{} : reduced_dims(op, dim, input.dim());
  cpu::reduce(input, over, reducer_for(op, table, DType::Bool), outs, nullptr);
}

// Sums and products of integers are formed in int64.
DType summed(DType out) { return is_integral(out) ? DType::I64 : out; }

// Products of halves are rounded at each factor, as PyTorch's are; sums are not.
template <class T>
void multiply_lines(const T* from, int64_t n, T* to, int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    T product = T(1.0f);
    for (int64_t i = 0; i < n; ++i) product = product * *from++;
    to[line] = product;
  }
}
void product(const Tensor& input, const OptDims& dim, Tensor& out) {
  if (!is_half(out.dtype()))
    return run("prod", *cpu::reducer_prod, summed(out.dtype()), input, dim, out);
  const Layout given = input.layout();
  const Dims reduced = reduced_dims("prod", dim, input.dim());
  Layout turned{{}, {}, given.offset};
  for (bool kept : {true, false})
    for (int64_t d = 0; d < input.dim(); ++d)
      if (kept != (std::find(reduced.begin(), reduced.end(), d) != reduced.end())) {
        turned.sizes.push_back(given.sizes[d]);
        turned.strides.push_back(given.strides[d]);
      }
  const Tensor lines = cpu::contiguous(alias(input, turned), out.dtype());
  const int64_t count = out.numel(), n = count ? lines.numel() / count : 0;
  cpu::fill_contiguous(out, out.dtype(), [&](const Tensor& to) {
    out.dtype() == DType::F16 ? multiply_lines(lines.data<f16>(), n, to.data<f16>(), count)
                              : multiply_lines(lines.data<bf16>(), n, to.data<bf16>(), count);
  });
}

// Infinite orders are the largest and smallest magnitude: the composed row takes them.
const ReducerTable& norm_table(double order) {
  if (order == 2) return *cpu::reducer_norm2;
  if (order == 1) return *cpu::reducer_norm1;
  return order == 0 ? *cpu::reducer_norm0 : *cpu::reducer_norm_p;
}

}  // namespace

void sum(const Tensor& input, OptDType, Tensor& out0) {
  run("sum", *cpu::reducer_sum, summed(out0.dtype()), input, {}, out0);
}
void sum_dim(const Tensor& input, const OptDims& dim, bool, OptDType, Tensor& out0) {
  run("sum", *cpu::reducer_sum, summed(out0.dtype()), input, dim, out0);
}
void nansum(const Tensor& input, const OptDims& dim, bool, OptDType, Tensor& out0) {
  bool plain = is_integral(out0.dtype());
  run("nansum", plain ? *cpu::reducer_sum : *cpu::reducer_nansum, summed(out0.dtype()), input, dim,
      out0);
}
void mean(const Tensor& input, OptDType, Tensor& out0) {
  run("mean", *cpu::reducer_mean, out0.dtype(), input, {}, out0);
}
void mean_dim(const Tensor& input, const OptDims& dim, bool, OptDType, Tensor& out0) {
  run("mean", *cpu::reducer_mean, out0.dtype(), input, dim, out0);
}
void prod(const Tensor& input, OptDType, Tensor& out0) { product(input, {}, out0); }
void prod_dim_int(const Tensor& input, int64_t dim, bool, OptDType, Tensor& out0) {
  product(input, Dims{dim}, out0);
}

void any(const Tensor& input, Tensor& out0) {
  run("any", *cpu::reducer_any, DType::Bool, input, {}, out0);
}
void any_dim(const Tensor& input, const OptDims& dim, bool, Tensor& out0) {
  run_truth("any", *cpu::reducer_any, input, dim, out0);
}
void all(const Tensor& input, Tensor& out0) {
  run("all", *cpu::reducer_all, DType::Bool, input, {}, out0);
}
void all_dim(const Tensor& input, const OptDims& dim, bool, Tensor& out0) {
  run_truth("all", *cpu::reducer_all, input, dim, out0);
}

void max(const Tensor& input, Tensor& out0) {
  run("max", *cpu::reducer_amax, input.dtype(), input, {}, out0);
}
void min(const Tensor& input, Tensor& out0) {
  run("min", *cpu::reducer_amin, input.dtype(), input, {}, out0);
}
void amax(const Tensor& input, const Dims& dim, bool, Tensor& out0) {
  run("amax", *cpu::reducer_amax, input.dtype(), input, dim, out0);
}
void amin(const Tensor& input, const Dims& dim, bool, Tensor& out0) {
  run("amin", *cpu::reducer_amin, input.dtype(), input, dim, out0);
}
void max_dim(const Tensor& input, int64_t dim, bool, Tensor& out0, Tensor& out1) {
  run("max", *cpu::reducer_max_dim, input, Dims{dim}, out0, out1);
}
void min_dim(const Tensor& input, int64_t dim, bool, Tensor& out0, Tensor& out1) {
  run("min", *cpu::reducer_min_dim, input, Dims{dim}, out0, out1);
}
// Over all dimensions the position counts in reading order, so the elements must lie in it.
void argmax(const Tensor& input, OptInt dim, bool, Tensor& out0) {
  if (dim) return run("argmax", *cpu::reducer_argmax, input.dtype(), input, Dims{*dim}, out0);
  run("argmax", *cpu::reducer_argmax, input.dtype(), cpu::contiguous(input), {}, out0);
}
void argmin(const Tensor& input, OptInt dim, bool, Tensor& out0) {
  if (dim) return run("argmin", *cpu::reducer_argmin, input.dtype(), input, Dims{*dim}, out0);
  run("argmin", *cpu::reducer_argmin, input.dtype(), cpu::contiguous(input), {}, out0);
}

void _var(const Tensor& input, const OptDims& dim, double correction, bool, Tensor& out0) {
  Scalar params[] = {Scalar(correction)};
  run("var", *cpu::reducer_var, input.dtype(), input, dim, out0, params);
}
void _std(const Tensor& input, const OptDims& dim, double correction, bool, Tensor& out0) {
  Scalar params[] = {Scalar(correction)};
  run("std", *cpu::reducer_std, input.dtype(), input, dim, out0, params);
}
void _var_mean(const Tensor& input, const OptDims& dim, double correction, bool, Tensor& out0,
               Tensor& out1) {
  Scalar params[] = {Scalar(correction)};
  run("var_mean", *cpu::reducer_var_mean, input, dim, out0, out1, params);
}
void _std_mean(const Tensor& input, const OptDims& dim, double correction, bool, Tensor& out0,
               Tensor& out1) {
  Scalar params[] = {Scalar(correction)};
  run("std_mean", *cpu::reducer_std_mean, input, dim, out0, out1, params);
}

void _vector_norm(const Tensor& input, double order, const OptDims& dim, bool, Tensor& out0) {
  Scalar params[] = {Scalar(order)};
  run("vector_norm", norm_table(order), input.dtype(), input, dim, out0, params);
}

}  // namespace kernels
}  // namespace msa
