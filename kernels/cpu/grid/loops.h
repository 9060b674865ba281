// Reading images at real-valued places, and the gradients; compiled for each instruction set in
// loops.cpp.
#pragma once
#include <cstdint>

namespace msa::cpu {

// PyTorch's numbers for the modes.
enum GridMode : int64_t { kGridBilinear, kGridNearest };
enum GridBorder : int64_t { kGridZeros, kGridEdge, kGridReflection };

// One image: `channels` planes of height x width, read at `places` pairs (x, y).
struct GridShape {
  int64_t channels, height, width, places;
  int64_t mode, border;
  bool align_corners;
};

template <class T>
struct GridLoops {
  void (*forward)(const GridShape& s, const T* image, const T* grid, T* out);
  // Adds to `of_image`, where it is wanted, and sets `of_grid`.
  void (*backward)(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
                   T* of_grid);
};
template <class T>
const GridLoops<T>& grid_loops();

}  // namespace msa::cpu
