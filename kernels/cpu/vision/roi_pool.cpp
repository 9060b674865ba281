// roi_pool and ps_roi_pool with their gradients: bins of whole elements of a feature map.
#include <cmath>
#include <limits>

#include "generated/kernels_vision.h"
#include "kernels/cpu/vision/regions.h"

namespace msa::kernels {
namespace {

using cpu::RoiShape;

// The elements [begin, end) of a bin along one axis.
struct Span {
  int64_t begin, end;
  int64_t length() const { return end > begin ? end - begin : 0; }
};

// A region in whole elements: where it starts, and how long it is, along both axes.
struct Region {
  int64_t image, top, left, height, width;
};

// Regions far off any map are cut where a 32-bit number ends, as all of them are empty there.
template <class T>
int64_t nearest(T place) {
  constexpr auto kFar = static_cast<double>(std::numeric_limits<int32_t>::max());
  const auto whole = static_cast<double>(std::round(place));
  return whole > -kFar ? static_cast<int64_t>(std::min(whole, kFar)) : static_cast<int64_t>(-kFar);
}

// `last_included`: a region reaches to the end of its last element, not to its start.
template <class T>
std::vector<Region> regions_of(const char* op, const Tensor& rois, const RoiShape& s,
                               double spatial_scale, bool last_included) {
  const std::vector<int64_t> images = cpu::images_of<T>(op, rois, s.batch);
  const T scale = static_cast<T>(spatial_scale);
  const T* row = rois.data<T>();
  std::vector<Region> regions;
  regions.reserve(images.size());
  for (const int64_t image : images) {
    int64_t place[4];
    for (int i = 0; i < 4; ++i) place[i] = nearest(row[i + 1] * scale);
    const int64_t more = last_included ? 1 : 0;
    regions.push_back({image, place[1], place[0], std::max<int64_t>(place[3] - place[1] + more, 1),
                       std::max<int64_t>(place[2] - place[0] + more, 1)});
    row += 5;
  }
  return regions;
}

template <class T>
Span bin_span(int64_t bin, int64_t bins, int64_t start, int64_t length, int64_t limit) {
  const T size = static_cast<T>(length) / static_cast<T>(bins);
  const auto inside = [&](T edge) {
    return std::clamp<int64_t>(static_cast<int64_t>(edge) + start, 0, limit);
  };
  return {inside(std::floor(static_cast<T>(bin) * size)),
          inside(std::ceil(static_cast<T>(bin + 1) * size))};
}

// The elements of a bin; it ends at the limits, which are the map's sizes or less.
template <class T>
struct Bin {
  Span rows, columns;

  Bin(const Region& r, const RoiShape& s, int64_t bin, int64_t row_limit, int64_t column_limit)
      : rows(bin_span<T>(bin / s.pooled_width, s.pooled_height, r.top, r.height, row_limit)),
        columns(bin_span<T>(bin % s.pooled_width, s.pooled_width, r.left, r.width, column_limit)) {}

  T elements() const { return static_cast<T>(rows.length() * columns.length()); }
  template <class F>
  void each(int64_t width, F&& element) const {
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = columns.begin; w < columns.end; ++w) element(h * width + w);
  }
};

template <class T>
void largest(const Bin<T>& bin, const T* plane, int64_t width, T& value, int32_t& place) {
  value = bin.elements() > 0 ? static_cast<T>(std::numeric_limits<float>::lowest()) : T(0);
  place = -1;
  bin.each(width, [&](int64_t at) {
    if (plane[at] > value) value = plane[at], place = static_cast<int32_t>(at);
  });
}

}  // namespace

void roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
              int64_t pooled_width, Tensor& out, Tensor& argmax) {
  cpu::with_real("roi_pool", input.dtype(), [&]<class T>() {
    const RoiShape s(input.sizes(), pooled_height, pooled_width);
    const Tensor image = cpu::as<T>(input);
    const auto regions = regions_of<T>("roi_pool", cpu::as<T>(rois), s, spatial_scale, true);
    const auto pool = [&](const Tensor& values, const Tensor& places) {
      cpu::each_of(out.size(0) * s.channels, 4 * s.bins(),
                   [&, from = image.data<T>(), to = values.data<T>(),
                    at = places.data<int32_t>()](int64_t i) {
                     const Region& r = regions[static_cast<size_t>(i / s.channels)];
                     const T* plane = from + (r.image * s.channels + i % s.channels) * s.plane();
                     for (int64_t b = 0; b < s.bins(); ++b)
                       largest(Bin<T>(r, s, b, s.height, s.width), plane, s.width,
                               to[i * s.bins() + b], at[i * s.bins() + b]);
                   });
    };
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& values) {
      cpu::fill_contiguous(argmax, DType::I32, [&](const Tensor& places) { pool(values, places); });
    });
  });
}

void _roi_pool_grad(const Tensor& grad_output, const Tensor& rois, const Tensor& argmax, double,
                    int64_t pooled_height, int64_t pooled_width, const Dims& input_size,
                    Tensor& out) {
  cpu::with_real("roi_pool", grad_output.dtype(), [&]<class T>() {
    const RoiShape s(input_size, pooled_height, pooled_width);
    const Tensor grad = cpu::as<T>(grad_output), at = cpu::contiguous(argmax, DType::I32);
    const auto images = cpu::images_of<T>("roi_pool", cpu::as<T>(rois), s.batch);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      T* const to = target.data<T>();
      std::fill_n(to, target.numel(), T(0));
      const auto n = static_cast<int64_t>(images.size());
      cpu::each_of(
          s.channels, n * s.bins(), [&, g = grad.data<T>(), place = at.data<int32_t>()](int64_t c) {
            for (int64_t k = 0; k < n; ++k) {
              T* plane = to + (images[static_cast<size_t>(k)] * s.channels + c) * s.plane();
              const int64_t first = (k * s.channels + c) * s.bins();
              for (int64_t i = first; i < first + s.bins(); ++i)
                if (place[i] >= 0 && place[i] < s.plane()) plane[place[i]] += g[i];
            }
          });
    });
  });
}

// As in torchvision, the last row and the last column of the map are never read.
void ps_roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                 int64_t pooled_height, int64_t pooled_width, Tensor& out,
                 Tensor& channel_mapping) {
  cpu::with_real("ps_roi_pool", input.dtype(), [&]<class T>() {
    const RoiShape s(input.sizes(), pooled_height, pooled_width);
    const Tensor image = cpu::as<T>(input);
    const auto regions = regions_of<T>("ps_roi_pool", cpu::as<T>(rois), s, spatial_scale, false);
    const auto pool = [&](const Tensor& values, const Tensor& channels) {
      cpu::each_of(out.size(0), 4 * s.channels,
                   [&, from = image.data<T>(), to = values.data<T>(),
                    source = channels.data<int32_t>()](int64_t k) {
                     const Region& r = regions[static_cast<size_t>(k)];
                     for (int64_t c = 0; c < s.channels; ++c) {
                       const Bin<T> bin(r, s, c % s.bins(), s.height - 1, s.width - 1);
                       const T* plane = from + (r.image * s.channels + c) * s.plane();
                       T sum = T(0);
                       bin.each(s.width, [&](int64_t at) { sum += plane[at]; });
                       to[k * s.channels + c] = bin.elements() > 0 ? sum / bin.elements() : T(0);
                       source[k * s.channels + c] = static_cast<int32_t>(c);
                     }
                   });
    };
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& values) {
      cpu::fill_contiguous(channel_mapping, DType::I32,
                           [&](const Tensor& channels) { pool(values, channels); });
    });
  });
}

// As in torchvision, the last row and column do get a gradient.
void _ps_roi_pool_grad(const Tensor& grad_output, const Tensor& rois, const Tensor&,
                       double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                       const Dims& input_size, Tensor& out) {
  cpu::with_real("ps_roi_pool", grad_output.dtype(), [&]<class T>() {
    const RoiShape s(input_size, pooled_height, pooled_width);
    const Tensor grad = cpu::as<T>(grad_output);
    const auto regions = regions_of<T>("ps_roi_pool", cpu::as<T>(rois), s, spatial_scale, false);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      T* const to = target.data<T>();
      std::fill_n(to, target.numel(), T(0));
      cpu::each_of(s.channels, 4 * static_cast<int64_t>(regions.size()),
                   [&, g = grad.data<T>()](int64_t c) {
                     for (size_t k = 0; k < regions.size(); ++k) {
                       const Region& r = regions[k];
                       const Bin<T> bin(r, s, c % s.bins(), s.height, s.width);
                       if (bin.elements() == 0) continue;
                       const T each = g[static_cast<int64_t>(k) * s.channels + c] / bin.elements();
                       T* plane = to + (r.image * s.channels + c) * s.plane();
                       bin.each(s.width, [&](int64_t at) { plane[at] += each; });
                     }
                   });
    });
  });
}

}  // namespace msa::kernels
