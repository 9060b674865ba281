// Batch normalisation: each channel's statistics, then one affine map over its runs of memory.
#include <cmath>

#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/norm/loops.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

using cpu::as;
using cpu::data_or_null;
using cpu::rounded;
using cpu::with_real;

// (N, C, inner): a channel is N runs of `inner` elements.
struct Channels {
  int64_t batch, count, inner;
  int64_t values() const { return batch * inner; }
  int64_t run(int64_t n, int64_t c) const { return (n * count + c) * inner; }
};
Channels channels_of(const Tensor& t) {
  return {t.sizes()[0], t.sizes()[1], product(DimsView(t.sizes()).subspan(2))};
}

template <class F>
void each_channel(const Channels& s, F&& one) {
  const Unlocked unlocked(s.count * s.values() >= cpu::kGrain);
  cpu::parallel(s.count, std::max<int64_t>(1, cpu::kGrain / (s.values() + 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c) one(c);
                });
}

template <class T>
struct Stats {
  T* mean;
  T* invstd;
};

// Of the batch; the unbiased variance goes to `variances`.
template <class T>
void batch_stats(const Channels& s, const T* x, double eps, const Stats<T>& stats, T* variances) {
  const auto& loops = cpu::norm_loops<T>();
  const double values = static_cast<double>(s.values());
  each_channel(s, [&](int64_t c) {
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < s.batch; ++n) sum += loops.sum(x + s.run(n, c), s.inner);
    const double mean = sum / values;
    for (int64_t n = 0; n < s.batch; ++n) squares += loops.squares(x + s.run(n, c), s.inner, mean);
    stats.mean[c] = static_cast<T>(mean);
    stats.invstd[c] = static_cast<T>(1 / std::sqrt(squares / values + eps));
    variances[c] = static_cast<T>(squares / (values - 1));
  });
}

template <class T>
void normalise(const Channels& s, const T* x, const Stats<T>& stats, const T* weight, const T* bias,
               T* y) {
  const auto& loops = cpu::norm_loops<T>();
  each_channel(s, [&](int64_t c) {
    const T scale = stats.invstd[c] * (weight ? weight[c] : T(1));
    const T shift = (bias ? bias[c] : T(0)) - stats.mean[c] * scale;
    for (int64_t n = 0; n < s.batch; ++n)
      loops.affine(x + s.run(n, c), y + s.run(n, c), s.inner, scale, shift, nullptr, nullptr);
  });
}

// PyTorch computes half inputs that are in no memory format one operation at a time, each rounded.
bool goes_by_steps(const Tensor& input, const Tensor& weight) {
  return is_half(input.dtype()) && (!weight.defined() || weight.dtype() == input.dtype()) &&
         !input.is_contiguous() && !input.is_contiguous(MemoryFormat::ChannelsLast) &&
         !input.is_contiguous(MemoryFormat::ChannelsLast3d);
}
void normalise_by_steps(const Channels& s, DType half, const float* x, const Stats<float>& stats,
                        const float* weight, const float* bias, float* y) {
  each_channel(s, [&](int64_t c) {
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t i = s.run(n, c), end = i + s.inner; i < end; ++i) {
        float v = rounded(half, rounded(half, x[i] - stats.mean[c]) * stats.invstd[c]);
        if (weight) v = rounded(half, v * weight[c]);
        y[i] = bias ? v + bias[c] : v;
      }
    }
  });
}
void round_given_stats(DType half, const Tensor& variance, double eps, const Tensor& invstd) {
  const Tensor v = cpu::contiguous(variance, DType::F32);
  for (int64_t c = 0; c < v.numel(); ++c) {
    const float sum = rounded(half, v.data<float>()[c] + static_cast<float>(eps));
    invstd.data<float>()[c] = rounded(half, 1 / rounded(half, std::sqrt(sum)));
  }
}

// running = (1 - momentum) * running + momentum * batch
template <class T>
void move_running(const Tensor& running, const Tensor& batch, double momentum) {
  if (!running.defined()) return;
  const Tensor moved = cpu::copied(running, batch.dtype());
  T* to = moved.data<T>();
  for (int64_t c = 0; c < moved.numel(); ++c)
    to[c] = static_cast<T>(momentum * batch.data<T>()[c] + (1 - momentum) * to[c]);
  cpu::copy_into(running, moved);
  running.bump_version();
}

template <class T>
void given_stats(const Tensor& mean, const Tensor& variance, double eps, const Stats<T>& stats) {
  const Tensor m = cpu::contiguous(mean, dtype_of<T>::value),
               v = cpu::contiguous(variance, dtype_of<T>::value);
  for (int64_t c = 0; c < m.numel(); ++c) {
    stats.mean[c] = m.data<T>()[c];
    stats.invstd[c] = T(1) / std::sqrt(v.data<T>()[c] + static_cast<T>(eps));
  }
}

template <class T>
void backward(const Channels& s, const T* grad, const T* x, const T* weight, const Stats<T>& stats,
              bool training, T* of_input, T* of_weight, T* of_bias) {
  const auto& loops = cpu::norm_loops<T>();
  const double values = static_cast<double>(s.values());
  each_channel(s, [&](int64_t c) {
    const double mean = static_cast<double>(stats.mean[c]),
                 invstd = static_cast<double>(stats.invstd[c]);
    cpu::TwoSums sums{0, 0};
    for (int64_t n = 0; n < s.batch; ++n) {
      const cpu::TwoSums run =
          loops.products(grad + s.run(n, c), nullptr, x + s.run(n, c), s.inner, mean);
      sums.first += run.first;
      sums.second += run.second;
    }
    of_weight[c] = static_cast<T>(sums.second * invstd);
    of_bias[c] = static_cast<T>(sums.first);
    // (grad - (x - mean) * slope - average) * scale; given statistics do not depend on x.
    const double scale = invstd * (weight ? static_cast<double>(weight[c]) : 1.0);
    const double slope = training ? sums.second * invstd * invstd / values : 0;
    const double average = training ? sums.first / values : 0;
    for (int64_t n = 0; n < s.batch; ++n)
      loops.combine(grad + s.run(n, c), nullptr, x + s.run(n, c), of_input + s.run(n, c), s.inner,
                    static_cast<T>(scale), static_cast<T>(-slope * scale),
                    static_cast<T>((slope * mean - average) * scale));
  });
}

}  // namespace

namespace kernels {

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Tensor& running_mean, const Tensor& running_var, bool training,
                double momentum, double eps, bool, Tensor& out, Tensor& save_mean,
                Tensor& save_invstd) {
  if (input.numel() == 0) {  // nothing to learn from: the running statistics stay
    cpu::copy_into(save_mean, scalar_tensor(0, save_mean.dtype()));
    cpu::copy_into(save_invstd, scalar_tensor(0, save_invstd.dtype()));
    return;
  }
  with_real("batch_norm", input.dtype(), [&]<class T>() {
    const Channels s = channels_of(input);
    const Tensor x = as<T>(input), w = as<T>(weight), b = as<T>(bias);
    const Stats<T> stats{save_mean.data<T>(), save_invstd.data<T>()};
    if (training) {
      const Tensor variances = empty(save_mean.sizes(), save_mean.dtype());
      batch_stats(s, x.data<T>(), eps, stats, variances.data<T>());
      move_running<T>(running_mean, save_mean, momentum);
      move_running<T>(running_var, variances, momentum);
      for (const Tensor* t : {&save_mean, &save_invstd}) cpu::round_statistics(input, weight, *t);
    } else {
      given_stats(running_mean, running_var, eps, stats);
    }
    const bool by_steps = goes_by_steps(input, weight);
    if (by_steps && !training) round_given_stats(input.dtype(), running_var, eps, save_invstd);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      if constexpr (std::is_same_v<T, float>) {
        if (by_steps)
          return normalise_by_steps(s, input.dtype(), x.data<T>(), stats, data_or_null<T>(w),
                                    data_or_null<T>(b), to.data<T>());
      }
      normalise(s, x.data<T>(), stats, data_or_null<T>(w), data_or_null<T>(b), to.data<T>());
    });
  });
}

void _batch_norm_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Tensor& mean, const Tensor& invstd, bool training, Tensor& of_input,
                          Tensor& of_weight, Tensor& of_bias) {
  if (input.numel() == 0) {
    for (const Tensor* t : {&of_weight, &of_bias}) cpu::copy_into(*t, scalar_tensor(0, t->dtype()));
    return;
  }
  with_real("batch_norm", input.dtype(), [&]<class T>() {
    const Tensor g = as<T>(grad_output), x = as<T>(input), w = as<T>(weight);
    const Stats<T> stats{mean.data<T>(), invstd.data<T>()};
    cpu::fill_contiguous(of_input, dtype_of<T>::value, [&](const Tensor& to) {
      backward(channels_of(input), g.data<T>(), x.data<T>(), data_or_null<T>(w), stats, training,
               to.data<T>(), of_weight.data<T>(), of_bias.data<T>());
    });
  });
}

}  // namespace kernels
}  // namespace msa
