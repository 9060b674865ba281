// multinomial: indices drawn in proportion to weights, with or without replacement.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random/distributions.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"

namespace msa::kernels {
namespace {

// Weights by row and category, whatever their strides.
template <class T>
struct Weights {
  explicit Weights(const Tensor& input)
      : data(input.data<T>()),
        rows(input.dim() == 1 ? 1 : input.size(0)),
        categories(input.size(-1)),
        row_stride(input.dim() == 1 ? 0 : input.stride(0)),
        stride(input.stride(-1)) {}
  T operator()(int64_t row, int64_t category) const {
    return data[row * row_stride + category * stride];
  }
  const T* data;
  int64_t rows, categories, row_stride, stride;
};

template <class T>
void check(const Weights<T>& weights) {
  for (int64_t row = 0; row < weights.rows; ++row) {
    bool any = false;
    for (int64_t c = 0; c < weights.categories; ++c) {
      const double weight = weights(row, c);
      MSA_REQUIRE(weight >= 0 && std::isfinite(weight), Runtime,
                  "multinomial: probability tensor contains either `inf`, `nan` or element < 0: ",
                  weight, " in row ", row, ".");
      any = any || weight > 0;
    }
    MSA_REQUIRE(any, Runtime,
                "multinomial: invalid multinomial distribution (sum of probabilities <= 0) in row ",
                row, ".");
  }
}

// By binary search in the cumulative weights, which are summed in the weights' own precision.
template <class T, class Sum>
void with_replacement(Generator& gen, const Weights<T>& weights, int64_t samples, int64_t* out) {
  std::vector<Sum> cumulative(static_cast<size_t>(weights.categories));
  for (int64_t row = 0; row < weights.rows; ++row) {
    Sum sum = 0;
    for (int64_t c = 0; c < weights.categories; ++c) {
      sum += static_cast<Sum>(weights(row, c));
      cumulative[static_cast<size_t>(c)] = sum;
    }
    for (Sum& value : cumulative) value /= sum;
    cumulative.back() = 1;
    for (int64_t i = 0; i < samples; ++i) {
      const double u = random::unit<double>(gen);
      const auto at = std::partition_point(cumulative.begin(), cumulative.end(),
                                           [u](Sum value) { return value < u; });
      *out++ = at - cumulative.begin();
    }
  }
}

// The largest of weight / exponential, each category having an exponential of its own: the order in
// which rivals with these rates arrive.
template <class T>
void without_replacement(Generator& gen, const Weights<T>& weights, int64_t samples,
                         const Dims& sizes, const Dims& strides, int64_t* out) {
  // PyTorch draws the exponentials into a tensor laid out like the input, along its memory.
  const Dims dense = preserved_strides(sizes, strides);
  const int64_t row_stride = sizes.size() == 1 ? 0 : dense[0], stride = dense.back();
  std::vector<T> arrival(static_cast<size_t>(weights.rows * weights.categories));
  for (T& value : arrival) value = static_cast<T>(random::exponential(gen, 1.0));

  std::vector<T> score(static_cast<size_t>(weights.categories));
  std::vector<int64_t> order(score.size());
  for (int64_t row = 0; row < weights.rows; ++row) {
    for (int64_t c = 0; c < weights.categories; ++c) {
      const size_t at = static_cast<size_t>(row * row_stride + c * stride);
      score[static_cast<size_t>(c)] = static_cast<T>(weights(row, c) / arrival[at]);
    }
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(
        order.begin(), order.begin() + samples, order.end(), [&](int64_t a, int64_t b) {
          const T x = score[static_cast<size_t>(a)], y = score[static_cast<size_t>(b)];
          return x > y || (x == y && a < b);
        });
    out = std::copy_n(order.begin(), samples, out);
  }
}

}  // namespace

void multinomial(const Tensor& input, int64_t num_samples, bool replacement, OptGenerator generator,
                 Tensor& result) {
  if (result.numel() == 0) return;
  cpu::for_floating("multinomial", input.dtype(), [&]<class T> {
    const Weights<T> weights(input);
    check(weights);
    std::vector<int64_t> drawn(static_cast<size_t>(result.numel()));
    const cpu::Target out("multinomial", result);
    {
      cpu::Drawing drawing(generator, input.numel() + out.numel);
      if (replacement &&
          num_samples > 1) {  // for one sample both mean the same; PyTorch takes this
        using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
        with_replacement<T, Sum>(drawing.gen, weights, num_samples, drawn.data());
      } else {
        without_replacement(drawing.gen, weights, num_samples, input.sizes(), input.strides(),
                            drawn.data());
      }
    }
    // `drawn` goes by rows; the result need not.
    const int64_t columns = result.size(-1), row_stride = result.dim() == 1 ? 0 : result.stride(0);
    for (int64_t i = 0; i < result.numel(); ++i) {
      result.data<int64_t>()[i / columns * row_stride + i % columns * result.stride(-1)] =
          drawn[static_cast<size_t>(i)];
    }
  });
}

}  // namespace msa::kernels
