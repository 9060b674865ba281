// The butterflies of Fourier transforms on vectors of lines, compiled for each instruction set.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/fft/lanes.h"
#define MSA_KERNEL_FILE "kernels/cpu/fft/lanes.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu::fft {
const TransformLanes transform_lanes = MSA_CHOOSE(run_passes);
}  // namespace msa::cpu::fft
#else
#include "kernels/cpu/lanes.inl"

struct Complex {
  V<double> re, im;
};
inline Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
inline Complex scaled(const Complex& a, double by) { return {a.re * by, a.im * by}; }
// a times i, or times -i for a negative sign.
inline Complex quarter_turn(const Complex& a, double sign) { return {a.im * -sign, a.re * sign}; }

// cos and sin of 2 pi j / R for j = 1 .. (R - 1) / 2.
template <int R>
inline constexpr double kCosines[1] = {};
template <>
inline constexpr double kCosines<3>[1] = {-0.5};
template <>
inline constexpr double kCosines<5>[2] = {0.30901699437494742410, -0.80901699437494742410};
template <>
inline constexpr double kCosines<7>[3] = {0.62348980185873353053, -0.22252093395631440429,
                                          -0.90096886790241912624};
template <int R>
inline constexpr double kSines[1] = {};
template <>
inline constexpr double kSines<3>[1] = {0.86602540378443864676};
template <>
inline constexpr double kSines<5>[2] = {0.95105651629515357212, 0.58778525229247312917};
template <>
inline constexpr double kSines<7>[3] = {0.78183148246802980871, 0.97492791218182360702,
                                        0.43388373911755812048};

// The transform of R numbers, in place. For odd R the numbers j and R - j are turned alike, but for
// the sine's sign.
template <int R>
inline void butterfly(Complex (&x)[R], double sign) {
  if constexpr (R == 2) {
    const Complex a = x[0], b = x[1];
    x[0] = a + b, x[1] = a - b;
  } else if constexpr (R == 4) {
    const Complex even = x[0] + x[2], odd = x[0] - x[2], sum = x[1] + x[3],
                  turned = quarter_turn(x[1] - x[3], sign);
    x[0] = even + sum, x[1] = odd + turned, x[2] = even - sum, x[3] = odd - turned;
  } else {
    constexpr int half = (R - 1) / 2;
    const Complex first = x[0];
    Complex sums[half], differences[half];
#pragma GCC unroll 3
    for (int j = 0; j < half; ++j) {
      sums[j] = x[j + 1] + x[R - 1 - j], differences[j] = x[j + 1] - x[R - 1 - j];
      x[0] = x[0] + sums[j];
    }
#pragma GCC unroll 3
    for (int k = 1; k <= half; ++k) {
      Complex along = first, across{};
#pragma GCC unroll 3
      for (int j = 1; j <= half; ++j) {
        const int angle = j * k % R, fold = angle <= half ? angle : R - angle;
        along = along + scaled(sums[j - 1], kCosines<R>[fold - 1]);
        const double sine = angle <= half ? kSines<R>[fold - 1] : -kSines<R>[fold - 1];
        across = across + scaled(differences[j - 1], sine);
      }
      const Complex turned = quarter_turn(across, sign);
      x[k] = along + turned, x[R - k] = along - turned;
    }
  }
}

inline Complex load_element(const double* p) {
  return {load_lanes(p), load_lanes(p + msa::cpu::fft::kLines)};
}
inline void store_element(double* p, const Complex& x) {
  store_lanes(p, x.re);
  store_lanes(p + msa::cpu::fft::kLines, x.im);
}
// x turned by the k-th of a butterfly's turns; the first number is not turned.
inline Complex turned_by(const Complex& x, const double* turns, int k, double sign) {
  const double c = turns[2 * k - 2], d = turns[2 * k - 1] * sign;
  return {x.re * c - x.im * d, x.re * d + x.im * c};
}

template <int R>
void run_pass(const msa::cpu::fft::LanePass& pass, double sign, const double* from, double* to) {
  constexpr int kElement = 2 * msa::cpu::fft::kLines;
  const int64_t m = pass.butterflies, s = pass.stride;
  for (int64_t p = 0; p < m; ++p) {
    const double* const turns = pass.turns + p * (R - 1) * 2;
    for (int64_t q = 0; q < s; ++q) {
      const double* const in = from + (q + s * p) * kElement;
      double* const out = to + (q + s * R * p) * kElement;
      for (int lane = 0; lane < msa::cpu::fft::kLines; lane += kLanes<double>) {
        Complex x[R];
#pragma GCC unroll 7
        for (int j = 0; j < R; ++j) x[j] = load_element(in + s * m * j * kElement + lane);
        butterfly<R>(x, sign);
#pragma GCC unroll 7
        for (int k = 0; k < R; ++k) {
          const Complex y = k ? turned_by(x[k], turns, k, sign) : x[k];
          store_element(out + s * k * kElement + lane, y);
        }
      }
    }
  }
}

// The transform of `radix` numbers that lie `step` apart, for any odd radix: as butterfly<R> folds
// it, two outputs at a time to keep the multipliers busy. put(k, number) takes the k-th.
template <class F>
inline void any_butterfly(const double* in, int64_t step, int radix, const double* roots,
                          double sign, F&& put) {
  const int half = radix / 2;
  Complex sums[msa::cpu::fft::kLargestRadix / 2], differences[msa::cpu::fft::kLargestRadix / 2];
  const Complex first = load_element(in);
  Complex total = first;
  for (int j = 1; j <= half; ++j) {
    const Complex a = load_element(in + step * j), b = load_element(in + step * (radix - j));
    sums[j - 1] = a + b, differences[j - 1] = a - b;
    total = total + sums[j - 1];
  }
  put(0, total);
  for (int k = 1; k <= half; k += 2) {
    const int places[2] = {k, k < half ? k + 1 : k};
    int angles[2] = {};
    Complex along[2] = {first, first}, across[2] = {};
    for (int j = 0; j < half; ++j) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        angles[i] += places[i];
        if (angles[i] >= radix) angles[i] -= radix;
        const V<double> c = splat(roots[2 * angles[i]]), d = splat(roots[2 * angles[i] + 1]);
        along[i] = {fma(sums[j].re, c, along[i].re), fma(sums[j].im, c, along[i].im)};
        across[i] = {fma(differences[j].re, d, across[i].re),
                     fma(differences[j].im, d, across[i].im)};
      }
    }
    for (int i = 0; i < 2; ++i) {
      const Complex turned = quarter_turn(across[i], sign);
      put(places[i], along[i] + turned);
      put(radix - places[i], along[i] - turned);
    }
  }
}

inline void run_any_pass(const msa::cpu::fft::LanePass& pass, double sign, const double* from,
                         double* to) {
  constexpr int kElement = 2 * msa::cpu::fft::kLines;
  const int64_t m = pass.butterflies, s = pass.stride;
  for (int64_t p = 0; p < m; ++p) {
    const double* const turns = pass.turns + p * (pass.radix - 1) * 2;
    for (int64_t q = 0; q < s; ++q) {
      for (int lane = 0; lane < msa::cpu::fft::kLines; lane += kLanes<double>) {
        double* const out = to + (q + s * pass.radix * p) * kElement + lane;
        any_butterfly(from + (q + s * p) * kElement + lane, s * m * kElement, pass.radix,
                      pass.roots, sign, [&](int k, const Complex& x) {
                        store_element(out + s * k * kElement, k ? turned_by(x, turns, k, sign) : x);
                      });
      }
    }
  }
}

inline const double* run_passes(const msa::cpu::fft::LanePass* passes, int count, double sign,
                                double* bundle, double* room) {
  double *from = bundle, *to = room;
  for (int i = 0; i < count; ++i) {
    const msa::cpu::fft::LanePass& pass = passes[i];
    switch (pass.radix) {
      case 2:
        run_pass<2>(pass, sign, from, to);
        break;
      case 3:
        run_pass<3>(pass, sign, from, to);
        break;
      case 4:
        run_pass<4>(pass, sign, from, to);
        break;
      case 5:
        run_pass<5>(pass, sign, from, to);
        break;
      case 7:
        run_pass<7>(pass, sign, from, to);
        break;
      default:
        run_any_pass(pass, sign, from, to);
    }
    double* const next = from;
    from = to, to = next;
  }
  return from;
}
#endif
