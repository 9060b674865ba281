// The softmax operators: dtypes, contiguity and threads around the loops.
#include <algorithm>

#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/softmax/loops.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

template <class T>
using LoopMember = typename cpu::SoftmaxLoops<T>::Loop cpu::SoftmaxLoops<T>::*;

// Rows go to threads; one exponential is worth some ten cheap operations.
template <class T>
void run(LoopMember<T> loop, const Tensor& first, const Tensor* second, int64_t dim,
         const Tensor& out, T (*rounded)(T) = nullptr) {
  cpu::SoftmaxBlocks<T> all{
      1, 1, 1, first.data<T>(), second ? second->data<T>() : nullptr, out.data<T>(), rounded};
  const int64_t at = first.dim() ? wrap_dim(dim, first.dim()) : 0;
  for (int64_t d = 0; d < first.dim(); ++d)
    (d < at ? all.outer : d == at ? all.n : all.inner) *= first.sizes()[static_cast<size_t>(d)];
  if (first.numel() == 0) return;
  const Unlocked unlocked(first.numel() >= cpu::kGrain);
  all.last_column = all.inner;
  const int64_t block = all.n * all.inner;
  if (all.outer < cpu::get_num_threads() &&
      all.inner > 1) {  // too few blocks: columns are shared out
    constexpr int64_t kWide = 16;
    const int64_t strips = (all.inner + kWide - 1) / kWide;
    return cpu::parallel(strips,
                         std::max<int64_t>(1, cpu::kGrain / 8 / (all.outer * all.n * kWide)),
                         [&](int64_t begin, int64_t end) {
                           cpu::SoftmaxBlocks<T> part = all;
                           part.first_column = begin * kWide;
                           part.last_column = std::min(end * kWide, all.inner);
                           (cpu::softmax_loops<T>().*loop)(part);
                         });
  }
  cpu::parallel(all.outer, std::max<int64_t>(1, cpu::kGrain / 8 / block),
                [&](int64_t begin, int64_t end) {
                  cpu::SoftmaxBlocks<T> part = all;
                  part.outer = end - begin;
                  part.first += begin * block;
                  if (part.second) part.second += begin * block;
                  part.out += begin * block;
                  (cpu::softmax_loops<T>().*loop)(part);
                });
}

// PyTorch keeps the sums of log_softmax's rows in the result's type.
template <class Half>
float rounded(float v) {
  return Half(v);
}
float (*rounding_of(DType dtype))(float) {
  return dtype == DType::F16 ? rounded<f16> : dtype == DType::BF16 ? rounded<bf16> : nullptr;
}

// `out`'s dtype decides what is computed in; operands of other dtypes are converted first.
void softmax_like(const char* op, LoopMember<float> f32, LoopMember<double> f64,
                  const Tensor& first, const Tensor* second, int64_t dim, const Tensor& out) {
  const DType compute = opmath(out.dtype());
  MSA_REQUIRE(is_floating(compute), NotImplemented, op, ": not implemented for ", out.dtype(),
              ": give a floating-point dtype.");
  const Tensor a = cpu::contiguous(first, compute),
               b = second ? cpu::contiguous(*second, compute) : Tensor();
  cpu::fill_contiguous(out, compute, [&](const Tensor& target) {
    compute == DType::F32
        ? run<float>(f32, a, second ? &b : nullptr, dim, target, rounding_of(out.dtype()))
        : run<double>(f64, a, second ? &b : nullptr, dim, target);
  });
}

#define MSA_SOFTMAX(op, member, first, second)                                                   \
  softmax_like(op, &cpu::SoftmaxLoops<float>::member, &cpu::SoftmaxLoops<double>::member, first, \
               second, dim, out)

}  // namespace

namespace kernels {

void softmax(const Tensor& input, int64_t dim, OptDType, Tensor& out) {
  MSA_SOFTMAX("softmax", softmax, input, nullptr);
}
void log_softmax(const Tensor& input, int64_t dim, OptDType, Tensor& out) {
  MSA_SOFTMAX("log_softmax", log_softmax, input, nullptr);
}
void _softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim, Tensor& out) {
  MSA_SOFTMAX("softmax backward", softmax_backward, grad_output, &output);
}
void _log_softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                           Tensor& out) {
  MSA_SOFTMAX("log_softmax backward", log_softmax_backward, grad_output, &output);
}

}  // namespace kernels
}  // namespace msa
