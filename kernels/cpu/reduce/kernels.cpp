// The reduction rows' kernels: each picks a reducer and hands it to the driver.
#include "generated/kernels.h"
#include "kernels/cpu/reduce/reduce.h"

namespace msa {
namespace cpu {
extern const ReducerTable *const reducer_sum, *const reducer_mean, *const reducer_nansum, *const reducer_prod,
    *const reducer_norm2, *const reducer_norm1, *const reducer_norm0, *const reducer_norm_p, *const reducer_any,
    *const reducer_all;
}  // namespace cpu

namespace kernels {
namespace {

// The reducer that computes results of dtype `t`; integers are summed as int64, halves as float.
const cpu::Reducer& reducer_for(const char* op, const cpu::ReducerTable& table, DType t) {
  DType compute = is_integral(t) ? DType::I64 : opmath(t);
  const cpu::Reducer* r = table.reducers[static_cast<int>(compute)];
  MSA_REQUIRE(r, NotImplemented, op, ": not implemented for ", t, "; convert the input with .to() first");
  return *r;
}

void run(const char* op, const cpu::ReducerTable& table, const Tensor& input, const OptDims& dim, Tensor& out,
         const Scalar* params = nullptr) {
  Tensor* outs[] = {&out};
  cpu::reduce(input, reduced_dims(op, dim, input.dim()), reducer_for(op, table, out.dtype()), outs, params);
}

}  // namespace

void sum(const Tensor& input, OptDType, Tensor& out0) { run("sum", *cpu::reducer_sum, input, {}, out0); }
void sum_dim(const Tensor& input, const OptDims& dim, bool, OptDType, Tensor& out0) {
  run("sum", *cpu::reducer_sum, input, dim, out0);
}

}  // namespace kernels
}  // namespace msa
