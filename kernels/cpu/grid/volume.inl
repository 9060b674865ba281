// Trilinear and nearest reading of volumes. Included by loops.cpp inside an instruction set's
// namespace; nothing is fused, as nothing is in PyTorch's.

// The taps of one place: bit 0 of a tap's number is its side along x, bit 1 along y, bit 2 along z.
template <class T>
struct VolumeTaps {
  int64_t offset[8];  // -1 outside
  T part[3][2];       // the weights of the two sides of each axis
  T slope[3];

  T weight(int k) const { return part[0][k & 1] * part[1][k >> 1 & 1] * part[2][k >> 2]; }
};

template <class T>
inline VolumeTaps<T> volume_taps(const GridShape& s, const T* grid) {
  const int64_t sizes[] = {s.width, s.height, s.depth}, steps[] = {1, s.width, s.width * s.height};
  const bool nearest = s.mode == kGridNearest;
  VolumeTaps<T> taps = {};
  int64_t at[3][2];
  for (int d = 0; d < 3; ++d) {
    const Coordinate<T> c = volume_coordinate(grid[d], sizes[d], s);
    const T low = nearest ? nearest_of(c.at) : floor_of(c.at);
    for (int side = 0; side < 2; ++side) {
      const auto place = plain(low) + static_cast<decltype(plain(low))>(side);
      at[d][side] = is_within(place, sizes[d]) ? static_cast<int64_t>(place) * steps[d] : -1;
    }
    taps.part[d][0] = T(plain(low) + 1) - c.at;
    taps.part[d][1] = c.at - low;
    taps.slope[d] = c.slope;
  }
  for (int k = 0; k < 8; ++k) {
    const int64_t x = at[0][k & 1], y = at[1][k >> 1 & 1], z = at[2][k >> 2];
    taps.offset[k] = x < 0 || y < 0 || z < 0 ? -1 : x + y + z;
  }
  return taps;
}

template <class T>
void volume_forward(const GridShape& s, const T* image, const T* grid, T* out) {
  const int64_t volume = s.depth * s.height * s.width;
  for (int64_t p = 0; p < s.places; ++p) {
    const VolumeTaps<T> taps = volume_taps(s, grid + 3 * p);
    T weights[8];
    for (int k = 0; k < 8; ++k) weights[k] = taps.weight(k);
    for (int64_t c = 0; c < s.channels; ++c) {
      const T* from = image + c * volume;
      T sum = T(0);
      if (s.mode == kGridNearest) {
        if (taps.offset[0] >= 0) sum = from[taps.offset[0]];
      } else {
        for (int k = 0; k < 8; ++k)
          if (taps.offset[k] >= 0) sum += from[taps.offset[k]] * weights[k];
      }
      out[c * s.places + p] = sum;
    }
  }
}

// Adds a tap's part to the slopes against the three coordinates.
template <int k, class T>
inline void add_tap_slopes(const VolumeTaps<T>& taps, T value, T grad, T* slopes) {
  constexpr int x = k & 1, y = k >> 1 & 1, z = k >> 2;
  const T of_x = value * taps.part[1][y] * taps.part[2][z] * grad,
          of_y = value * taps.part[0][x] * taps.part[2][z] * grad,
          of_z = value * taps.part[0][x] * taps.part[1][y] * grad;
  slopes[0] = x ? slopes[0] + of_x : slopes[0] - of_x;
  slopes[1] = y ? slopes[1] + of_y : slopes[1] - of_y;
  slopes[2] = z ? slopes[2] + of_z : slopes[2] - of_z;
}

// One channel's part of the gradients of one place.
template <class T, int... k>
inline void add_volume_taps(const VolumeTaps<T>& taps, const T* weights, T grad, const T* image,
                            T* of_image, T* slopes, std::integer_sequence<int, k...>) {
  const auto add = [&]<int tap>() {
    const int64_t at = taps.offset[tap];
    if (at < 0) return;
    of_image[at] += weights[tap] * grad;
    add_tap_slopes<tap>(taps, image[at], grad, slopes);
  };
  (add.template operator()<k>(), ...);
}

template <class T>
void volume_backward(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
                     T* of_grid) {
  const int64_t volume = s.depth * s.height * s.width;
  for (int64_t p = 0; p < s.places; ++p) {
    const VolumeTaps<T> taps = volume_taps(s, grid + 3 * p);
    T slopes[3] = {T(0), T(0), T(0)}, weights[8];
    for (int k = 0; k < 8; ++k) weights[k] = taps.weight(k);
    for (int64_t c = 0; c < s.channels; ++c) {
      const T g = grad[c * s.places + p];
      T* to = of_image + c * volume;
      if (s.mode != kGridNearest) {
        add_volume_taps(taps, weights, g, image + c * volume, to, slopes,
                        std::make_integer_sequence<int, 8>());
      } else if (taps.offset[0] >= 0) {
        to[taps.offset[0]] += g;
      }
    }
    for (int d = 0; d < 3; ++d) of_grid[3 * p + d] = taps.slope[d] * slopes[d];
  }
}
