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

// A contiguous stand-in for a tensor that is changed; written back when it goes.
class InOrder {
 public:
  InOrder(const Tensor& t, bool copy)
      : target_(t), used_(copy && t.defined() ? copied(t) : t), copied_(copy && t.defined()) {}
  ~InOrder() {
    if (copied_) copy_into(target_, used_);
    if (target_.defined()) target_.bump_version();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  template <class T>
  T* data() const {
    return used_.defined() ? used_.data<T>() : nullptr;
  }

 private:
  const Tensor& target_;
  Tensor used_;
  bool copied_;
};

template <class F>
void over_threads(int64_t n, F&& range) {
  const Unlocked unlocked(n >= kGrain);
  parallel(n, kGrain / 2, range);
}

template <class T>
T* from(T* p, int64_t i) {
  return p ? p + i : p;
}

}  // namespace

void sgd_step(const SgdStep& step, const Tensor& param, const Tensor& grad, const Tensor& buffer) {
  check("sgd_step", param, grad);
  check("sgd_step", param, buffer);
  const bool copy = !same_order(param, grad) || !same_order(param, buffer);
  const Tensor g = copy ? contiguous(grad) : grad;
  const InOrder p(param, copy), b(buffer, copy);
  with_floating("sgd_step", param.dtype(), [&]<class T>() {
    T *const to = p.data<T>(), *const kept = b.data<T>();
    const T* const gradient = g.data<T>();
    over_threads(param.numel(), [&](int64_t begin, int64_t end) {
      optim_loops<T>().sgd(step, to + begin, gradient + begin, from(kept, begin), end - begin);
    });
  });
}

void adam_step(const AdamStep& step, const Tensor& param, const Tensor& grad, const Tensor& average,
               const Tensor& square, const Tensor& largest) {
  bool copy = false;
  for (const Tensor* t : {&grad, &average, &square, &largest}) {
    check("adam_step", param, *t);
    copy = copy || !same_order(param, *t);
  }
  const Tensor g = copy ? contiguous(grad) : grad;
  const InOrder p(param, copy), m(average, copy), v(square, copy), most(largest, copy);
  with_floating("adam_step", param.dtype(), [&]<class T>() {
    T *const to = p.data<T>(), *const first = m.data<T>(), *const second = v.data<T>(),
             *const third = most.data<T>();
    const T* const gradient = g.data<T>();
    over_threads(param.numel(), [&](int64_t begin, int64_t end) {
      optim_loops<T>().adam(step, to + begin, gradient + begin, first + begin, second + begin,
                            from(third, begin), end - begin);
    });
  });
}

}  // namespace msa::cpu
