// Reading images and volumes at real-valued places, and the gradients; compiled for each
// instruction set in loops.cpp.
#pragma once
#include <cstdint>

#include "core/dtype/dtype.h"

namespace msa::cpu {

// PyTorch's numbers for the modes.
enum GridMode : int64_t { kGridBilinear, kGridNearest, kGridBicubic };
enum GridBorder : int64_t { kGridZeros, kGridEdge, kGridReflection };

// One image: `channels` planes of height x width (in volumes `depth` of them), read at `places`
// pairs (x, y) or triples (x, y, z).
struct GridShape {
  int64_t channels, depth, height, width, places;
  int64_t mode, border;
  bool align_corners;

  int64_t elements() const { return channels * depth * height * width; }
};

template <class T>
struct GridLoops {
  void (*forward)(const GridShape& s, const T* image, const T* grid, T* out);
  // Adds to `of_image`, sets `of_grid`.
  void (*backward)(const GridShape& s, const T* grad, const T* image, const T* grid, T* of_image,
                   T* of_grid);
};
// Loops on T that round each operation to `dtype`, where that is a half type.
template <class T>
const GridLoops<T>& grid_loops(DType dtype, int64_t mode, bool volume);

}  // namespace msa::cpu
