// Fourier transforms of tensors: one dimension after the other, all lines of a dimension by one
// plan.
#include <cmath>

#include "core/base/lock.h"
#include "generated/kernels_fft.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/fft/plan.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

using cpu::fft::Plan;

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

// Where the lines of a contiguous tensor along one dimension start and step.
struct Lines {
  int64_t length, step, count;
  Lines(const Tensor& t, int64_t dim)
      : length(t.size(dim)), step(1), count(length ? t.numel() / length : 0) {
    for (int64_t d = wrap_dim(dim, t.dim()) + 1; d < t.dim(); ++d) step *= t.size(d);
  }
  int64_t start(int64_t line) const { return line / step * step * length + line % step; }
};

// For each line: read(line, in) fills what the plan transforms, write(line, out) stores the result.
template <class Read, class Write>
void each_line(int64_t count, int64_t n, bool forward, const Read& read, const Write& write) {
  const Plan plan(n, forward);
  const Unlocked unlocked(count * n >= cpu::kGrain);
  cpu::parallel(count, std::max<int64_t>(1, cpu::kGrain / 8 / n), [&](int64_t begin, int64_t end) {
    Plan own(plan);
    std::vector<c128> in(static_cast<size_t>(n)), out(static_cast<size_t>(n));
    for (int64_t line = begin; line < end; ++line) {
      read(line, in.data());
      own.run(in.data(), out.data());
      write(line, out.data());
    }
  });
}

// Complex to complex along one dimension, in place.
template <class C>
void transform_dim(const Tensor& t, int64_t dim, bool forward, double scale) {
  const Lines lines(t, dim);
  C* const data = t.data<C>();
  each_line(
      lines.count, lines.length, forward,
      [&](int64_t line, c128* in) {
        const C* p = data + lines.start(line);
        for (int64_t i = 0; i < lines.length; ++i) in[i] = c128(p[i * lines.step]);
      },
      [&](int64_t line, const c128* out) {
        C* p = data + lines.start(line);
        for (int64_t i = 0; i < lines.length; ++i) p[i * lines.step] = C(out[i] * scale);
      });
}

template <class C>
void transform_dims(const Tensor& t, const Dims& dim, size_t count, bool forward, double scale) {
  for (size_t i = count; i-- > 0;) transform_dim<C>(t, dim[i], forward, i == 0 ? scale : 1.0);
}

// Real lines to the first `to.length` numbers of their spectrum.
template <class R>
void spectrum_of_real(const Tensor& from, const Tensor& to, int64_t dim, bool forward,
                      double scale) {
  const Lines in_lines(from, dim), out_lines(to, dim);
  const R* const source = from.data<R>();
  auto* const target = to.data<std::complex<R>>();
  each_line(
      in_lines.count, in_lines.length, forward,
      [&](int64_t line, c128* in) {
        const R* p = source + in_lines.start(line);
        for (int64_t i = 0; i < in_lines.length; ++i)
          in[i] = static_cast<double>(p[i * in_lines.step]);
      },
      [&](int64_t line, const c128* out) {
        auto* p = target + out_lines.start(line);
        for (int64_t i = 0; i < out_lines.length; ++i)
          p[i * out_lines.step] = std::complex<R>(out[i] * scale);
      });
}

// Half spectra of real lines back to these: the other half is the conjugate, mirrored.
template <class R>
void real_of_spectrum(const Tensor& from, const Tensor& to, int64_t dim, bool forward,
                      double scale) {
  const Lines in_lines(from, dim), out_lines(to, dim);
  const auto* const source = from.data<std::complex<R>>();
  R* const target = to.data<R>();
  const int64_t n = out_lines.length;
  each_line(
      out_lines.count, n, forward,
      [&](int64_t line, c128* in) {
        const auto* p = source + in_lines.start(line);
        in[0] = p[0].real();
        for (int64_t i = 1; i <= n / 2; ++i) {
          in[i] = c128(p[i * in_lines.step]);
          in[n - i] = std::conj(in[i]);
        }
        if (n % 2 == 0) in[n / 2] = in[n / 2].real();
      },
      [&](int64_t line, const c128* out) {
        R* p = target + out_lines.start(line);
        for (int64_t i = 0; i < n; ++i)
          p[i * out_lines.step] = static_cast<R>(out[i].real() * scale);
      });
}

}  // namespace

namespace kernels {

void _fft_c2c(const Tensor& input, const Dims& dim, int64_t normalization, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(input.sizes(), dim));
  cpu::fill_contiguous(out, out.dtype(), [&](const Tensor& to) {
    cpu::copy_into(to, input);
    if (to.numel() == 0) return;
    to.dtype() == DType::C64 ? transform_dims<c64>(to, dim, dim.size(), forward, scale)
                             : transform_dims<c128>(to, dim, dim.size(), forward, scale);
  });
}

void _fft_r2c(const Tensor& input, const Dims& dim, int64_t normalization, bool, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(input.sizes(), dim));
  cpu::fill_contiguous(out, out.dtype(), [&](const Tensor& to) {
    if (to.numel() == 0) return;
    const Tensor from = cpu::contiguous(input);
    if (from.dtype() == DType::F32) {
      spectrum_of_real<float>(from, to, dim.back(), forward, scale);
      transform_dims<c64>(to, dim, dim.size() - 1, forward, 1);
    } else {
      spectrum_of_real<double>(from, to, dim.back(), forward, scale);
      transform_dims<c128>(to, dim, dim.size() - 1, forward, 1);
    }
  });
}

void _fft_c2r(const Tensor& input, const Dims& dim, int64_t normalization, int64_t, bool forward,
              Tensor& out) {
  const double scale = scale_of(normalization, elements_of(out.sizes(), dim));
  cpu::fill_contiguous(out, out.dtype(), [&](const Tensor& to) {
    if (to.numel() == 0) return;
    const Tensor from = dim.size() > 1 ? cpu::copied(input) : cpu::contiguous(input);
    if (to.dtype() == DType::F32) {
      transform_dims<c64>(from, dim, dim.size() - 1, forward, 1);
      real_of_spectrum<float>(from, to, dim.back(), forward, scale);
    } else {
      transform_dims<c128>(from, dim, dim.size() - 1, forward, 1);
      real_of_spectrum<double>(from, to, dim.back(), forward, scale);
    }
  });
}

}  // namespace kernels
}  // namespace msa
