// nms: of boxes that overlap, the one with the highest score.
#include <algorithm>
#include <cmath>
#include <limits>
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

// Boxes in the order of their scores, and which of them are struck out: loops of a fixed length
// over plain arrays, which the compiler turns into vector instructions.
constexpr int kTile = 64;
template <class T>
struct Tile {
  T x1[kTile], y1[kTile], x2[kTile], y2[kTile], area[kTile], gone[kTile];
};

template <class T>
std::vector<Tile<T>> tiled(const Box<T>* boxes, const std::vector<int64_t>& order) {
  std::vector<Tile<T>> tiles((order.size() + kTile - 1) / kTile);
  for (size_t i = 0; i < order.size(); ++i) {
    Tile<T>& tile = tiles[i / kTile];
    const size_t at = i % kTile;
    const Box<T>& box = boxes[order[i]];
    tile.x1[at] = box.x1, tile.y1[at] = box.y1, tile.x2[at] = box.x2, tile.y2[at] = box.y2;
    tile.area[at] = box.area();
  }
  return tiles;
}

template <class T>
void strike_what_overlaps(const Box<T> box, T limit, Tile<T>& tile) {
  const T area = box.area();
  for (int j = 0; j < kTile; ++j) {
    const T width = std::max(T(0), std::min(box.x2, tile.x2[j]) - std::max(box.x1, tile.x1[j]));
    const T height = std::max(T(0), std::min(box.y2, tile.y2[j]) - std::max(box.y1, tile.y1[j]));
    const T common = width * height;
    tile.gone[j] = common / (area + tile.area[j] - common) > limit ? T(1) : tile.gone[j];
  }
}

// The largest T that is not above the threshold: a T is above the one where it is above the other.
template <class T>
T rounded_down(double threshold) {
  const T near = static_cast<T>(threshold);
  if (static_cast<double>(near) <= threshold) return near;
  return std::nextafter(near, -std::numeric_limits<T>::infinity());
}

template <class T>
std::vector<int64_t> kept(const Box<T>* boxes, const std::vector<int64_t>& order,
                          double threshold) {
  std::vector<Tile<T>> tiles = tiled(boxes, order);
  const T limit = rounded_down<T>(threshold);
  std::vector<int64_t> found;
  for (size_t i = 0; i < order.size(); ++i) {
    if (tiles[i / kTile].gone[i % kTile] != 0) continue;
    found.push_back(order[i]);
    for (size_t k = i / kTile; k < tiles.size(); ++k)
      strike_what_overlaps(boxes[order[i]], limit, tiles[k]);
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
