// Convolutions of integers, and what float16 does its own way, in plain loops:
// rare, so short rather than fast.
#pragma once
#include "kernels/cpu/conv/shape.h"

namespace msa::cpu {

enum class ConvPart { Forward, InputGradient, WeightGradient };

// Contiguous operands: `a` and `b` are input and weight, gradient and weight, or gradient and
// input. Adds to `result`, which the caller has set. Raises for dtypes without convolution.
void plain_conv(ConvPart part, const ConvShape& s, DType dtype, const void* a, const void* b,
                void* result);

// The input's gradient in float16, rounded as PyTorch does; adds to `out`, which the caller has
// set.
void half_input_gradient(const ConvShape& s, const float* grad, const float* weight, f16* out);

}  // namespace msa::cpu
