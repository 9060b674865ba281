// The range of each real element type, half types included, as doubles.
#pragma once

#include <limits>

#include "core/dtype/half.h"

namespace msa::cpu {

template <class T>
inline constexpr double kLargest = static_cast<double>(std::numeric_limits<T>::max());
template <>
inline constexpr double kLargest<f16> = 65504.0;
template <>
inline constexpr double kLargest<bf16> = 0x1.fep127;

}  // namespace msa::cpu
