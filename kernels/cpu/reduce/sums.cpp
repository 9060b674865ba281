// Folds that add or multiply: sum, mean, prod, norms, counts, and/or.
#ifndef MSA_ISA
#include "kernels/cpu/reduce/reduce.h"
#define MSA_KERNEL_FILE "kernels/cpu/reduce/sums.cpp"
#include "kernels/cpu/each_isa.h"
#else
#include "kernels/cpu/reduce/fold.inl"

// What floating sums are gathered in.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<float> {
  using type = double;
};
template <class T>
struct Wide<Cx<T> > {
  using type = Cx<double>;
};

// --- maps
// ------------------------------------------------------------------------------------------
struct Same {
  explicit Same(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x;
  }
};
struct Square {
  explicit Square(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x * x;
  }
};
struct Size {
  explicit Size(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x < 0 ? -x : x;
  }
};
struct NanAsZero {
  explicit NanAsZero(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x == x ? x : X{};
  }
};
struct IsNonzero {
  explicit IsNonzero(const Scalar*) {}
  template <class X>
  X operator()(X x) const {
    return x != 0 ? X{} + 1 : X{};
  }
};
// |x|^p, the power as a number of its own type.
template <class T>
struct Power {
  T p;
  explicit Power(const Scalar* params) : p(number<T>(params[0])) {}
  V<T> operator()(V<T> x) const { return sleef::pow(x < 0 ? -x : x, p - V<T>{}); }
  T operator()(T x) const { return (*this)(x - V<T>{})[0]; }
};

// --- finishes
// --------------------------------------------------------------------------------------
struct Value {
  template <class R, class A>
  static R of(A a, const ReduceInfo&) {
    return R(a);
  }
};
struct Mean {
  template <class R, class A>
  static R of(A a, const ReduceInfo& info) {
    return Value::of<R>(a / A(static_cast<Real<A> >(info.count)), info);
  }
};
struct Root {
  template <class R, class A>
  static R of(A a, const ReduceInfo&) {
    return static_cast<R>(square_root(a));
  }
};
struct PowerRoot {
  template <class R, class A>
  static R of(A a, const ReduceInfo& info) {
    return static_cast<R>(__builtin_pow(static_cast<double>(a), 1 / info.params[0].to_double()));
  }
};

template <class T>
using SumOf = Fold<T, typename Wide<T>::type, T, Same, Plus, Value>;
template <class T>
using MeanOf = Fold<T, typename Wide<T>::type, T, Same, Plus, Mean>;
template <class T>
using NanSumOf = Fold<T, typename Wide<T>::type, T, NanAsZero, Plus, Value>;
template <class T>
using ProductOf = Fold<T, typename Wide<T>::type, T, Same, Times, Value>;
template <class T>
using Norm2Of = Fold<T, typename Wide<T>::type, T, Square, Plus, Root>;
template <class T>
using Norm1Of = Fold<T, typename Wide<T>::type, T, Size, Plus, Value>;
template <class T>
using Norm0Of = Fold<T, typename Wide<T>::type, T, IsNonzero, Plus, Value>;
template <class T>
using NormPOf = Fold<T, typename Wide<T>::type, T, Power<T>, Plus, PowerRoot>;

using Summed = Join<Types<int64_t>, Inexact>;
MSA_REDUCERS(sum, Summed, SumOf)
MSA_REDUCERS(mean, Inexact, MeanOf)
MSA_REDUCERS(nansum, Floats, NanSumOf)
MSA_REDUCERS(prod, Summed, ProductOf)
MSA_REDUCERS(norm2, Floats, Norm2Of)
MSA_REDUCERS(norm1, Floats, Norm1Of)
MSA_REDUCERS(norm0, Floats, Norm0Of)
MSA_REDUCERS(norm_p, Floats, NormPOf)

// --- logic: true travels as 1
// -------------------------------------------------------------------------
struct Or {
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  static A of(A a, A b) {
    return a | b;
  }
};
struct And {
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  static A of(A a, A b) {
    return a & b;
  }
};
template <class T>
using AnyOf = Fold<T, uint8_t, T, Same, Or, Value>;
template <class T>
using AllOf = Fold<T, uint8_t, T, Same, And, Value>;
MSA_REDUCERS(any, Bool, AnyOf)
MSA_REDUCERS(all, Bool, AllOf)
#endif
