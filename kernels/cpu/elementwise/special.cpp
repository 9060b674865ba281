// Loops of special functions: one call an element, so no instruction set is worth a version of its
// own.
#include <bit>
#include <cmath>
#include <numeric>

#include "core/dispatch/elementwise.h"
#include "kernels/cpu/elementwise/special_functions.h"

namespace msa::cpu {
namespace {

template <class T, class F>
void loop_1(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
            const Scalar*) {
  for (int64_t j = 0; j < outer; ++j) {
    char* out = data[0] + j * strides[2];
    const char* in = data[1] + j * strides[3];
    for (int64_t i = 0; i < inner; ++i)
      *reinterpret_cast<T*>(out + i * strides[0]) =
          static_cast<T>(F{}(*reinterpret_cast<const T*>(in + i * strides[1])));
  }
}

template <class T, class F>
void loop_2(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
            const Scalar*) {
  for (int64_t j = 0; j < outer; ++j) {
    char* out = data[0] + j * strides[3];
    const char *a = data[1] + j * strides[4], *b = data[2] + j * strides[5];
    for (int64_t i = 0; i < inner; ++i)
      *reinterpret_cast<T*>(out + i * strides[0]) =
          static_cast<T>(F{}(*reinterpret_cast<const T*>(a + i * strides[1]),
                             *reinterpret_cast<const T*>(b + i * strides[2])));
  }
}

template <class F, class... T>
constexpr LoopTable unary() {
  LoopTable table;
  ((table.loops[static_cast<int>(dtype_of<T>::value)] = &loop_1<T, F>), ...);
  return table;
}
template <class F, class... T>
constexpr LoopTable binary() {
  LoopTable table;
  ((table.loops[static_cast<int>(dtype_of<T>::value)] = &loop_2<T, F>), ...);
  return table;
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T>
T rounded(double v) {
  if constexpr (kIsHalf<T>) return T(static_cast<float>(v));
  return static_cast<T>(v);
}
template <class T>
double step(double v) {
  return kIsHalf<T> ? static_cast<double>(rounded<T>(v)) : v;
}

// The n-th derivative of digamma, in the arithmetic of the element type (halves: float), whose
// rounding PyTorch's results show; of half types zeta is rounded.
template <class T>
T polygamma(T order, T x) {
  using Compute = std::conditional_t<kIsHalf<T>, float, T>;
  const auto n = static_cast<int64_t>(order);
  if (n == 0) return rounded<T>(special::digamma(x));
  if (n == 1) return T(special::trigamma(static_cast<Compute>(x)));
  const auto next = static_cast<Compute>(n + 1);
  const Compute factor = std::exp(std::lgamma(next));
  const T zeta = rounded<T>(special::hurwitz_zeta(static_cast<double>(next), x));
  return T((n % 2 ? factor : -factor) * static_cast<Compute>(zeta));
}

template <class T>
T next_after(T x, T y) {
  if constexpr (kIsHalf<T>) {
    const float from = x, to = y;
    if (std::isnan(from) || std::isnan(to)) return std::nanf("");
    if (from == to) return y;
    T next = x;
    if (from == 0) {
      next = std::copysign(1.0f, to);
      next.bits = static_cast<uint16_t>((next.bits & 0x8000u) | 1u);
    } else {
      next.bits = static_cast<uint16_t>(next.bits + ((from < to) == (from > 0) ? 1 : -1));
    }
    return next;
  } else {
    // One more or one less as an integer is the next number away from 0 or towards it.
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    const auto bits = std::bit_cast<Bits>(x);
    const T beside = std::bit_cast<T>((x < y) == (x > T(0)) ? bits + 1 : bits - 1);
    const T moved = x == T(0) ? std::copysign(std::bit_cast<T>(Bits(1)), y) : beside;
    return std::isnan(x) || std::isnan(y) ? x + y : x == y ? y : moved;
  }
}

}  // namespace

#define MSA_TABLE(name, ...)                             \
  static constexpr LoopTable table_##name = __VA_ARGS__; \
  extern const LoopTable* loops_##name;                  \
  const LoopTable* loops_##name = &table_##name;
// A function of double, for float and double elements.
#define MSA_OF_X(name, expression)                           \
  namespace {                                                \
  struct Of_##name {                                         \
    double operator()(double x) const { return expression; } \
  };                                                         \
  }                                                          \
  MSA_TABLE(name, unary<Of_##name, float, double>())
#define MSA_OF_XY(name, expression)                                    \
  namespace {                                                          \
  struct Of_##name {                                                   \
    double operator()(double x, double y) const { return expression; } \
  };                                                                   \
  }                                                                    \
  MSA_TABLE(name, binary<Of_##name, float, double>())
// The same where half types round a step between, marked by step<T>(), as PyTorch does.
#define MSA_STEPS_OF_X(name, expression) \
  namespace {                            \
  struct Of_##name {                     \
    template <class T>                   \
    T operator()(T given) const {        \
      const double x = given;            \
      return rounded<T>(expression);     \
    }                                    \
  };                                     \
  }                                      \
  MSA_TABLE(name, unary<Of_##name, float, double, f16, bf16>())
#define MSA_STEPS_OF_XY(name, expression)   \
  namespace {                               \
  struct Of_##name {                        \
    template <class T>                      \
    T operator()(T first, T second) const { \
      const double x = first, y = second;   \
      return rounded<T>(expression);        \
    }                                       \
  };                                        \
  }                                         \
  MSA_TABLE(name, binary<Of_##name, float, double, f16, bf16>())
// A function of the element type itself.
#define MSA_OF_PAIR(name, expression, ...) \
  namespace {                              \
  struct Of_##name {                       \
    template <class T>                     \
    T operator()(T x, T y) const {         \
      return expression;                   \
    }                                      \
  };                                       \
  }                                        \
  MSA_TABLE(name, binary<Of_##name, __VA_ARGS__>())

MSA_OF_X(digamma, special::digamma(x))
MSA_OF_X(erfcx, special::scaled_erfc(x))
MSA_OF_X(log_ndtr, special::log_normal_cdf(x))
MSA_STEPS_OF_X(entr, x > 0 ? -x * step<T>(std::log(x)) : x == 0 ? 0.0 : x < 0 ? -HUGE_VAL : x)
MSA_OF_X(bessel_j0, ::j0(x))
MSA_OF_X(bessel_j1, ::j1(x))
MSA_OF_X(bessel_y0, x < 0 ? NAN : ::y0(x))
MSA_OF_X(bessel_y1, x < 0 ? NAN : ::y1(x))
MSA_OF_X(airy_ai, special::airy_ai(x))
MSA_OF_X(spherical_bessel_j0, special::spherical_bessel_j0(x))

MSA_OF_PAIR(_polygamma, polygamma(y, x), float, double, f16, bf16)
MSA_OF_XY(zeta, special::hurwitz_zeta(x, y))
MSA_OF_XY(igamma, special::lower_gamma(x, y))
MSA_OF_XY(igammac, special::upper_gamma(x, y))
MSA_STEPS_OF_XY(xlogy, std::isnan(y) ? y : x == 0 ? 0.0 : x * step<T>(std::log(y)))
MSA_STEPS_OF_XY(xlog1py, std::isnan(y) ? y : x == 0 ? 0.0 : x * step<T>(std::log1p(y)))
MSA_OF_XY(chebyshev_polynomial_t, special::chebyshev_t(x, y))
MSA_OF_XY(chebyshev_polynomial_u, special::chebyshev_u(x, y))
MSA_OF_XY(chebyshev_polynomial_v, special::chebyshev_v(x, y))
MSA_OF_XY(chebyshev_polynomial_w, special::chebyshev_w(x, y))
MSA_OF_XY(shifted_chebyshev_polynomial_t, special::chebyshev_t(2 * x - 1, y))
MSA_OF_XY(shifted_chebyshev_polynomial_u, special::chebyshev_u(2 * x - 1, y))
MSA_OF_XY(shifted_chebyshev_polynomial_v, special::chebyshev_v(2 * x - 1, y))
MSA_OF_XY(shifted_chebyshev_polynomial_w, special::chebyshev_w(2 * x - 1, y))
MSA_OF_PAIR(hermite_polynomial_h, special::hermite_h(x, y), float, double)
MSA_OF_PAIR(hermite_polynomial_he, special::hermite_he(x, y), float, double)
MSA_OF_PAIR(laguerre_polynomial_l, special::laguerre_l(x, y), float, double)
MSA_OF_PAIR(legendre_polynomial_p, special::legendre_p(x, y), float, double)

#define MSA_SIGNED uint8_t, int8_t, int16_t, int32_t, int64_t
MSA_OF_PAIR(nextafter, next_after(x, y), float, double, f16, bf16)
MSA_OF_PAIR(gcd, static_cast<T>(std::gcd(x, y)), MSA_SIGNED)
MSA_OF_PAIR(lcm, x == 0 || y == 0 ? T(0) : static_cast<T>(std::lcm(x, y)), MSA_SIGNED)

}  // namespace msa::cpu
