// Convolutions of integers and complex numbers, in plain loops: rare, so short rather than fast.
#pragma once
#include "kernels/cpu/conv/shape.h"

namespace msa::cpu {

enum class ConvPart { Forward, InputGradient, WeightGradient };

// Contiguous operands: `a` and `b` are input and weight, gradient and weight, or gradient and
// input. Adds to `result`, which the caller has set. Raises for dtypes without convolution.
void plain_conv(ConvPart part, const ConvShape& s, DType dtype, const void* a, const void* b,
                void* result);

}  // namespace msa::cpu
