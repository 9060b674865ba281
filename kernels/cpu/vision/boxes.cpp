// nms: of boxes that overlap, the one with the highest score.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/lock.h"
#include "generated/kernels_vision.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

void check(const Tensor& dets, const Tensor& scores) {
  MSA_REQUIRE(dets.dim() == 2 && dets.size(1) == 4, Runtime,
              "nms: boxes should be a 2d tensor (N, 4), but their shape is ",
              DimsView(dets.sizes()), ".");
  MSA_REQUIRE(scores.dim() == 1, Runtime, "nms: scores should be a 1d tensor, but their shape is ",
              DimsView(scores.sizes()), ".");
  MSA_REQUIRE(dets.size(0) == scores.size(0), Runtime,
              "nms: boxes and scores should have same number of elements in dimension 0, but got ",
              dets.size(0), " and ", scores.size(0), ".");
}

// The boxes by falling score, NaN first; equal scores keep their order.
template <class T>
std::vector<int64_t> by_score(const T* scores, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[a] > scores[b] || (std::isnan(scores[a]) && !std::isnan(scores[b]));
  });
  return order;
}

template <class T>
struct Box {
  T x1, y1, x2, y2;
  T area() const { return (x2 - x1) * (y2 - y1); }
};

template <class T>
bool overlaps(const Box<T>& a, const Box<T>& b, double threshold) {
  const T width = std::max(T(0), std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  const T height = std::max(T(0), std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  const T common = width * height;
  return static_cast<double>(common / (a.area() + b.area() - common)) > threshold;
}

template <class T>
std::vector<int64_t> kept(const Box<T>* boxes, const std::vector<int64_t>& order,
                          double threshold) {
  std::vector<bool> gone(order.size());
  std::vector<int64_t> found;
  for (size_t i = 0; i < order.size(); ++i) {
    if (gone[i]) continue;
    found.push_back(order[i]);
    for (size_t j = i + 1; j < order.size(); ++j)
      if (!gone[j] && overlaps(boxes[order[i]], boxes[order[j]], threshold)) gone[j] = true;
  }
  return found;
}

}  // namespace

Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  check(dets, scores);
  std::vector<int64_t> found;
  cpu::with_real("nms", dets.dtype(), [&]<class T>() {
    const Tensor boxes = cpu::as<T>(dets), ranks = cpu::as<T>(scores);
    const int64_t n = boxes.size(0);
    const auto* first = reinterpret_cast<const Box<T>*>(boxes.data<T>());
    const T* score = ranks.data<T>();
    const Unlocked unlocked(n * n >= cpu::kGrain);
    found = kept(first, by_score(score, n), iou_threshold);
  });
  const Tensor out = empty(Dims{static_cast<int64_t>(found.size())}, DType::I64);
  std::copy(found.begin(), found.end(), out.data<int64_t>());
  return out;
}

}  // namespace msa::kernels
