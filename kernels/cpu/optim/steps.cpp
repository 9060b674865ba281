// Optimizer steps on tensors: any strides, threads for large parameters.
#include "kernels/cpu/optim/steps.h"

#include "core/base/lock.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/optim/loops.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
namespace {

template <class F>
void with_floating(const char* op, DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::F16:
      return f.template operator()<f16>();
    case DType::BF16:
      return f.template operator()<bf16>();
    default:
      fail(ErrorKind::Runtime, op, ": parameters must be real floating-point tensors, but one is ",
           dtype, ".");
  }
}

// Elements that lie in the same order everywhere can be passed over as they are.
bool same_order(const Tensor& param, const Tensor& other) {
  return !other.defined() ||
         (other.strides() == param.strides() && is_dense(param.sizes(), param.strides()));
}

void check(const char* op, const Tensor& param, const Tensor& other) {
  MSA_REQUIRE(
      !other.defined() || (other.dtype() == param.dtype() && other.sizes() == param.sizes()),
      Runtime, op, ": a parameter ", param, " came with a gradient or state ", other,
      "; they must agree.");
}

}  // namespace

template <class Step>
void optim_step(const char* op, const Step& step, const Tensor& param, const Tensor& grad,
                const std::array<Tensor, Step::kStates>& states) {
  check(op, param, grad);
  bool in_order = same_order(param, grad);
  for (const Tensor& state : states) {
    check(op, param, state);
    in_order = in_order && same_order(param, state);
  }
  if (!in_order) {
    std::array<Tensor, Step::kStates> copies;
    for (size_t k = 0; k < copies.size(); ++k)
      if (states[k].defined()) copies[k] = copied(states[k]);
    const Tensor moved = copied(param);
    optim_step(op, step, moved, copied(grad), copies);
    copy_into(param, moved);
    for (size_t k = 0; k < copies.size(); ++k)
      if (states[k].defined()) copy_into(states[k], copies[k]);
  } else {
    with_floating(op, param.dtype(), [&]<class T>() {
      OptimRows<T> rows{param.template data<T>(), grad.template data<T>(), {}};
      for (size_t k = 0; k < states.size(); ++k)
        if (states[k].defined()) rows.states[k] = states[k].template data<T>();
      const OptimLoop<T, Step>& loop = optim_loops<T>();
      const Unlocked unlocked(param.numel() >= kGrain);
      parallel(param.numel(), kGrain / 2, [&](int64_t begin, int64_t end) {
        OptimRows<T> part{rows.param + begin, rows.grad + begin, {}};
        for (size_t k = 0; k < states.size(); ++k)
          if (rows.states[k]) part.states[k] = rows.states[k] + begin;
        loop.run(step, part, end - begin);
      });
    });
  }
  param.bump_version();
  for (const Tensor& state : states)
    if (state.defined()) state.bump_version();
}

#define MSA_STEP(Step)                                                                   \
  template void optim_step<Step>(const char*, const Step&, const Tensor&, const Tensor&, \
                                 const std::array<Tensor, Step::kStates>&);
MSA_STEP(SgdStep)
MSA_STEP(AdamStep)
MSA_STEP(RmspropStep)
MSA_STEP(AdagradStep)
MSA_STEP(AdadeltaStep)
MSA_STEP(AdamaxStep)
MSA_STEP(NadamStep)
MSA_STEP(RadamStep)
MSA_STEP(AsgdStep)
MSA_STEP(RpropStep)
#undef MSA_STEP

}  // namespace msa::cpu
