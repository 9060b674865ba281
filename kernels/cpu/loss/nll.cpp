// The negative log likelihood and its gradient: one class index picks one input for each place.
#include "generated/kernels_nn.h"
#include "kernels/cpu/real.h"

namespace msa {
namespace {

using cpu::as;
using cpu::data_or_null;
using cpu::with_real;

enum Reduction : int64_t { kNone, kMean, kSum };

// (N, C, inner...) with N = 1 for a single sample.
struct Places {
  int64_t batch, classes, inner;
};
Places places_of(DimsView input) {
  if (input.size() == 1) return {1, input[0], 1};
  return {input[0], input[1], product(input.subspan(2))};
}

// Calls visit(place, class, offset of the picked input) for each place that is not ignored.
template <class Index, class F>
void visit_targets(const Places& p, const Tensor& target, int64_t ignore_index, F&& visit) {
  const Index* index = target.data<Index>();
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t i = 0; i < p.inner; ++i) {
      const int64_t place = n * p.inner + i, c = static_cast<int64_t>(index[place]);
      if (c == ignore_index) continue;
      MSA_REQUIRE(c >= 0 && c < p.classes, Index, "nll_loss: target ", c,
                  " is out of bounds: there are ", p.classes, " classes and ignore_index is ",
                  ignore_index, ".");
      visit(place, c, (n * p.classes + c) * p.inner + i);
    }
  }
}
template <class F>
void visit_picked(const Places& p, const Tensor& target, int64_t ignore_index, F&& visit) {
  const Tensor flat = cpu::contiguous(target);
  flat.dtype() == DType::U8 ? visit_targets<uint8_t>(p, flat, ignore_index, visit)
                            : visit_targets<int64_t>(p, flat, ignore_index, visit);
}

// A sum in a half type as PyTorch forms it: each step rounded, every 16 terms moved up a level.
template <class Half>
class CascadeSum {
 public:
  void add(int64_t index, float term) {
    add_to(0, term);
    for (int level = 0; level + 1 < kLevels && index % (int64_t{1} << (4 * level + 4)) == 0;
         ++level) {
      add_to(level + 1, levels_[level]);
      levels_[level] = Half(0.0f);
    }
  }
  float total() const {
    Half sum = Half(0.0f);
    for (const Half& level : levels_) sum = Half(sum + level);
    return sum;
  }

 private:
  static constexpr int kLevels = 8;
  void add_to(int level, float term) { levels_[level] = Half(levels_[level] + term); }
  Half levels_[kLevels] = {};
};

struct Sums {
  float loss, weights;
};
// The summed losses of half types, and of the weights that they are divided by.
template <class Half>
Sums sums_by_steps(const Places& p, const float* x, const Tensor& target, const float* weight,
                   int64_t ignore_index) {
  CascadeSum<Half> losses, weights;
  int64_t counted = 0;
  visit_picked(p, target, ignore_index, [&](int64_t place, int64_t c, int64_t at) {
    losses.add(place, weight ? -static_cast<float>(Half(x[at] * weight[c])) : -x[at]);
    if (weight) weights.add(place, weight[c]);
    ++counted;
  });
  const float total =
      weight ? weights.total() : static_cast<float>(Half(static_cast<float>(counted)));
  return {losses.total(), total};
}

// Sums run in double: the mean of many float losses keeps its last digit.
template <class T>
void forward(const Places& p, const Tensor& input, const Tensor& target, const T* weight,
             int64_t reduction, int64_t ignore_index, T* out, T* total) {
  const T* x = input.data<T>();
  double sum = 0, weights = 0;
  if (reduction == kNone) std::fill_n(out, p.batch * p.inner, T(0));
  visit_picked(p, target, ignore_index, [&](int64_t place, int64_t c, int64_t at) {
    const T w = weight ? weight[c] : T(1), loss = -x[at] * w;
    if (reduction == kNone) out[place] = loss;
    sum += loss;
    weights += w;
  });
  if (reduction != kNone) *out = static_cast<T>(reduction == kMean ? sum / weights : sum);
  *total = static_cast<T>(weights);
}

template <class T>
void backward(const Places& p, const T* grad, const Tensor& target, const T* weight, const T* total,
              int64_t reduction, int64_t ignore_index, DType dtype, T* out) {
  std::fill_n(out, p.batch * p.classes * p.inner, T(0));
  T shared = reduction == kMean ? *grad / *total : *grad;
  if (is_half(dtype)) shared = static_cast<T>(cpu::rounded(dtype, static_cast<float>(shared)));
  visit_picked(p, target, ignore_index, [&](int64_t place, int64_t c, int64_t at) {
    out[at] = -(weight ? weight[c] : T(1)) * (reduction == kNone ? grad[place] : shared);
  });
}

}  // namespace

namespace kernels {

void nll_loss_nd(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, Tensor& out, Tensor& total_weight) {
  if (is_half(input.dtype()) && reduction != kNone) {
    const Tensor x = as<float>(input), w = as<float>(weight);
    const auto sum = input.dtype() == DType::F16 ? sums_by_steps<f16> : sums_by_steps<bf16>;
    const Sums sums = sum(places_of(input.sizes()), x.data<float>(), target, data_or_null<float>(w),
                          ignore_index);
    const float loss = reduction == kMean ? sums.loss / sums.weights : sums.loss;
    cpu::copy_into(out, scalar_tensor(loss, DType::F32));
    return cpu::copy_into(total_weight, scalar_tensor(sums.weights, total_weight.dtype()));
  }
  with_real("nll_loss", input.dtype(), [&]<class T>() {
    const Tensor w = as<T>(weight);
    T total;
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      forward<T>(places_of(input.sizes()), as<T>(input), target, data_or_null<T>(w), reduction,
                 ignore_index, to.data<T>(), &total);
    });
    cpu::copy_into(total_weight, scalar_tensor(static_cast<double>(total), total_weight.dtype()));
  });
}

void _nll_loss_backward(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
                        const Tensor& total_weight, const Dims& input_size, int64_t reduction,
                        int64_t ignore_index, Tensor& out) {
  with_real("nll_loss", grad_output.dtype(), [&]<class T>() {
    const Tensor g = as<T>(grad_output), w = as<T>(weight), total = as<T>(total_weight);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      backward<T>(places_of(input_size), g.data<T>(), target, data_or_null<T>(w), total.data<T>(),
                  reduction, ignore_index, grad_output.dtype(), to.data<T>());
    });
  });
}

}  // namespace kernels
}  // namespace msa
