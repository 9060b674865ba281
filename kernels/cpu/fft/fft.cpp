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

// Where the lines of a contiguous tensor along one dimension start and step.
struct Lines {
  int64_t length, step, count;
  Lines(const Tensor& t, int64_t dim)
      : length(t.size(dim)), step(1), count(length ? t.numel() / length : 0) {
    for (int64_t d = wrap_dim(dim, t.dim()) + 1; d < t.dim(); ++d) step *= t.size(d);
  }
  int64_t start(int64_t line) const { return line / step * step * length + line % step; }
};

// For each of `count` lines body(own plan, line), where threads have plans of their own.
template <class P, class Body>
void each_line(int64_t count, int64_t n, bool forward, const Body& body) {
  const std::shared_ptr<const P> plan = cpu::fft::recent<P>(n, forward);
  const Unlocked unlocked(count * n >= cpu::kGrain);
  cpu::parallel(count, std::max<int64_t>(1, cpu::kGrain / 8 / n), [&](int64_t begin, int64_t end) {
    P own(*plan);
    body(own, begin, end);
  });
}

// Complex to complex along one dimension, in place. Lines whose elements lie apart are taken
// several at a time: neighbours share the cache lines that are read and written.
template <class C>
void transform_dim(const Tensor& t, int64_t dim, bool forward, double scale) {
  const Lines lines(t, dim);
  C* const data = t.data<C>();
  const int64_t n = lines.length, step = lines.step;
  const int64_t most = std::clamp<int64_t>(std::min(step, (1 << 15) / n), 1, 8);
  each_line<Plan>(lines.count, n, forward, [&](Plan& plan, int64_t begin, int64_t end) {
    std::vector<c128> in(static_cast<size_t>(n * most)), out(in.size());
    for (int64_t line = begin; line < end;) {
      // Neighbours end where the dimension behind does.
      const int64_t together = std::min({most, end - line, step - line % step});
      C* const p = data + lines.start(line);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < together; ++k) in[k * n + i] = c128(p[i * step + k]);
      }
      for (int64_t k = 0; k < together; ++k) plan.run(&in[k * n], &out[k * n]);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < together; ++k) p[i * step + k] = C(out[k * n + i] * scale);
      }
      line += together;
    }
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
  const Lines in_lines(from, dim), out_lines(to, dim);
  const R* const source = from.data<R>();
  auto* const target = to.data<std::complex<R>>();
  const int64_t n = in_lines.length;
  each_line<RealPlan>(in_lines.count, n, forward, [&](RealPlan& plan, int64_t begin, int64_t end) {
    std::vector<double> in(static_cast<size_t>(n));
    std::vector<c128> half(static_cast<size_t>(n / 2 + 1));
    for (int64_t line = begin; line < end; ++line) {
      const R* const p = source + in_lines.start(line);
      for (int64_t i = 0; i < n; ++i) in[i] = p[i * in_lines.step];
      plan.spectrum(in.data(), half.data());
      auto* const q = target + out_lines.start(line);
      for (int64_t i = 0; i < out_lines.length; ++i) {
        const c128 value = i <= n / 2 ? half[i] : std::conj(half[n - i]);
        q[i * out_lines.step] = std::complex<R>(value * scale);
      }
    }
  });
}

// Half spectra of real lines back to these.
template <class R>
void real_of_spectrum(const Tensor& from, const Tensor& to, int64_t dim, bool forward,
                      double scale) {
  const Lines in_lines(from, dim), out_lines(to, dim);
  const auto* const source = from.data<std::complex<R>>();
  R* const target = to.data<R>();
  const int64_t n = out_lines.length;
  each_line<RealPlan>(out_lines.count, n, forward, [&](RealPlan& plan, int64_t begin, int64_t end) {
    std::vector<c128> half(static_cast<size_t>(n / 2 + 1));
    std::vector<double> out(static_cast<size_t>(n));
    for (int64_t line = begin; line < end; ++line) {
      const auto* const p = source + in_lines.start(line);
      for (int64_t i = 0; i <= n / 2; ++i) half[i] = c128(p[i * in_lines.step]);
      plan.line(half.data(), out.data());
      R* const q = target + out_lines.start(line);
      for (int64_t i = 0; i < n; ++i) q[i * out_lines.step] = static_cast<R>(out[i] * scale);
    }
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
