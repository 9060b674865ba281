// Fourier transforms of tensors: one dimension after the other, all lines of a dimension by one
// plan.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/lock.h"
#include "generated/kernels_fft.h"
#include "generated/layouts_view.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/fft/plan.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

using cpu::fft::kLines;
using cpu::fft::Plan;
using cpu::fft::RealPlan;

// How a row's `normalization` scales a transform over so many elements.
double scale_of(int64_t normalization, double elements) {
  switch (normalization) {
    case 1:
      return 1 / std::sqrt(elements);
    case 2:
      return 1 / elements;
    default:
      return 1;
  }
}

double elements_of(const Dims& sizes, const Dims& dim) {
  double n = 1;
  for (int64_t d : dim)
    n *= static_cast<double>(sizes[wrap_dim(d, static_cast<int64_t>(sizes.size()))]);
  return n;
}

// The tensors of a transform, their dimensions in the order of the output's memory.
struct Ordered {
  Ordered(const Tensor& from, const Tensor& to, const Dims& dims) {
    Dims order(to.sizes().size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return to.strides()[a] > to.strides()[b]; });
    input = alias(from, layouts::permute(from.layout(), order));
    out = alias(to, layouts::permute(to.layout(), order));
    for (const int64_t d : dims) {
      const auto at = std::find(order.begin(), order.end(), wrap_dim(d, to.dim()));
      dim.push_back(at - order.begin());
    }
  }
  Tensor input, out;
  Dims dim;
};

// Where the lines of a contiguous tensor along one dimension start and step.
struct Lines {
  int64_t length, step, count;
  Lines(const Tensor& t, int64_t dim)
      : length(t.size(dim)), step(1), count(length ? t.numel() / length : 0) {
    for (int64_t d = wrap_dim(dim, t.dim()) + 1; d < t.dim(); ++d) step *= t.size(d);
  }
  int64_t start(int64_t line) const { return line / step * step * length + line % step; }
};

// Some lines of a tensor that are transformed together.
struct Bundle {
  int64_t first;
  int lines, width;
};

// body(own plan, bundle, own room) for all of `count` lines; threads have plans of their own. Few
// lines, or lines that would not stay in a cache side by side, are taken one by one.
template <class P, class Body>
void each_bundle(int64_t count, int64_t n, bool forward, const Body& body) {
  constexpr int64_t kLongest = 4096;
  const std::shared_ptr<const P> plan = cpu::fft::recent<P>(n, forward);
  const int width = count >= 3 && n <= kLongest && plan->takes_bundles() ? kLines : 1;
  const Unlocked unlocked(count * n >= cpu::kGrain);
  const int64_t grain = std::max<int64_t>(1, cpu::kGrain / 8 / n / width) * width;
  cpu::parallel(count, grain, [&](int64_t begin, int64_t end) {
    P own(*plan);
    std::vector<double> room;
    for (int64_t line = begin; line < end; line += width) {
      const auto lines = static_cast<int>(std::min<int64_t>(width, end - line));
      body(own, Bundle{line, lines, width}, room);
    }
  });
}

// Where the lines of a bundle start.
template <class T>
std::array<T*, kLines> starts_of(const Lines& lines, const Bundle& b, T* data) {
  std::array<T*, kLines> starts{};
  for (int k = 0; k < b.lines; ++k) starts[k] = data + lines.start(b.first + k);
  return starts;
}

// The first `count` elements of complex lines into a bundle, and the other way.
template <class C>
void gather(const Lines& lines, const Bundle& b, const C* data, int64_t count,
            std::vector<double>& to) {
  to.resize(static_cast<size_t>(2 * count * b.width));
  const auto starts = starts_of(lines, b, data);
  for (int64_t i = 0; i < count; ++i) {
    double* const element = &to[2 * i * b.width];
    for (int k = 0; k < b.lines; ++k) {
      const C value = starts[k][i * lines.step];
      element[k] = value.real(), element[b.width + k] = value.imag();
    }
  }
}

template <class C>
void scatter(const Lines& lines, const Bundle& b, const double* from, int64_t count, double scale,
             C* data) {
  using R = typename C::value_type;
  const auto starts = starts_of(lines, b, data);
  for (int64_t i = 0; i < count; ++i) {
    const double* const element = from + 2 * i * b.width;
    for (int k = 0; k < b.lines; ++k) {
      starts[k][i * lines.step] = {static_cast<R>(element[k] * scale),
                                   static_cast<R>(element[b.width + k] * scale)};
    }
  }
}

// Complex to complex along one dimension, in place.
template <class C>
void transform_dim(const Tensor& t, int64_t dim, bool forward, double scale) {
  const Lines lines(t, dim);
  C* const data = t.data<C>();
  const int64_t n = lines.length;
  each_bundle<Plan>(lines.count, n, forward,
                    [&](Plan& plan, const Bundle& b, std::vector<double>& bundle) {
                      gather<C>(lines, b, data, n, bundle);
                      scatter(lines, b, plan.run(bundle.data(), b.width), n, scale, data);
                    });
}

template <class C>
void transform_dims(const Tensor& t, const Dims& dim, size_t count, bool forward, double scale) {
  for (size_t i = count; i-- > 0;) transform_dim<C>(t, dim[i], forward, i == 0 ? scale : 1.0);
}

// Real lines to the first `to.length` numbers of their spectrum; beyond its half they are mirrored.
template <class R>
void spectrum_of_real(const Tensor& from, const Tensor& to, int64_t dim, bool forward,
                      double scale) {
  using C = std::complex<R>;
  const Lines in_lines(from, dim), out_lines(to, dim);
  const R* const source = from.data<R>();
  C* const target = to.data<C>();
  const int64_t n = in_lines.length, half = n / 2 + 1;
  each_bundle<RealPlan>(
      in_lines.count, n, forward, [&](RealPlan& plan, const Bundle& b, std::vector<double>& reals) {
        reals.resize(static_cast<size_t>(n * b.width));
        const auto starts = starts_of(in_lines, b, source);
        for (int64_t i = 0; i < n; ++i) {
          for (int k = 0; k < b.lines; ++k) reals[i * b.width + k] = starts[k][i * in_lines.step];
        }
        scatter(out_lines, b, plan.spectrum(reals.data(), b.width), half, scale, target);
        const auto ends = starts_of(out_lines, b, target);
        for (int64_t i = half; i < out_lines.length; ++i) {
          for (int k = 0; k < b.lines; ++k)
            ends[k][i * out_lines.step] = std::conj(ends[k][(n - i) * out_lines.step]);
        }
      });
}

// Half spectra of real lines back to these.
template <class R>
void real_of_spectrum(const Tensor& from, const Tensor& to, int64_t dim, bool forward,
                      double scale) {
  using C = std::complex<R>;
  const Lines in_lines(from, dim), out_lines(to, dim);
  const C* const source = from.data<C>();
  R* const target = to.data<R>();
  const int64_t n = out_lines.length;
  each_bundle<RealPlan>(out_lines.count, n, forward,
                        [&](RealPlan& plan, const Bundle& b, std::vector<double>& halves) {
                          gather<C>(in_lines, b, source, n / 2 + 1, halves);
                          const double* const out = plan.lines(halves.data(), b.width);
                          const auto starts = starts_of(out_lines, b, target);
                          for (int64_t i = 0; i < n; ++i) {
                            for (int k = 0; k < b.lines; ++k)
                              starts[k][i * out_lines.step] =
                                  static_cast<R>(out[i * b.width + k] * scale);
                          }
                        });
}

}  // namespace

namespace kernels {

void _fft_c2c(const Tensor& input, const Dims& dim, int64_t normalization, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(input.sizes(), dim));
  const Ordered o(input, out, dim);
  cpu::fill_contiguous(o.out, out.dtype(), [&](const Tensor& to) {
    cpu::copy_into(to, o.input);
    if (to.numel() == 0) return;
    to.dtype() == DType::C64 ? transform_dims<c64>(to, o.dim, dim.size(), forward, scale)
                             : transform_dims<c128>(to, o.dim, dim.size(), forward, scale);
  });
}

void _fft_r2c(const Tensor& input, const Dims& dim, int64_t normalization, bool, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(input.sizes(), dim));
  const Ordered o(input, out, dim);
  cpu::fill_contiguous(o.out, out.dtype(), [&](const Tensor& to) {
    if (to.numel() == 0) return;
    const Tensor from = cpu::contiguous(o.input);
    if (from.dtype() == DType::F32) {
      spectrum_of_real<float>(from, to, o.dim.back(), forward, scale);
      transform_dims<c64>(to, o.dim, dim.size() - 1, forward, 1);
    } else {
      spectrum_of_real<double>(from, to, o.dim.back(), forward, scale);
      transform_dims<c128>(to, o.dim, dim.size() - 1, forward, 1);
    }
  });
}

void _fft_c2r(const Tensor& input, const Dims& dim, int64_t normalization, int64_t, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(out.sizes(), dim));
  const Ordered o(input, out, dim);
  cpu::fill_contiguous(o.out, out.dtype(), [&](const Tensor& to) {
    if (to.numel() == 0) return;
    const Tensor from = dim.size() > 1 ? cpu::copied(o.input) : cpu::contiguous(o.input);
    if (to.dtype() == DType::F32) {
      transform_dims<c64>(from, o.dim, dim.size() - 1, forward, 1);
      real_of_spectrum<float>(from, to, o.dim.back(), forward, scale);
    } else {
      transform_dims<c128>(from, o.dim, dim.size() - 1, forward, 1);
      real_of_spectrum<double>(from, to, o.dim.back(), forward, scale);
    }
  });
}

}  // namespace kernels
}  // namespace msa
