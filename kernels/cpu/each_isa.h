// Compiles MSA_KERNEL_FILE once for each instruction set, inside that set's namespace. A kernel
// file
//
//   #ifndef MSA_ISA
//   #define MSA_KERNEL_FILE "kernels/cpu/elementwise/math.cpp"
//   #include "kernels/cpu/each_isa.h"
//   #else
//   ... loops ...
//   #endif
//
// is compiled without regard to floating-point exceptions, which nobody reads: rounding and chosen
// branches become vectors. It may use what is in its own namespace, and outside it only plain
// functions and what isa.h names. Baseline comes last: it is where MSA_LOOPS defines the chosen
// table.
#include <cmath>

#include "kernels/cpu/isa.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed only inside a namespace
#pragma GCC diagnostic ignored "-Wint-in-bool-context"  // bool * bool is what mul means there

#define MSA_JOIN2(a, b) a##b
#define MSA_JOIN(a, b) MSA_JOIN2(a, b)

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "no-trapping-math")
#define MSA_ISA avx512
#define MSA_VECTOR_BYTES 64
#define MSA_SLEEF_FLOAT(fn, ulp) MSA_JOIN(Sleef_##fn, f16_##ulp##avx512f)
#define MSA_SLEEF_DOUBLE(fn, ulp) MSA_JOIN(Sleef_##fn, d8_##ulp##avx512f)
namespace msa::cpu::avx512 {
#include "kernels/cpu/loops.inl"
#include MSA_KERNEL_FILE
}  // namespace msa::cpu::avx512
#undef MSA_ISA
#undef MSA_VECTOR_BYTES
#undef MSA_SLEEF_FLOAT
#undef MSA_SLEEF_DOUBLE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "no-trapping-math")
#define MSA_ISA avx2
#define MSA_VECTOR_BYTES 32
#define MSA_SLEEF_FLOAT(fn, ulp) MSA_JOIN(Sleef_##fn, f8_##ulp##avx2)
#define MSA_SLEEF_DOUBLE(fn, ulp) MSA_JOIN(Sleef_##fn, d4_##ulp##avx2)
namespace msa::cpu::avx2 {
#include "kernels/cpu/loops.inl"
#include MSA_KERNEL_FILE
}  // namespace msa::cpu::avx2
#undef MSA_ISA
#undef MSA_VECTOR_BYTES
#undef MSA_SLEEF_FLOAT
#undef MSA_SLEEF_DOUBLE
#pragma GCC pop_options
#define MSA_SLEEF_BASE sse2
#else
#define MSA_SLEEF_BASE advsimd
#endif

#pragma GCC push_options
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "no-trapping-math")
#define MSA_ISA base
#define MSA_ISA_IS_BASE
#define MSA_VECTOR_BYTES 16
#define MSA_SLEEF_FLOAT(fn, ulp) MSA_JOIN(Sleef_##fn##f4_##ulp, MSA_SLEEF_BASE)
#define MSA_SLEEF_DOUBLE(fn, ulp) MSA_JOIN(Sleef_##fn##d2_##ulp, MSA_SLEEF_BASE)
namespace msa::cpu::base {
#include "kernels/cpu/loops.inl"
#include MSA_KERNEL_FILE
}  // namespace msa::cpu::base
#pragma GCC pop_options
