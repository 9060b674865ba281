// Bicubic reading of images: sixteen taps, each brought into the image by itself. Included by
// loops.cpp inside an instruction set's namespace.

// The taps of one place along one axis: elements (-1 outside), weights and the weights' slopes.
template <class T>
struct CubicTaps {
  int64_t at[4];
  T weight[4], slope[4];
};

// What PyTorch's vectors fuse here is found by comparing: little of the weights, the rows' sum.
template <class T>
inline CubicTaps<T> cubic_taps(T place, int64_t size, const GridShape& s) {
  constexpr double a = -0.75;
  const auto near = [](T x) { return fused(fused(T(a + 2), x, T(-(a + 3))) * x, x, T(1)); };
  const auto far = [](T x) { return ((T(a) * x - T(5 * a)) * x + T(8 * a)) * x - T(4 * a); };
  const T floor = floor_of(place), part = place - floor, rest = T(1) - part, next = T(2) - part,
          before = T(-1) - part;
  CubicTaps<T> taps = {{}, {far(part + T(1)), near(part), near(rest), far(next)}, {}};
  taps.slope[0] = (T(-3 * a) * before - T(10 * a)) * before - T(8 * a);
  taps.slope[1] = (T(-3 * (a + 2)) * -part - T(2 * (a + 3))) * -part;
  taps.slope[2] = (T(3 * (a + 2)) * rest - T(2 * (a + 3))) * rest;
  taps.slope[3] = (T(3 * a) * next - T(10 * a)) * next + T(8 * a);
  for (int i = 0; i < 4; ++i) {
    const T at = nearest_of(bordered(Coordinate<T>{floor + T(i - 1), T(0)}, size, s).at);
    taps.at[i] = is_within(at, size) ? static_cast<int64_t>(plain(at)) : -1;
  }
  return taps;
}

// The taps of as many places as PyTorch's vectors hold: half types show the order of additions.
template <class T, int kTogether>
struct CubicBlock {
  int64_t count;
  T x_weight[4][kTogether], y_weight[4][kTogether], x_slope[4][kTogether], y_slope[4][kTogether];
  int64_t offset[4][4][kTogether];  // [along x][along y]; -1 outside
  T x_scale, y_scale;

  CubicBlock(const GridShape& s, const T* grid, int64_t n) : count(n) {
    for (int64_t p = 0; p < n; ++p) {
      const Coordinate<T> across = placed(grid[2 * p], s.width, s.align_corners),
                          along = placed(grid[2 * p + 1], s.height, s.align_corners);
      set(s, p, cubic_taps(finite(across).at, s.width, s),
          cubic_taps(finite(along).at, s.height, s));
      x_scale = across.slope, y_scale = along.slope;
    }
    for (int64_t p = n; p < kTogether; ++p) set(s, p, {{-1, -1, -1, -1}, {}, {}}, {});
  }
  void set(const GridShape& s, int64_t p, const CubicTaps<T>& x, const CubicTaps<T>& y) {
    for (int i = 0; i < 4; ++i) {
      x_weight[i][p] = x.weight[i], y_weight[i][p] = y.weight[i];
      x_slope[i][p] = x.slope[i], y_slope[i][p] = y.slope[i];
      for (int j = 0; j < 4; ++j)
        offset[i][j][p] = x.at[i] < 0 || y.at[j] < 0 ? -1 : y.at[j] * s.width + x.at[i];
    }
  }
  T read(const T* plane, int i, int j, int64_t p) const {
    const int64_t at = offset[i][j][p];
    return at < 0 ? T(0) : plane[at];
  }
};

template <class T, int kTogether, class F>
inline void each_cubic_block(const GridShape& s, const T* grid, F&& each) {
  for (int64_t first = 0; first < s.places; first += kTogether) {
    const int64_t n = s.places - first < kTogether ? s.places - first : kTogether;
    each(first, CubicBlock<T, kTogether>(s, grid + 2 * first, n));
  }
}

template <class T, int kTogether>
void cubic_forward(const GridShape& s, const T* image, const T* grid, T* out) {
  using Block = CubicBlock<T, kTogether>;
  each_cubic_block<T, kTogether>(s, grid, [&](int64_t first, const Block& b) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const T* plane = image + c * s.height * s.width;
      T* to = out + c * s.places + first;
#pragma GCC ivdep
      for (int64_t p = 0; p < b.count; ++p) {
        T sum = T(0);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          T row = b.x_weight[0][p] * b.read(plane, 0, j, p);
          row = row + b.x_weight[1][p] * b.read(plane, 1, j, p);
          row = row + b.x_weight[2][p] * b.read(plane, 2, j, p);
          row = row + b.x_weight[3][p] * b.read(plane, 3, j, p);
          sum = j ? fused(b.y_weight[j][p], row, sum) : b.y_weight[j][p] * row;
        }
        to[p] = sum;
      }
    }
  });
}

template <class T, int kTogether>
void cubic_backward(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
                    T* of_grid) {
  using Block = CubicBlock<T, kTogether>;
  each_cubic_block<T, kTogether>(s, grid, [&](int64_t first, const Block& b) {
    T of_x[kTogether] = {}, of_y[kTogether] = {}, g[kTogether] = {}, added[kTogether];
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t start = c * s.height * s.width;
      const T* plane = image + start;
      for (int64_t p = 0; p < b.count; ++p) g[p] = grad[c * s.places + first + p];
      for (int tap = 0; tap < 16; ++tap) {
        const int i = tap / 4, j = tap % 4;
#pragma GCC ivdep
        for (int64_t p = 0; p < kTogether; ++p) {
          const T value = b.read(plane, i, j, p) * g[p];
          added[p] = g[p] * b.x_weight[i][p] * b.y_weight[j][p];
          of_x[p] = fused(-(value * b.x_slope[i][p]), b.y_weight[j][p], of_x[p]);
          of_y[p] = fused(-(value * b.y_slope[j][p]), b.x_weight[i][p], of_y[p]);
        }
        for (int64_t p = 0; p < kTogether; ++p)
          if (b.offset[i][j][p] >= 0) of_image[start + b.offset[i][j][p]] += added[p];
      }
    }
    for (int64_t p = 0; p < b.count; ++p) {
      of_grid[2 * (first + p)] = of_x[p] * b.x_scale;
      of_grid[2 * (first + p) + 1] = of_y[p] * b.y_scale;
    }
  });
}
