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
