// Grid sampling in blocks of places: the taps of a block are found once and serve all channels.
#ifndef MSA_ISA
#include "kernels/cpu/grid/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/grid/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_GRID_LOOPS(T)                                                   \
  template <>                                                               \
  const GridLoops<T>& grid_loops<T>() {                                     \
    static const GridLoops<T>* const chosen = MSA_CHOOSE(grid_loops_of<T>); \
    return *chosen;                                                         \
  }
MSA_GRID_LOOPS(float)
MSA_GRID_LOOPS(double)
}  // namespace msa::cpu
#else

namespace grid {

constexpr int64_t kBlock = 256;

// A coordinate in elements, and its slope against the grid's number.
template <class T>
struct Coordinate {
  T at, slope;
};

template <class T>
inline Coordinate<T> reflected(Coordinate<T> c, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
  if (span == 0) return {T(0), T(0)};
  const T from_low = c.at - low, off = magnitude(from_low), turns = round_down(off / span);
  const T extra = remainder_toward_zero(off, span), slope = from_low < 0 ? -c.slope : c.slope;
  const bool odd = turns - 2 * round_down(turns / 2) == 1;
  return odd ? Coordinate<T>{span - extra + low, -slope} : Coordinate<T>{extra + low, slope};
}

// From [-1, 1] to elements, then into the image as the border says; what is not finite falls
// outside.
template <class T>
inline Coordinate<T> coordinate(T g, int64_t size, const GridShape& s) {
  const T n = T(size);
  Coordinate<T> c = s.align_corners ? Coordinate<T>{(g + 1) * ((n - 1) / 2), (n - 1) / 2}
                                    : Coordinate<T>{((g + 1) * n - 1) * T(0.5), n / 2};
  if (s.border == kGridReflection) c = reflected(c, size, s.align_corners);
  if (s.border != kGridZeros) {
    if (!(c.at > 0)) c = {T(0), T(0)};  // NaN too
    if (c.at >= n - 1) c = {n - 1, T(0)};
  }
  return magnitude(c.at) < T(__builtin_inf()) ? c : Coordinate<T>{T(-100), T(0)};
}

// The taps of a block's places. A tap outside the image has offset -1.
template <class T>
struct Block {
  int64_t count;
  bool inside;  // all taps are
  int64_t offset[4][kBlock];
  T x_part[kBlock], y_part[kBlock], x_slope[kBlock], y_slope[kBlock];
};

template <class T>
inline int64_t offset_of(const GridShape& s, T x, T y) {
  const bool within = x >= 0 && x < T(s.width) && y >= 0 && y < T(s.height);
  return within ? static_cast<int64_t>(y) * s.width + static_cast<int64_t>(x) : -1;
}

template <class T>
inline void find_taps(const GridShape& s, const T* grid, int64_t count, Block<T>& b) {
  const int taps = s.mode == kGridNearest ? 1 : 4;
  b.count = count;
  b.inside = true;
  for (int64_t p = 0; p < count; ++p) {
    const Coordinate<T> x = coordinate(grid[2 * p], s.width, s),
                        y = coordinate(grid[2 * p + 1], s.height, s);
    const T left = taps == 1 ? round_even(x.at) : round_down(x.at),
            top = taps == 1 ? round_even(y.at) : round_down(y.at);
    b.x_part[p] = x.at - left;
    b.y_part[p] = y.at - top;
    b.x_slope[p] = x.slope;
    b.y_slope[p] = y.slope;
    for (int k = 0; k < taps; ++k) {
      b.offset[k][p] = offset_of(s, left + T(k & 1), top + T(k >> 1));
      b.inside &= b.offset[k][p] >= 0;
    }
  }
}

// The value at tap k of place p; 0 outside.
template <bool Inside, class T>
inline T read(const Block<T>& b, const T* plane, int k, int64_t p) {
  const int64_t at = b.offset[k][p];
  if constexpr (Inside) return plane[at];
  return at >= 0 ? plane[at] : T(0);
}

template <bool Inside, class T>
inline void interpolate_plane(const Block<T>& b, const T* plane, T* out) {
#pragma GCC ivdep
  for (int64_t p = 0; p < b.count; ++p) {
    const T x = b.x_part[p], y = b.y_part[p];
    const T upper = read<Inside>(b, plane, 0, p) * (1 - x) + read<Inside>(b, plane, 1, p) * x;
    const T lower = read<Inside>(b, plane, 2, p) * (1 - x) + read<Inside>(b, plane, 3, p) * x;
    out[p] = upper * (1 - y) + lower * y;
  }
}

template <class T>
void forward(const GridShape& s, const T* image, const T* grid, T* out) {
  Block<T> b;
  for (int64_t first = 0; first < s.places; first += kBlock) {
    find_taps(s, grid + 2 * first, s.places - first < kBlock ? s.places - first : kBlock, b);
    for (int64_t c = 0; c < s.channels; ++c) {
      const T* plane = image + c * s.height * s.width;
      T* to = out + c * s.places + first;
      if (s.mode == kGridNearest) {
        for (int64_t p = 0; p < b.count; ++p) to[p] = read<false>(b, plane, 0, p);
      } else if (b.inside) {
        interpolate_plane<true>(b, plane, to);
      } else {
        interpolate_plane<false>(b, plane, to);
      }
    }
  }
}

// Adds a plane's part to the slopes against x and y of the block's places.
template <bool Inside, class T>
inline void add_slopes(const Block<T>& b, const T* grad, const T* plane, T* of_x, T* of_y) {
#pragma GCC ivdep
  for (int64_t p = 0; p < b.count; ++p) {
    const T x = b.x_part[p], y = b.y_part[p];
    const T a = read<Inside>(b, plane, 0, p), e = read<Inside>(b, plane, 1, p),
            c = read<Inside>(b, plane, 2, p), d = read<Inside>(b, plane, 3, p);
    of_x[p] += grad[p] * ((e - a) * (1 - y) + (d - c) * y);
    of_y[p] += grad[p] * ((c - a) * (1 - x) + (d - e) * x);
  }
}

template <class T>
inline void add_to_image(const Block<T>& b, bool nearest, const T* grad, T* plane) {
  const auto add = [&](int k, int64_t p, T value) {
    if (b.offset[k][p] >= 0) plane[b.offset[k][p]] += value;
  };
  for (int64_t p = 0; p < b.count; ++p) {
    if (nearest) {
      add(0, p, grad[p]);
      continue;
    }
    const T x = b.x_part[p], y = b.y_part[p], upper = grad[p] * (1 - y), lower = grad[p] * y;
    add(0, p, upper * (1 - x));
    add(1, p, upper * x);
    add(2, p, lower * (1 - x));
    add(3, p, lower * x);
  }
}

template <class T>
void backward(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
              T* of_grid) {
  Block<T> b;
  T of_x[kBlock], of_y[kBlock];
  const bool nearest = s.mode == kGridNearest;
  for (int64_t first = 0; first < s.places; first += kBlock) {
    find_taps(s, grid + 2 * first, s.places - first < kBlock ? s.places - first : kBlock, b);
    for (int64_t p = 0; p < b.count; ++p) of_x[p] = of_y[p] = T(0);
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t plane = c * s.height * s.width;
      const T* g = grad + c * s.places + first;
      if (of_image) add_to_image(b, nearest, g, of_image + plane);
      if (nearest) continue;
      b.inside ? add_slopes<true>(b, g, image + plane, of_x, of_y)
               : add_slopes<false>(b, g, image + plane, of_x, of_y);
    }
    for (int64_t p = 0; p < b.count; ++p) {
      of_grid[2 * (first + p)] = of_x[p] * b.x_slope[p];
      of_grid[2 * (first + p) + 1] = of_y[p] * b.y_slope[p];
    }
  }
}

}  // namespace grid

template <class T>
inline constexpr GridLoops<T> grid_loops_of = {grid::forward<T>, grid::backward<T>};
#endif
