// Which instruction set this machine's kernels run on, and what code compiled for each may use.
#pragma once
#include <utility>

#include "core/dispatch/elementwise.h"
#include "core/dtype/scalar.h"

namespace msa::cpu {

enum class Isa : uint8_t { Base, Avx2, Avx512 };

// The best that this machine has; MS_ADAPTER_ISA=base|avx2|avx512 lowers it.
Isa isa();

// Takes the entry that serves isa(): tables and functions are compiled once for each instruction
// set.
template <class T>
inline T choose(T base, [[maybe_unused]] T avx2, [[maybe_unused]] T avx512) {
  return isa() == Isa::Avx512 ? avx512 : isa() == Isa::Avx2 ? avx2 : base;
}

}  // namespace msa::cpu

// A template first used under a target pragma is compiled for that target, and the linker may then
// keep that copy for everyone. What instruction-set code calls from outside is made known here.
namespace msa {
extern template bool Scalar::to<bool>() const;
extern template uint8_t Scalar::to<uint8_t>() const;
extern template int8_t Scalar::to<int8_t>() const;
extern template uint16_t Scalar::to<uint16_t>() const;
extern template int16_t Scalar::to<int16_t>() const;
extern template uint32_t Scalar::to<uint32_t>() const;
extern template int32_t Scalar::to<int32_t>() const;
extern template uint64_t Scalar::to<uint64_t>() const;
extern template int64_t Scalar::to<int64_t>() const;
extern template float Scalar::to<float>() const;
extern template double Scalar::to<double>() const;
}  // namespace msa
