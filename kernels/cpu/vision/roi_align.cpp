// roi_align and ps_roi_align with their gradients: bins that are means of points read between the
// elements of a feature map.
#include <cmath>
#include <limits>

#include "generated/kernels_vision.h"
#include "kernels/cpu/vision/regions.h"

namespace msa::kernels {
namespace {

using cpu::RoiShape;

// A point's two neighbours along one axis and their weights; `inside` is false off the map.
template <class T>
struct AxisTap {
  int64_t low, high;
  T of_low, of_high;
  bool inside;
};

template <class T>
AxisTap<T> tap_at(T place, int64_t size) {
  if (!(place >= T(-1) && place <= static_cast<T>(size))) return {0, 0, T(0), T(0), false};
  place = place <= 0 ? T(0) : place;
  const auto low = static_cast<int64_t>(place);
  if (low >= size - 1) return {size - 1, size - 1, T(1), T(0), true};
  const T part = place - static_cast<T>(low);
  return {low, low + 1, T(1) - part, part, true};
}

// The points of a region along one axis: `samples` for each bin.
template <class T>
struct Axis {
  std::vector<AxisTap<T>> taps;
  int64_t samples;

  Axis(T start, T length, int64_t bins, int64_t size, int64_t sampling_ratio) {
    const T bin = length / static_cast<T>(bins), wanted = std::ceil(bin);
    const bool countable = magnitude_fits(wanted);
    samples = sampling_ratio > 0 ? sampling_ratio : countable ? static_cast<int64_t>(wanted) : 0;
    for (int64_t b = 0; b < bins; ++b)
      for (int64_t i = 0; i < samples; ++i)
        taps.push_back(tap_at(start + static_cast<T>(b) * bin +
                                  (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(samples),
                              size));
  }
  static bool magnitude_fits(T x) {
    return std::abs(x) <= static_cast<T>(std::numeric_limits<int32_t>::max());
  }
  const AxisTap<T>* bin(int64_t b) const { return taps.data() + b * std::max<int64_t>(samples, 0); }
};

// A region: its image, its points along both axes, and what a bin's sum is divided by.
template <class T>
struct Region {
  int64_t image;
  Axis<T> down, right;
  T count;
};

enum class Kind { kPlain, kAligned, kOfChannels };

template <class T>
std::vector<Region<T>> regions_of(const char* op, const Tensor& rois, const RoiShape& s,
                                  double spatial_scale, int64_t sampling_ratio, Kind kind) {
  const std::vector<int64_t> images = cpu::images_of<T>(op, rois, s.batch);
  const T scale = static_cast<T>(spatial_scale), shift = kind == Kind::kPlain ? T(0) : T(0.5);
  const T* row = rois.data<T>();
  std::vector<Region<T>> regions;
  regions.reserve(images.size());
  for (const int64_t image : images) {
    T place[4];
    for (int i = 0; i < 4; ++i) place[i] = row[i + 1] * scale - shift;
    T width = place[2] - place[0], height = place[3] - place[1];
    if (kind == Kind::kPlain) width = std::max(width, T(1)), height = std::max(height, T(1));
    Axis<T> down(place[1], height, s.pooled_height, s.height, sampling_ratio);
    Axis<T> right(place[0], width, s.pooled_width, s.width, sampling_ratio);
    const int64_t points = down.samples * right.samples;
    const int64_t count = kind == Kind::kOfChannels ? points : std::max<int64_t>(points, 1);
    regions.push_back({image, std::move(down), std::move(right), static_cast<T>(count)});
    row += 5;
  }
  return regions;
}

// point(taps down, taps right) for each point of a bin that lies on the map.
template <class T, class F>
void each_point(const Region<T>& r, int64_t bin_row, int64_t bin_column, F&& point) {
  const AxisTap<T>*y = r.down.bin(bin_row), *x = r.right.bin(bin_column);
  for (int64_t i = 0; i < r.down.samples; ++i) {
    if (!y[i].inside) continue;
    for (int64_t j = 0; j < r.right.samples; ++j)
      if (x[j].inside) point(y[i], x[j]);
  }
}

template <class T>
T read_bin(const Region<T>& r, int64_t bin_row, int64_t bin_column, const T* plane, int64_t width) {
  T sum = T(0);
  each_point(r, bin_row, bin_column, [&](const AxisTap<T>& y, const AxisTap<T>& x) {
    const T *above = plane + y.low * width, *below = plane + y.high * width;
    sum += y.of_low * x.of_low * above[x.low] + y.of_low * x.of_high * above[x.high] +
           y.of_high * x.of_low * below[x.low] + y.of_high * x.of_high * below[x.high];
  });
  return sum / r.count;
}

template <class T>
void spread_bin(const Region<T>& r, int64_t bin_row, int64_t bin_column, T grad, T* plane,
                int64_t width) {
  each_point(r, bin_row, bin_column, [&](const AxisTap<T>& y, const AxisTap<T>& x) {
    T *above = plane + y.low * width, *below = plane + y.high * width;
    above[x.low] += grad * (y.of_low * x.of_low) / r.count;
    above[x.high] += grad * (y.of_low * x.of_high) / r.count;
    below[x.low] += grad * (y.of_high * x.of_low) / r.count;
    below[x.high] += grad * (y.of_high * x.of_high) / r.count;
  });
}

// The channel that a bin of an output channel reads.
int64_t channel_read(const RoiShape& s, int64_t channel, int64_t bin, bool of_channels) {
  return of_channels ? channel * s.bins() + bin : channel;
}

template <class T>
void align(const std::vector<Region<T>>& regions, const RoiShape& s, const Tensor& input,
           const Tensor& out, bool of_channels) {
  const int64_t channels = out.size(1);
  const auto n = static_cast<int64_t>(regions.size()) * channels;
  cpu::each_of(n, 4 * s.bins(), [&, from = input.data<T>(), to = out.data<T>()](int64_t i) {
    const Region<T>& r = regions[static_cast<size_t>(i / channels)];
    for (int64_t bin = 0; bin < s.bins(); ++bin) {
      const int64_t c = channel_read(s, i % channels, bin, of_channels);
      to[i * s.bins() + bin] = read_bin(r, bin / s.pooled_width, bin % s.pooled_width,
                                        from + (r.image * s.channels + c) * s.plane(), s.width);
    }
  });
}

// Regions may overlap: a channel's planes are written by one thread, region after region.
template <class T>
void align_grad(const std::vector<Region<T>>& regions, const RoiShape& s, const Tensor& grad,
                const Tensor& out, bool of_channels) {
  const int64_t channels = grad.size(1), n = static_cast<int64_t>(regions.size());
  T* const to = out.data<T>();
  std::fill_n(to, out.numel(), T(0));
  cpu::each_of(channels, 4 * n * s.bins(), [&, from = grad.data<T>()](int64_t channel) {
    for (int64_t k = 0; k < n; ++k) {
      const Region<T>& r = regions[static_cast<size_t>(k)];
      for (int64_t bin = 0; bin < s.bins(); ++bin) {
        const int64_t c = channel_read(s, channel, bin, of_channels);
        spread_bin(r, bin / s.pooled_width, bin % s.pooled_width,
                   from[(k * channels + channel) * s.bins() + bin],
                   to + (r.image * s.channels + c) * s.plane(), s.width);
      }
    }
  });
}

void write_channels(const Tensor& out) {
  cpu::fill_contiguous(out, DType::I32, [&](const Tensor& to) {
    const int64_t each = out.numel() / std::max<int64_t>(out.size(0), 1);
    for (int64_t i = 0; i < out.numel(); ++i)  // counts bins within channels, so it is i itself
      to.data<int32_t>()[i] = static_cast<int32_t>(i % each);
  });
}

}  // namespace

void roi_align(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width, int64_t sampling_ratio, bool aligned, Tensor& out) {
  cpu::with_real("roi_align", input.dtype(), [&]<class T>() {
    const RoiShape s(input.sizes(), pooled_height, pooled_width);
    const Tensor image = cpu::as<T>(input);
    const auto regions = regions_of<T>("roi_align", cpu::as<T>(rois), s, spatial_scale,
                                       sampling_ratio, aligned ? Kind::kAligned : Kind::kPlain);
    cpu::fill_contiguous(out, dtype_of<T>::value,
                         [&](const Tensor& to) { align(regions, s, image, to, false); });
  });
}

void _roi_align_grad(const Tensor& grad_output, const Tensor& rois, double spatial_scale,
                     int64_t pooled_height, int64_t pooled_width, const Dims& input_size,
                     int64_t sampling_ratio, bool aligned, Tensor& out) {
  cpu::with_real("roi_align", grad_output.dtype(), [&]<class T>() {
    const RoiShape s(input_size, pooled_height, pooled_width);
    const Tensor grad = cpu::as<T>(grad_output);
    const auto regions = regions_of<T>("roi_align", cpu::as<T>(rois), s, spatial_scale,
                                       sampling_ratio, aligned ? Kind::kAligned : Kind::kPlain);
    cpu::fill_contiguous(out, dtype_of<T>::value,
                         [&](const Tensor& to) { align_grad(regions, s, grad, to, false); });
  });
}

void ps_roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                  int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio, Tensor& out,
                  Tensor& channel_mapping) {
  const RoiShape s(input.sizes(), pooled_height, pooled_width);
  write_channels(channel_mapping);
  cpu::with_real("ps_roi_align", input.dtype(), [&]<class T>() {
    const Tensor image = cpu::as<T>(input);
    const auto regions = regions_of<T>("ps_roi_align", cpu::as<T>(rois), s, spatial_scale,
                                       sampling_ratio, Kind::kOfChannels);
    cpu::fill_contiguous(out, dtype_of<T>::value,
                         [&](const Tensor& to) { align(regions, s, image, to, true); });
  });
}

void _ps_roi_align_grad(const Tensor& grad_output, const Tensor& rois, const Tensor&,
                        double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                        int64_t sampling_ratio, const Dims& input_size, Tensor& out) {
  cpu::with_real("ps_roi_align", grad_output.dtype(), [&]<class T>() {
    const RoiShape s(input_size, pooled_height, pooled_width);
    const Tensor grad = cpu::as<T>(grad_output);
    const auto regions = regions_of<T>("ps_roi_align", cpu::as<T>(rois), s, spatial_scale,
                                       sampling_ratio, Kind::kOfChannels);
    cpu::fill_contiguous(out, dtype_of<T>::value,
                         [&](const Tensor& to) { align_grad(regions, s, grad, to, true); });
  });
}

}  // namespace msa::kernels
