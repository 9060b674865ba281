// Layer normalisation: each row by its own mean and variance.
#include <cmath>

#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/norm/loops.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

using cpu::as;
using cpu::data_or_null;
using cpu::with_real;

template <class F>
void each_rows(int64_t rows, int64_t n, F&& range) {
  const Unlocked unlocked(rows * n >= cpu::kGrain);
  cpu::parallel(rows, std::max<int64_t>(1, cpu::kGrain / 2 / (n + 1)), range);
}

// The statistics are those that are kept, so that a row of one element is exactly its bias.
template <class T>
void forward(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, double eps, T* y,
             T* means, T* rstds, bool fused) {
  const auto& loops = cpu::norm_loops<T>();
  const auto affine = fused ? loops.fused_affine : loops.affine;
  each_rows(rows, n, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x + r * n;
      const double mean = loops.sum(row, n) / static_cast<double>(n);
      const double variance = loops.squares(row, n, mean) / static_cast<double>(n);
      means[r] = static_cast<T>(mean);
      rstds[r] = T(1) / std::sqrt(static_cast<T>(variance) + static_cast<T>(eps));
      affine(row, y + r * n, n, rstds[r], -means[r] * rstds[r], weight, bias);
    }
  });
}

template <class T>
void backward_input(int64_t rows, int64_t n, const T* grad, const T* x, const T* weight,
                    const T* means, const T* rstds, T* out) {
  const auto& loops = cpu::norm_loops<T>();
  each_rows(rows, n, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const double mean = static_cast<double>(means[r]), rstd = static_cast<double>(rstds[r]);
      const cpu::TwoSums sums = loops.products(grad + r * n, weight, x + r * n, n, mean);
      const double slope = -sums.second * rstd * rstd * rstd / static_cast<double>(n);
      const double shift = -slope * mean - sums.first * rstd / static_cast<double>(n);
      loops.combine(grad + r * n, weight, x + r * n, out + r * n, n, static_cast<T>(rstd),
                    static_cast<T>(slope), static_cast<T>(shift));
    }
  });
}

template <class T>
void backward_affine(int64_t rows, int64_t n, const T* grad, const T* x, const T* means,
                     const T* rstds, T* of_weight, T* of_bias) {
  std::fill_n(of_weight, n, T(0));
  std::fill_n(of_bias, n, T(0));
  // Columns go to threads: each adds its part of every row.
  const Unlocked unlocked(rows * n >= cpu::kGrain);
  cpu::parallel(
      n, std::max<int64_t>(16, cpu::kGrain / (rows + 1)), [&](int64_t begin, int64_t end) {
        for (int64_t r = 0; r < rows; ++r)
          cpu::norm_loops<T>().accumulate(grad + r * n + begin, x + r * n + begin, end - begin,
                                          means[r], rstds[r], of_weight + begin, of_bias + begin);
      });
}

}  // namespace

namespace kernels {

void layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                const Tensor& bias, double eps, bool, Tensor& out, Tensor& mean, Tensor& rstd) {
  with_real("layer_norm", input.dtype(), [&]<class T>() {
    const Tensor x = as<T>(input), w = as<T>(weight), b = as<T>(bias);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      forward(mean.numel(), product(normalized_shape), x.data<T>(), data_or_null<T>(w),
              data_or_null<T>(b), eps, to.data<T>(), mean.data<T>(), rstd.data<T>(),
              is_half(input.dtype()));
    });
  });
  for (const Tensor* t : {&mean, &rstd}) cpu::round_statistics(input, weight, *t);
}

void _layer_norm_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Tensor& mean, const Tensor& rstd, const Dims& normalized_shape,
                          Tensor& of_input, Tensor& of_weight, Tensor& of_bias) {
  with_real("layer_norm", input.dtype(), [&]<class T>() {
    const int64_t rows = mean.numel(), n = product(normalized_shape);
    const Tensor g = as<T>(grad_output), x = as<T>(input), w = as<T>(weight);
    cpu::fill_contiguous(of_input, dtype_of<T>::value, [&](const Tensor& to) {
      backward_input(rows, n, g.data<T>(), x.data<T>(), data_or_null<T>(w), mean.data<T>(),
                     rstd.data<T>(), to.data<T>());
    });
    backward_affine(rows, n, g.data<T>(), x.data<T>(), mean.data<T>(), rstd.data<T>(),
                    of_weight.data<T>(), of_bias.data<T>());
  });
}

}  // namespace kernels
}  // namespace msa
