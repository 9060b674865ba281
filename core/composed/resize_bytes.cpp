// Interpolation of uint8 images in integers: weights of 16 bits with a fixed point, one dimension
// at a time, each pass rounded to bytes.
#include "core/composed/resize.h"
#include "core/composed/values.h"
#include "generated/ops_layer.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// The window of one output element between its neighbours; what would lie outside counts to the
// first or last element.
Window<double> neighbours(int64_t in, int64_t i, double step, bool align_corners, bool cubic) {
  const auto at_output = static_cast<double>(i);
  double at = align_corners ? step * at_output : step * (at_output + 0.5) - 0.5;
  if (!cubic) at = std::max(at, 0.0);
  // PyTorch finds the element in single precision.
  const int64_t floor = std::min(static_cast<int64_t>(std::floor(static_cast<float>(at))), in - 1);
  const double part = std::clamp(at - static_cast<double>(floor), 0.0, 1.0), a = -0.75;
  const int64_t reach = cubic ? 2 : 1, from = floor - reach + 1;
  Window<double> window{std::max<int64_t>(from, 0), {}};
  const int64_t last = std::min(floor + reach, in - 1);
  window.weights.assign(static_cast<size_t>(last - window.first + 1), 0.0);
  for (int64_t tap = 0; tap < 2 * reach; ++tap) {
    const double x = std::abs(static_cast<double>(tap + 1 - reach) - part);
    const double weight = !cubic ? 1 - x : x < 1 ? cubic_near(x, a) : cubic_far(x, a);
    const int64_t to = std::clamp(from + tap, window.first, last);
    window.weights[static_cast<size_t>(to - window.first)] += weight;
  }
  return window;
}

// The windows of all output elements, as tables of one width.
struct BytesPlan {
  std::vector<int64_t> first;
  std::vector<int16_t> weights;  // (out, width), in units of 2^-precision
  int64_t width = 1, precision = 0;
};

// As many bits behind the point as let the largest weight fit 16 bits with its sign.
int64_t precision_for(double largest) {
  int64_t bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + largest * (1 << (bits + 1))) < (1 << 15)) ++bits;
  return bits;
}

BytesPlan plan_for(int64_t in, const std::vector<Window<double>>& windows) {
  BytesPlan plan;
  double largest = 0;
  for (const Window<double>& w : windows) {
    plan.width = std::max(plan.width, static_cast<int64_t>(w.weights.size()));
    for (double weight : w.weights) largest = std::max(largest, weight);
  }
  plan.precision = precision_for(largest);
  const double one = 1 << plan.precision;
  plan.weights.resize(windows.size() * static_cast<size_t>(plan.width), 0);
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window<double>& w = windows[i];
    plan.first.push_back(std::min(w.first, in - plan.width));
    const size_t skipped = static_cast<size_t>(w.first - plan.first.back());
    int16_t* row = plan.weights.data() + i * static_cast<size_t>(plan.width) + skipped;
    for (size_t j = 0; j < w.weights.size(); ++j)
      row[j] = static_cast<int16_t>(
          static_cast<int>((w.weights[j] < 0 ? -0.5 : 0.5) + w.weights[j] * one));
  }
  return plan;
}

}  // namespace

Tensor resize_bytes(const Tensor& input, const Dims& output_size, const OptFloats& scales,
                    bool align_corners, bool cubic, bool antialias) {
  const bool channels_last =
      !input.is_contiguous() && input.is_contiguous(MemoryFormat::ChannelsLast);
  Tensor out = channels_last ? ops::permute(input, {0, 2, 3, 1}) : input;
  const int64_t first_dim = channels_last ? 1 : 2;
  for (size_t d = 2; d-- > 0;) {
    const int64_t dim = static_cast<int64_t>(d), in = input.size(dim + 2), n = output_size[d];
    if (in == n) continue;
    const double step = step_of<double>(scales, d, in, n, align_corners);
    std::vector<Window<double>> windows;
    for (int64_t i = 0; i < n; ++i)
      windows.push_back(antialias ? antialias_window(in, i, step, cubic)
                                  : neighbours(in, i, step, align_corners, cubic));
    const BytesPlan plan = plan_for(in, windows);
    out = ops::_mix_bytes(out, first_dim + dim, table(plan.first, input.device()),
                          ops::view(table(plan.weights, input.device()), {n, plan.width}),
                          plan.precision);
  }
  if (channels_last) out = ops::permute(out, {0, 3, 1, 2});
  return out.impl() == input.impl() ? ops::clone(input, {}) : out;
}

}  // namespace msa::composed
