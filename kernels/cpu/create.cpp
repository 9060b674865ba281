// Kernels of the operators that make tensors from numbers.
#include <algorithm>

#include "core/base/lock.h"
#include "generated/kernels_create.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

// f(i, element type) for each element of a contiguous result; the type is passed as a value.
template <class T, class F>
void generate(Tensor& out, F f) {
  T* data = out.data<T>();
  int64_t n = out.numel();
  Unlocked unlocked(n > cpu::kGrain);
  cpu::parallel(n, cpu::kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(f(i));
  });
}

// What steps are counted in: integers exactly, floats in double (float32's own steps would drift).
template <class T>
using Step = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <class T>
void arange_of(const Scalar& start, const Scalar& step, Tensor& out) {
  auto from = start.to<Step<T>>(), by = step.to<Step<T>>();
  generate<T>(out, [=](int64_t i) { return static_cast<T>(from + by * static_cast<Step<T>>(i)); });
}

// What a count becomes on its way to a number: halves are made of floats.
template <class T>
using Whole = std::conditional_t<sizeof(T) == 2, float, T>;

// Counted from both ends, so that the last number is `end` itself; halves round at each step.
template <class T>
void linspace_of(const Scalar& start, const Scalar& end, Tensor& out) {
  using Number = std::conditional_t<std::is_integral_v<T>, double, T>;
  const Number from = static_cast<Number>(start.to<T>()), to = static_cast<Number>(end.to<T>());
  const int64_t n = out.numel();
  const auto number = [](int64_t i) { return Number(static_cast<Whole<Number>>(i)); };
  const Number by = n > 1 ? Number(Number(to - from) / number(n - 1)) : number(0);
  generate<T>(out, [=](int64_t i) {
    const bool first = i < n / 2;
    const Number way = Number(by * number(first ? i : n - 1 - i));
    return n == 1 ? from : first ? Number(from + way) : Number(to - way);
  });
}

}  // namespace

void empty(const Dims&, OptDType, OptDevice, OptFormat, Tensor&) {}
void empty_like(const Tensor&, OptDType, OptDevice, OptFormat, Tensor&) {}
void empty_strided(const Dims&, const Dims&, OptDType, OptDevice, Tensor&) {}

void ones(const Dims&, OptDType, OptDevice, Tensor& out0) { fill_(out0, 1); }
void ones_like(const Tensor&, OptDType, OptDevice, OptFormat, Tensor& out0) { fill_(out0, 1); }
void full(const Dims&, const Scalar& fill_value, OptDType, OptDevice, Tensor& out0) {
  fill_(out0, fill_value);
}
void full_like(const Tensor&, const Scalar& fill_value, OptDType, OptDevice, OptFormat,
               Tensor& out0) {
  fill_(out0, fill_value);
}

void arange_start_step(const Scalar& start, const Scalar&, const Scalar& step, OptDType, OptDevice,
                       Tensor& out0) {
  switch (out0.dtype()) {
#define MSA_ARANGE(E, T)                                            \
  case DType::E:                                                    \
    if constexpr (DType::E != DType::Bool && DType::E < DType::C64) \
      return arange_of<T>(start, step, out0);                       \
    break;
    MSA_FOR_EACH_DTYPE(MSA_ARANGE)
#undef MSA_ARANGE
    default:
      break;
  }
  refuse_dtype("arange", out0.dtype());
}

void linspace(const Scalar& start, const Scalar& end, int64_t, OptDType, OptDevice, Tensor& out0) {
  switch (out0.dtype()) {
#define MSA_LINSPACE(E, T)                                                          \
  case DType::E:                                                                    \
    if constexpr (DType::E != DType::Bool) return linspace_of<T>(start, end, out0); \
    break;
    MSA_FOR_EACH_DTYPE(MSA_LINSPACE)
#undef MSA_LINSPACE
    default:
      break;
  }
  refuse_dtype("linspace", out0.dtype());
}

void eye_m(int64_t, int64_t, OptDType, OptDevice, Tensor& out0) {
  fill_(out0, 0);
  int64_t n = std::min(out0.sizes()[0], out0.sizes()[1]);
  Tensor diagonal = alias(out0, {{n}, {out0.strides()[0] + out0.strides()[1]}, out0.offset()});
  fill_(diagonal, 1);
}

}  // namespace msa::kernels
