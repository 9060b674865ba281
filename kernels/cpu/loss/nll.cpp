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
              int64_t reduction, int64_t ignore_index, T* out) {
  std::fill_n(out, p.batch * p.classes * p.inner, T(0));
  const T shared = reduction == kMean ? *grad / *total : *grad;
  visit_picked(p, target, ignore_index, [&](int64_t place, int64_t c, int64_t at) {
    out[at] = -(weight ? weight[c] : T(1)) * (reduction == kNone ? grad[place] : shared);
  });
}

}  // namespace

namespace kernels {

void nll_loss_nd(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, Tensor& out, Tensor& total_weight) {
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
                  reduction, ignore_index, to.data<T>());
    });
  });
}

}  // namespace kernels
}  // namespace msa
