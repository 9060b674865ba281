// Loops of bitwise operations and shifts.
#ifndef MSA_ISA
#define MSA_KERNEL_FILE "kernels/cpu/elementwise/bits.cpp"
#include "kernels/cpu/each_isa.h"
#else

MSA_LOOPS(bitwise_and, Integers,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return a & b; }; })
MSA_LOOPS(bitwise_or, Integers,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return a | b; }; })
MSA_LOOPS(bitwise_xor, Integers,
          []<class T>(const Scalar*) { return [](T a, T b) -> T { return a ^ b; }; })
MSA_LOOPS(bitwise_not, Integers, []<class T>(const Scalar*) {
  if constexpr (T(2) == T(1)) {  // bool
    return [](T a) -> T { return !a; };
  } else {
    return [](T a) -> T { return ~a; };
  }
})

// Shifts by less than zero or by the width or more leave nothing, or the sign.
template <class T>
inline bool in_width(T b) {
  return b >= 0 && b < T(8 * sizeof(T));
}
MSA_LOOPS(bitwise_left_shift, SmallInts, []<class T>(const Scalar*) {
  return [](T a, T b) -> T {
    return in_width(b) ? static_cast<T>(static_cast<std::make_unsigned_t<T> >(a) << b) : T(0);
  };
})
MSA_LOOPS(bitwise_right_shift, SmallInts, []<class T>(const Scalar*) {
  return [](T a, T b) -> T { return a >> (in_width(b) ? b : T(8 * sizeof(T) - 1)); };
})
#endif
