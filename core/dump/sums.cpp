// The inner loop of statistics for each instruction set.
#ifndef MSA_ISA
#include "core/dump/statistics.h"

#define MSA_KERNEL_FILE "core/dump/sums.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::dump {
SumLoop sum_loop() {
#ifdef __x86_64__
  static const SumLoop chosen =
      cpu::choose(&cpu::base::dump_sums, &cpu::avx2::dump_sums, &cpu::avx512::dump_sums);
#else
  static const SumLoop chosen = &cpu::base::dump_sums;
#endif
  return chosen;
}
}  // namespace msa::dump
#else

namespace {
#include "core/compare/doubles.inl"
}  // namespace

void dump_sums(const double* values, int64_t n, dump::Sums& f) {
  const Doubles zero{}, infinity = zero + __builtin_inf();
  Mask nan{}, positive{}, negative{}, zeros{};
  Doubles low = infinity, high = -infinity, sum{}, squares{};
  int64_t i = 0;
  for (; i + kDoubles <= n; i += kDoubles) {
    const Doubles v = load(values + i);
    const Mask finite = magnitude(v) < infinity;
    const Doubles kept = finite ? v : zero;
    nan += v != v;
    positive += v == infinity;
    negative += v == -infinity;
    zeros += v == zero;
    const Doubles below = finite ? v : infinity, above = finite ? v : -infinity;
    low = below < low ? below : low;
    high = larger(above, high);
    sum += kept;
    squares += kept * kept;
  }
  f.nan += count_of(nan);
  f.positive_inf += count_of(positive);
  f.negative_inf += count_of(negative);
  f.zero += count_of(zeros);
  f.sum += sum_of(sum);
  f.squares += sum_of(squares);
  double lowest = -max_of(-low), highest = max_of(high);
  for (; i < n; ++i) {
    const double v = values[i];
    f.nan += v != v;
    f.positive_inf += v == __builtin_inf();
    f.negative_inf += v == -__builtin_inf();
    f.zero += v == 0;
    if (!(__builtin_fabs(v) < __builtin_inf())) continue;
    lowest = v < lowest ? v : lowest;
    highest = v > highest ? v : highest;
    f.sum += v;
    f.squares += v * v;
  }
  f.minimum = lowest < f.minimum ? lowest : f.minimum;
  f.maximum = highest > f.maximum ? highest : f.maximum;
}

#endif
