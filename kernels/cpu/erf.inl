// The error function of float vectors; included inside an instruction set's namespace. SLEEF's takes five
// times as long. Polynomials fitted to erf(x)/x below 0.92 and to -log(erfc(x))/x above: 1.2 ulp at most.
#include "kernels/cpu/lanes.inl"

#ifndef MSA_ISA_IS_BASE
template <int N>
inline V<float> polynomial(const float (&coefficients)[N], V<float> x) {
  V<float> sum = splat(coefficients[N - 1]);
  for (int i = N - 2; i >= 0; --i) sum = fma(sum, x, splat(coefficients[i]));
  return sum;
}

inline V<float> error_function(V<float> x) {
  constexpr float near[] = {0.12837914996166488f, -0.3761249645869005f,   0.11281845940013686f,
                            -0.026767719584429278f, 0.004994829889938287f, -0.0005999403952258765f};
  constexpr float far[] = {1.12864849206171f,      0.635151308662938f,      0.10623689109431841f,
                           -0.023762075036839893f, 0.0036424650112001156f, -0.0003228053900826767f,
                           1.123146522552665e-05f};
  V<float> size = x < 0.0f ? -x : x;
  V<float> small = fma(polynomial(near, x * x), x, x);
  V<float> large = 1.0f - sleef::exp(-(polynomial(far, size) * size));
  return size < 0.92f ? small : x < 0.0f ? -large : large;
}
#else
inline V<float> error_function(V<float> x) { return sleef::erf(x); }
#endif
inline V<double> error_function(V<double> x) { return sleef::erf(x); }
