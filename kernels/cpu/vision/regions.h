// What the operators on regions share: regions read from their tensor, one call for each of them.
#pragma once
#include <algorithm>
#include <vector>

#include "core/base/lock.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {

// A grid of bins over each region, of images (batch, channels, height, width).
struct RoiShape {
  int64_t batch, channels, height, width, pooled_height, pooled_width;

  RoiShape(DimsView image, int64_t pooled_h, int64_t pooled_w)
      : batch(image[0]),
        channels(image[1]),
        height(image[2]),
        width(image[3]),
        pooled_height(pooled_h),
        pooled_width(pooled_w) {}
  int64_t plane() const { return height * width; }
  int64_t bins() const { return pooled_height * pooled_width; }
};

// The images that regions (K, 5) name in their first column; IndexError outside of the batch.
template <class T>
std::vector<int64_t> images_of(const char* op, const Tensor& regions, int64_t batch) {
  std::vector<int64_t> images(static_cast<size_t>(regions.size(0)));
  const T* row = regions.data<T>();
  for (size_t k = 0; k < images.size(); ++k, row += 5) {
    MSA_REQUIRE(row[0] > T(-1) && row[0] < static_cast<T>(batch), Index, op, ": region ", k,
                " names image ", static_cast<double>(row[0]), " of a batch of ", batch, ".");
    images[k] = static_cast<int64_t>(row[0]);
  }
  return images;
}

// body(i) for i in [0, n), over threads; `work` is what one costs, in elements.
template <class F>
void each_of(int64_t n, int64_t work, F&& body) {
  const Unlocked unlocked(n * work >= kGrain);
  parallel(n, std::max<int64_t>(1, kGrain / 4 / (work + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace msa::cpu
