// Numbers to and from elements in memory.
#include "core/dtype/scalar.h"

#include <cstring>

namespace msa {
namespace {
template <class T>
Scalar as_scalar(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(v);
  } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
    return c128(v);
  } else {
    return static_cast<double>(v);
  }
}
}  // namespace

void store_scalar(const Scalar& value, DType dtype, void* element) {
  switch (dtype) {
#define MSA_STORE(E, T)               \
  case DType::E: {                    \
    T v = value.to<T>();              \
    std::memcpy(element, &v, sizeof v); \
    return;                           \
  }
    MSA_FOR_EACH_DTYPE(MSA_STORE)
#undef MSA_STORE
    case DType::Count: break;
  }
}

Scalar load_scalar(DType dtype, const void* element) {
  switch (dtype) {
#define MSA_LOAD(E, T)                  \
  case DType::E: {                      \
    T v;                                \
    std::memcpy(&v, element, sizeof v); \
    return as_scalar(v);                \
  }
    MSA_FOR_EACH_DTYPE(MSA_LOAD)
#undef MSA_LOAD
    case DType::Count: break;
  }
  __builtin_unreachable();
}

}  // namespace msa
