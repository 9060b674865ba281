// box_iou_rotated: how much boxes overlap that stand at an angle.
#include <cmath>

#include "generated/kernels_vision.h"
#include "kernels/cpu/vision/regions.h"

namespace msa::kernels {
namespace {

template <class T>
struct Point {
  T x, y;
};

// A convex polygon: two rectangles cut each other in at most eight corners.
template <class T>
struct Polygon {
  Point<T> corners[12];
  int count = 0;

  void add(Point<T> p) {
    if (count < 12) corners[count++] = p;
  }
  const Point<T>& after(int i) const { return corners[i + 1 == count ? 0 : i + 1]; }
  T area() const {  // of a ring of triangles around the first corner
    T twice = T(0);
    for (int i = 1; i + 1 < count; ++i) {
      const Point<T> o = corners[0], a = corners[i], b = corners[i + 1];
      twice += (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
    }
    return std::abs(twice) / 2;
  }
};

// The corners of (x, y, width, height, degrees) around `middle`, counterclockwise.
template <class T>
Polygon<T> corners_of(const T* box, Point<T> middle) {
  const double angle = static_cast<double>(box[4]) * 0.01745329251994329577;
  const T along = static_cast<T>(std::cos(angle)) / 2, across = static_cast<T>(std::sin(angle)) / 2;
  const T x = box[0] - middle.x, y = box[1] - middle.y, w = box[2], h = box[3];
  constexpr int kSides[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  Polygon<T> out;
  for (const auto& side : kSides) {
    const T right = static_cast<T>(side[0]) * w, up = static_cast<T>(side[1]) * h;
    out.add({x + right * along + up * across, y + up * along - right * across});
  }
  return out;
}

// How far p lies to the left of the line from a to b.
template <class T>
T leftness(Point<T> a, Point<T> b, Point<T> p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

// The part of a polygon to the left of the line from a to b.
template <class T>
Polygon<T> cut(const Polygon<T>& whole, Point<T> a, Point<T> b) {
  Polygon<T> part;
  for (int i = 0; i < whole.count; ++i) {
    const Point<T> p = whole.corners[i], q = whole.after(i);
    const T of_p = leftness(a, b, p), of_q = leftness(a, b, q);
    if (of_p >= 0) part.add(p);
    if ((of_p > 0 && of_q < 0) || (of_p < 0 && of_q > 0)) {
      const T t = of_p / (of_p - of_q);
      part.add({p.x + t * (q.x - p.x), p.y + t * (q.y - p.y)});
    }
  }
  return part;
}

template <class T>
T overlap(const T* one, const T* two) {
  const T first = one[2] * one[3], second = two[2] * two[3];
  if (first < T(1e-14) || second < T(1e-14)) return T(0);
  const Point<T> middle{(one[0] + two[0]) / 2, (one[1] + two[1]) / 2};
  Polygon<T> common = corners_of(one, middle);
  const Polygon<T> other = corners_of(two, middle);
  for (int i = 0; i < other.count; ++i) common = cut(common, other.corners[i], other.after(i));
  const T shared = common.area();
  return shared / (first + second - shared);
}

}  // namespace

void box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2, Tensor& out) {
  cpu::with_real("box_iou_rotated", boxes1.dtype(), [&]<class T>() {
    const Tensor a = cpu::as<T>(boxes1), b = cpu::as<T>(boxes2);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      const int64_t m = b.size(0);
      cpu::each_of(a.size(0), 100 * m,
                   [&, one = a.data<T>(), two = b.data<T>(), y = to.data<T>()](int64_t i) {
                     for (int64_t j = 0; j < m; ++j)
                       y[i * m + j] = overlap(one + 5 * i, two + 5 * j);
                   });
    });
  });
}

}  // namespace msa::kernels
