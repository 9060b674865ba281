// Bilinear and nearest reading of images in blocks of places: the taps of a block are found once
// and serve all channels. Included by loops.cpp inside an instruction set's namespace.

constexpr int64_t kBlock = 256;

// The taps of a block's places: upper left, upper right, lower left, lower right. One outside the
// image has offset -1.
template <class T>
struct Block {
  int64_t count;
  bool inside;  // all taps are
  int64_t offset[4][kBlock];
  T left[kBlock], right[kBlock], up[kBlock], down[kBlock];  // distances to the far sides' opposite
  T weight[4][kBlock];
  T x_slope[kBlock], y_slope[kBlock];
};

template <class T>
inline int64_t offset_of(const GridShape& s, T x, T y) {
  if (!is_within(x, s.width) || !is_within(y, s.height)) return -1;
  return static_cast<int64_t>(plain(y)) * s.width + static_cast<int64_t>(plain(x));
}

template <class T>
inline void find_taps(const GridShape& s, const T* grid, int64_t count, Block<T>& b) {
  const int taps = s.mode == kGridNearest ? 1 : 4;
  b.count = count;
  b.inside = true;
  for (int64_t p = 0; p < count; ++p) {
    const Coordinate<T> x = bordered(placed(grid[2 * p], s.width, s.align_corners), s.width, s),
                        y = bordered(placed(grid[2 * p + 1], s.height, s.align_corners), s.height,
                                     s);
    const T column = taps == 1 ? nearest_of(x.at) : floor_of(x.at),
            row = taps == 1 ? nearest_of(y.at) : floor_of(y.at);
    const T right = x.at - column, left = T(1) - right, down = y.at - row, up = T(1) - down;
    b.left[p] = left, b.right[p] = right, b.up[p] = up, b.down[p] = down;
    const T weights[] = {up * left, up * right, down * left, down * right};
    b.x_slope[p] = x.slope;
    b.y_slope[p] = y.slope;
    for (int k = 0; k < taps; ++k) {
      b.weight[k][p] = weights[k];
      b.offset[k][p] = offset_of(s, T(plain(column) + (k & 1)), T(plain(row) + (k >> 1)));
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
    T sum = read<Inside>(b, plane, 0, p) * b.weight[0][p];
    sum = fused(read<Inside>(b, plane, 1, p), b.weight[1][p], sum);
    sum = fused(read<Inside>(b, plane, 2, p), b.weight[2][p], sum);
    out[p] = fused(read<Inside>(b, plane, 3, p), b.weight[3][p], sum);
  }
}

template <class T>
void planes_forward(const GridShape& s, const T* image, const T* grid, T* out) {
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
    const T nw = read<Inside>(b, plane, 0, p), ne = read<Inside>(b, plane, 1, p),
            sw = read<Inside>(b, plane, 2, p), se = read<Inside>(b, plane, 3, p);
    const T across = fused(se - sw, b.down[p], (ne - nw) * b.up[p]),
            along = fused(se - ne, b.right[p], (sw - nw) * b.left[p]);
    of_x[p] = fused(across, grad[p], of_x[p]);
    of_y[p] = fused(along, grad[p], of_y[p]);
  }
}

// Tap after tap over as many places as PyTorch's vectors hold: half types show the order.
template <class T, int kTogether>
inline void add_to_image(const Block<T>& b, bool nearest, const T* grad, T* plane) {
  for (int64_t first = 0; first < b.count; first += kTogether) {
    const int64_t end = b.count - first < kTogether ? b.count : first + kTogether;
    for (int k = 0; k < (nearest ? 1 : 4); ++k) {
      for (int64_t p = first; p < end; ++p) {
        const int64_t at = b.offset[k][p];
        if (at >= 0) plane[at] += nearest ? grad[p] : b.weight[k][p] * grad[p];
      }
    }
  }
}

template <class T, int kTogether>
void planes_backward(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
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
      add_to_image<T, kTogether>(b, nearest, g, of_image + plane);
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
