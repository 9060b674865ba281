// The one file that knows oneDNN: convolutions over many channels, and products of bfloat16.
// Primitives are made at first use and kept by shape; nothing is loaded or made before.
#pragma once
#include "kernels/cpu/conv/plain.h"
#include "kernels/cpu/matmul/gemm.h"

namespace msa::cpu::onednn {

struct Plan;  // a primitive with its layouts, kept for the life of the process

// The plan for one part of a float convolution of contiguous operands; null: not served here.
const Plan* plan_conv(ConvPart part, const ConvShape& s, bool with_bias);
// c = a b in bfloat16 with float sums, or c += a b rounded once; null where strides or this machine
// do not suit.
const Plan* plan_product(const Matrix& a, const Matrix& b, const Matrix& c, bool adds);

// Operands in the order of plain_conv's (then the bias), or a, b; the result is overwritten,
// or added to where the plan says so. Needs
// no lock.
void run(const Plan& plan, const void* a, const void* b, const void* bias, void* result);

}  // namespace msa::cpu::onednn
