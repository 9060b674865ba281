// Special functions of one or two double values; the loops of special.cpp compute float through
// them too.
#pragma once
#include <cstdint>

namespace msa::cpu::special {

// Gamma's relatives.
double digamma(double x);
// In the arithmetic of T, float or double, with as many terms as PyTorch takes.
template <class T>
T trigamma(T x);
double hurwitz_zeta(double s, double q);
double lower_gamma(double a, double x);  // regularized, P(a, x)
double upper_gamma(double a, double x);  // regularized, Q(a, x)

// The error function's relatives.
double scaled_erfc(double x);  // exp(x^2) erfc(x)
double log_normal_cdf(double x);

double airy_ai(double x);
double spherical_bessel_j0(double x);

// Orthogonal polynomials of degree n, by their recurrences; a negative degree gives 0.
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
template <class T>
T hermite_h(T x, T n);
template <class T>
T hermite_he(T x, T n);
template <class T>
T laguerre_l(T x, T n);
template <class T>
T legendre_p(T x, T n);

}  // namespace msa::cpu::special
