// What dumps say of a tensor when they do not keep its elements.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::dump {

// Minimum, maximum, mean and norm are of the finite elements; 0 where there are none. Of complex
// tensors the parts count one by one.
struct Statistics {
  int64_t count = 0, nan = 0, positive_inf = 0, negative_inf = 0, zero = 0;
  double minimum = 0, maximum = 0, mean = 0, l2 = 0;
  uint32_t crc32 = 0;  // of the bytes in row-major order
};

// In one pass on all threads, without the core lock's being released. The figures do not depend on
// the number of threads.
Statistics statistics(const Tensor& t);

// The sums of one block, for each instruction set.
struct Sums {
  int64_t nan = 0, positive_inf = 0, negative_inf = 0, zero = 0;
  double minimum = __builtin_inf(), maximum = -__builtin_inf(), sum = 0, squares = 0;
};
using SumLoop = void (*)(const double* values, int64_t n, Sums& into);
SumLoop sum_loop();

}  // namespace msa::dump
