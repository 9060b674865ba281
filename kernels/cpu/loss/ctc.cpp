// Connectionist temporal classification: the probabilities of all alignments by the forward and
// backward recursions of Graves et al. 2006, in logarithms. Their equations are numbered here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/lock.h"
#include "generated/kernels_loss.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

using cpu::as;

// (T, N, C) log-probabilities and (N, S) labels with blanks between and around them.
struct Sizes {
  int64_t steps, batch, classes, width;
};
Sizes sizes_of(const Tensor& log_probs, const Tensor& labels) {
  const DimsView in = log_probs.sizes();
  return {in[0], in[1], in[2], labels.sizes()[1]};
}

// One sample: what each step says of each class, and the labels at its `places`.
template <class T>
struct Sample {
  static constexpr T kNever = -std::numeric_limits<T>::infinity();
  const T* log_probs;  // of step 0; `step_size` to the next
  int64_t step_size, steps, width, places;
  const int64_t* labels;

  int64_t at(int64_t step, int64_t place) const { return step * width + place; }
  T emitted(int64_t step, int64_t place) const {
    return log_probs[step * step_size + labels[place]];
  }
  bool may_skip(int64_t from, int64_t to) const { return labels[from] != labels[to]; }
};

// log(exp(a) + exp(b) + exp(c))
template <class T>
T log_sum(T a, T b, T c) {
  T most = std::max(std::max(a, b), c);
  if (most == Sample<T>::kNever) most = 0;
  return std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most)) + most;
}
template <class T>
T log_sum(T a, T b) {
  T most = std::max(a, b);
  if (most == Sample<T>::kNever) most = 0;
  return std::log(std::exp(a - most) + std::exp(b - most)) + most;
}

// Equations 5 to 8: `alpha` of every step and place; returns the loss.
template <class T>
T forward(const Sample<T>& s, T* alpha) {
  constexpr T never = Sample<T>::kNever;
  if (s.steps == 0) return s.places == 1 ? T(0) : -never;
  for (int64_t place = 0; place < std::min<int64_t>(2, s.places); ++place)
    alpha[place] = s.emitted(0, place);
  for (int64_t step = 1; step < s.steps; ++step) {
    for (int64_t place = 0; place < s.places; ++place) {
      const T* before = alpha + s.at(step - 1, place);
      const T one = place > 0 ? before[-1] : never;
      const T two = place > 1 && s.may_skip(place - 2, place) ? before[-2] : never;
      alpha[s.at(step, place)] = log_sum(before[0], one, two) + s.emitted(step, place);
    }
  }
  const T* last = alpha + s.at(s.steps - 1, s.places - 1);
  return s.places == 1 ? -last[0] : -log_sum(last[0], last[-1]);
}

// Equation 10 at one place of a step, from `next`, the step behind.
template <class T>
T beta_at(const Sample<T>& s, const T* next, int64_t step, int64_t place) {
  constexpr T never = Sample<T>::kNever;
  const T one = place + 1 < s.places ? next[place + 1] : never;
  const T two = place + 2 < s.places && s.may_skip(place + 2, place) ? next[place + 2] : never;
  return log_sum(next[place], one, two) + s.emitted(step, place);
}

// Equation 16: `grad`, laid out as the log-probabilities and full of "never", takes first the sums
// of alpha and beta for each class, then the gradient.
template <class T>
void backward(const Sample<T>& s, const T* alpha, T loss, T factor, int64_t classes, T* grad) {
  constexpr T never = Sample<T>::kNever;
  std::vector<T> beta(static_cast<size_t>(s.places), never), next;
  for (int64_t step = s.steps - 1; step >= 0; --step) {
    next = beta;
    for (int64_t place = s.places - 1; place >= 0; --place) {
      const bool ends = step == s.steps - 1;
      T& here = beta[static_cast<size_t>(place)];
      if (ends && place + 2 < s.places) break;
      here = ends ? s.emitted(step, place) : beta_at(s, next.data(), step, place);
      T& sum = grad[step * s.step_size + s.labels[place]];
      const T both = alpha[s.at(step, place)] + here;
      sum = sum == never ? both : log_sum(sum, both);
    }
    for (int64_t c = 0; c < classes; ++c) {
      const T log_p = s.log_probs[step * s.step_size + c];
      T& out = grad[step * s.step_size + c];
      out = (std::exp(log_p) - std::exp(out + loss - log_p)) * factor;
    }
  }
}

// each(sample, its number)
template <class T, class F>
void each_sample(const Sizes& sizes, const Tensor& log_probs, const Tensor& labels,
                 const Tensor& input_lengths, const Tensor& target_lengths, F&& each) {
  const Unlocked unlocked(sizes.steps * sizes.batch * sizes.width >= cpu::kGrain / 16);
  cpu::parallel(sizes.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t places = 2 * target_lengths.data<int64_t>()[n] + 1;
      each(Sample<T>{log_probs.data<T>() + n * sizes.classes, sizes.batch * sizes.classes,
                     input_lengths.data<int64_t>()[n], sizes.width, places,
                     labels.data<int64_t>() + n * sizes.width},
           n);
    }
  });
}

}  // namespace

void _ctc_alignments(const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                     const Tensor& target_lengths, bool, Tensor& out, Tensor& log_alpha) {
  cpu::with_real("ctc_loss", log_probs.dtype(), [&]<class T>() {
    const Tensor x = as<T>(log_probs);
    const Sizes sizes = sizes_of(x, labels);
    std::fill_n(log_alpha.data<T>(), log_alpha.numel(), Sample<T>::kNever);
    each_sample<T>(
        sizes, x, cpu::contiguous(labels), cpu::contiguous(input_lengths),
        cpu::contiguous(target_lengths),
        [&, losses = out.data<T>(), all = log_alpha.data<T>()](const Sample<T>& s, int64_t n) {
          losses[n] = forward(s, all + n * sizes.steps * sizes.width);
        });
  });
}

void _ctc_backward(const Tensor& grad_output, const Tensor& log_probs, const Tensor& labels,
                   const Tensor& input_lengths, const Tensor& target_lengths,
                   const Tensor& log_alpha, const Tensor& losses, bool zero_infinity, Tensor& out) {
  cpu::with_real("ctc_loss", log_probs.dtype(), [&]<class T>() {
    const Tensor x = as<T>(log_probs), g = as<T>(grad_output);
    const Sizes sizes = sizes_of(x, labels);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      std::fill_n(to.data<T>(), to.numel(), Sample<T>::kNever);
      each_sample<T>(sizes, x, cpu::contiguous(labels), cpu::contiguous(input_lengths),
                     cpu::contiguous(target_lengths), [&](const Sample<T>& s, int64_t n) {
                       T* grad = to.data<T>() + n * sizes.classes;
                       const T loss = losses.data<T>()[n];
                       const bool none = zero_infinity && loss == -Sample<T>::kNever;
                       if (!none)
                         backward(s, log_alpha.data<T>() + n * sizes.steps * sizes.width, loss,
                                  g.data<T>()[n], sizes.classes, grad);
                       for (int64_t step = none ? 0 : s.steps; step < sizes.steps; ++step)
                         std::fill_n(grad + step * s.step_size, sizes.classes, T(0));
                     });
    });
  });
}

}  // namespace msa::kernels
