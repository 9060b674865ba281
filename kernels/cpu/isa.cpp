// Asks the processor once which instruction set kernels may use.
#include "kernels/cpu/isa.h"

#include <cstdlib>
#include <cstring>

namespace msa {
template bool Scalar::to<bool>() const;
template uint8_t Scalar::to<uint8_t>() const;
template int8_t Scalar::to<int8_t>() const;
template uint16_t Scalar::to<uint16_t>() const;
template int16_t Scalar::to<int16_t>() const;
template uint32_t Scalar::to<uint32_t>() const;
template int32_t Scalar::to<int32_t>() const;
template uint64_t Scalar::to<uint64_t>() const;
template int64_t Scalar::to<int64_t>() const;
template float Scalar::to<float>() const;
template double Scalar::to<double>() const;
}  // namespace msa

namespace msa::cpu {
namespace {

Isa best_isa() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return Isa::Base;
  bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_512 ? Isa::Avx512 : Isa::Avx2;
#else
  return Isa::Base;
#endif
}

Isa find_isa() {
  Isa best = best_isa();
  const char* asked = std::getenv("MS_ADAPTER_ISA");
  if (!asked) return best;
  Isa limit = !std::strcmp(asked, "base")   ? Isa::Base
              : !std::strcmp(asked, "avx2") ? Isa::Avx2
                                            : best;
  return limit < best ? limit : best;
}

}  // namespace

Isa isa() {
  static const Isa found = find_isa();
  return found;
}

}  // namespace msa::cpu
