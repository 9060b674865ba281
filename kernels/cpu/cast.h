// Loops that copy elements from one dtype to another with PyTorch's conversions.
#pragma once
#include "core/dispatch/elementwise.h"

namespace msa::cpu {

// data[0] of dtype `to` from data[1] of dtype `from`. Floats to integers truncate, complex to real
// takes the real part, anything but zero is true.
Loop cast_loop(DType to, DType from);

// The same where one of them is a dtype that is only stored.
Loop stored_cast_loop(DType to, DType from);

// Copies elements of 1, 2, 4, 8 or 16 bytes unchanged.
Loop copy_loop(size_t item_bytes);

}  // namespace msa::cpu
