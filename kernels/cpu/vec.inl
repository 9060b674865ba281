// Vectors and complex numbers of one instruction set; included by each_isa.h inside its namespace.

// A vector register's worth of float or double.
template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(MSA_VECTOR_BYTES)));
};
template <class T>
using V = typename VecOf<T>::type;
template <class T>
inline constexpr int kLanes = MSA_VECTOR_BYTES / sizeof(T);

template <class T>
struct ElementOf {
  using type = T;
  static constexpr bool is_vector = false;
};
template <>
struct ElementOf<V<float>> {
  using type = float;
  static constexpr bool is_vector = true;
};
template <>
struct ElementOf<V<double>> {
  using type = double;
  static constexpr bool is_vector = true;
};

// SLEEF's function for this instruction set, one for each element type, as `sleef::fn`.
#define MSA_SLEEF_1(fn, ulp)                                  \
  extern "C" V<float> MSA_SLEEF_FLOAT(fn, ulp)(V<float>);     \
  extern "C" V<double> MSA_SLEEF_DOUBLE(fn, ulp)(V<double>);  \
  inline V<float> fn(V<float> x) { return MSA_SLEEF_FLOAT(fn, ulp)(x); } \
  inline V<double> fn(V<double> x) { return MSA_SLEEF_DOUBLE(fn, ulp)(x); }
#define MSA_SLEEF_2(fn, ulp)                                            \
  extern "C" V<float> MSA_SLEEF_FLOAT(fn, ulp)(V<float>, V<float>);     \
  extern "C" V<double> MSA_SLEEF_DOUBLE(fn, ulp)(V<double>, V<double>); \
  inline V<float> fn(V<float> x, V<float> y) { return MSA_SLEEF_FLOAT(fn, ulp)(x, y); } \
  inline V<double> fn(V<double> x, V<double> y) { return MSA_SLEEF_DOUBLE(fn, ulp)(x, y); }

namespace sleef {
MSA_SLEEF_1(exp, u10)
MSA_SLEEF_1(exp2, u10)
MSA_SLEEF_1(expm1, u10)
MSA_SLEEF_1(log, u10)
MSA_SLEEF_1(log2, u10)
MSA_SLEEF_1(log10, u10)
MSA_SLEEF_1(log1p, u10)
MSA_SLEEF_1(sin, u10)
MSA_SLEEF_1(cos, u10)
MSA_SLEEF_1(tan, u10)
MSA_SLEEF_1(asin, u10)
MSA_SLEEF_1(acos, u10)
MSA_SLEEF_1(atan, u10)
MSA_SLEEF_1(sinh, u10)
MSA_SLEEF_1(cosh, u10)
MSA_SLEEF_1(tanh, u10)
MSA_SLEEF_1(asinh, u10)
MSA_SLEEF_1(acosh, u10)
MSA_SLEEF_1(atanh, u10)
MSA_SLEEF_1(erf, u10)
MSA_SLEEF_1(erfc, u15)
MSA_SLEEF_1(lgamma, u10)
MSA_SLEEF_2(pow, u10)
MSA_SLEEF_2(atan2, u10)
MSA_SLEEF_2(hypot, u05)
}  // namespace sleef
#undef MSA_SLEEF_1
#undef MSA_SLEEF_2

// Complex numbers as plain pairs: std::complex is templates from outside (see isa.h), and its
// product recovers infinities, which PyTorch's does not.
template <class T>
struct Cx {
  T re, im;
  using real = T;
  Cx() = default;
  constexpr Cx(T re_, T im_ = 0) : re(re_), im(im_) {}
  template <class U>
  explicit constexpr Cx(Cx<U> z) : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
};
template <class T>
inline Cx<T> operator+(Cx<T> a, Cx<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T>
inline Cx<T> operator-(Cx<T> a, Cx<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T>
inline Cx<T> operator-(Cx<T> a) { return {-a.re, -a.im}; }
template <class T>
inline Cx<T> operator*(Cx<T> a, Cx<T> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
// Scaled by the larger part of the divisor, so that neither overflows.
template <class T>
inline Cx<T> operator/(Cx<T> a, Cx<T> b) {
  T re = b.re < 0 ? -b.re : b.re, im = b.im < 0 ? -b.im : b.im;
  if (re >= im) {
    if (re == 0 && im == 0) return {a.re / re, a.im / im};
    T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  T ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
template <class T>
inline bool operator==(Cx<T> a, Cx<T> b) { return a.re == b.re && a.im == b.im; }
template <class T>
inline bool operator!=(Cx<T> a, Cx<T> b) { return !(a == b); }

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Cx<T>> = true;
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Cx<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

// A number that the caller gave, as the loop's type.
template <class T>
inline T number(const Scalar& s) {
  if constexpr (kIsComplex<T>) {
    c128 v = s.to_complex();
    const double* parts = reinterpret_cast<const double*>(&v);
    return T(static_cast<Real<T>>(parts[0]), static_cast<Real<T>>(parts[1]));
  } else {
    return s.to<T>();
  }
}

// --- functions of one number, by builtins (std:: would bring templates from outside) --------------
#define MSA_REAL_1(name, builtin)                                  \
  inline float name(float x) { return __builtin_##builtin##f(x); } \
  inline double name(double x) { return __builtin_##builtin(x); }
#define MSA_REAL_2(name, builtin)                                              \
  inline float name(float x, float y) { return __builtin_##builtin##f(x, y); } \
  inline double name(double x, double y) { return __builtin_##builtin(x, y); }
MSA_REAL_1(magnitude, fabs)
MSA_REAL_1(round_down, floor)
MSA_REAL_1(round_up, ceil)
MSA_REAL_1(round_to_zero, trunc)
MSA_REAL_1(round_even, nearbyint)
MSA_REAL_1(square_root, sqrt)
MSA_REAL_2(remainder_toward_zero, fmod)
MSA_REAL_2(with_sign, copysign)
MSA_REAL_2(hypot, hypot)
MSA_REAL_2(angle_of, atan2)
MSA_REAL_1(natural_log, log)
MSA_REAL_1(log_1p, log1p)
MSA_REAL_1(exp_minus_1, expm1)
MSA_REAL_1(sine, sin)
MSA_REAL_1(cosine, cos)
#undef MSA_REAL_1
#undef MSA_REAL_2

// Functions of a complex number, by the C library's.
#define MSA_COMPLEX(name, builtin)              \
  inline Cx<float> name(Cx<float> z) {          \
    __complex__ float v;                        \
    __real__ v = z.re;                          \
    __imag__ v = z.im;                          \
    v = __builtin_##builtin##f(v);              \
    return {__real__ v, __imag__ v};            \
  }                                             \
  inline Cx<double> name(Cx<double> z) {        \
    __complex__ double v;                       \
    __real__ v = z.re;                          \
    __imag__ v = z.im;                          \
    v = __builtin_##builtin(v);                 \
    return {__real__ v, __imag__ v};            \
  }
namespace complex {
MSA_COMPLEX(exp, cexp)
MSA_COMPLEX(log, clog)
MSA_COMPLEX(sqrt, csqrt)
MSA_COMPLEX(sin, csin)
MSA_COMPLEX(cos, ccos)
MSA_COMPLEX(tan, ctan)
MSA_COMPLEX(asin, casin)
MSA_COMPLEX(acos, cacos)
MSA_COMPLEX(atan, catan)
MSA_COMPLEX(sinh, csinh)
MSA_COMPLEX(cosh, ccosh)
MSA_COMPLEX(tanh, ctanh)
MSA_COMPLEX(asinh, casinh)
MSA_COMPLEX(acosh, cacosh)
MSA_COMPLEX(atanh, catanh)
}  // namespace complex
#undef MSA_COMPLEX
