// Loops of the four operations and their relatives.
#ifndef MSA_ISA
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/arithmetic.cpp"
#include "kernels/cpu/each_isa.h"
#else

MSA_LOOPS(add, AllTypes, []<class T>(const Scalar* params) {
  return [alpha = number<T>(params[0])](T a, T b) -> T { return a + alpha * b; };
})
MSA_LOOPS(mul, AllTypes, []<class T>(const Scalar*) { return [](T a, T b) -> T { return a * b; }; })
MSA_LOOPS(exp, Floats,
          []<class T>(const Scalar*) { return [](V<T> x) -> V<T> { return sleef::exp(x); }; })
#endif
