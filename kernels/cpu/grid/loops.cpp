// Grid sampling for each instruction set, in each arithmetic: the loops are in the .inl files.
#ifndef MSA_ISA
#include "kernels/cpu/grid/loops.h"

#include <utility>
#define MSA_KERNEL_FILE "kernels/cpu/grid/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_GRID_LOOPS(T)                                                          \
  template <>                                                                      \
  const GridLoops<T>& grid_loops<T>(DType dtype, int64_t mode, bool volume) {      \
    static const auto* const chosen = MSA_CHOOSE(grid_loops_of<T>);                \
    const int arithmetic = dtype == DType::F16 ? 1 : dtype == DType::BF16 ? 2 : 0; \
    return (*chosen)[arithmetic][volume ? 2 : mode == kGridBicubic ? 1 : 0];       \
  }
MSA_GRID_LOOPS(float)
MSA_GRID_LOOPS(double)
}  // namespace msa::cpu
#else

namespace grid {
#include "kernels/cpu/grid/coordinates.inl"
#include "kernels/cpu/grid/cubic.inl"
#include "kernels/cpu/grid/planes.inl"
#include "kernels/cpu/grid/volume.inl"

template <class T>
using Forward = void (*)(const GridShape&, const T*, const T*, T*);
template <class T>
using Backward = void (*)(const GridShape&, const T*, const T*, const T*, T*, T*);

// Loops in the arithmetic A on numbers that are kept as T.
template <class T, class A, Forward<A> forward, Backward<A> backward>
constexpr GridLoops<T> kept_as = {
    [](const GridShape& s, const T* image, const T* at, T* out) {
      forward(s, reinterpret_cast<const A*>(image), reinterpret_cast<const A*>(at),
              reinterpret_cast<A*>(out));
    },
    [](const GridShape& s, const T* grad, const T* image, const T* at, T* of_image, T* of_grid) {
      backward(s, reinterpret_cast<const A*>(grad), reinterpret_cast<const A*>(image),
               reinterpret_cast<const A*>(at), reinterpret_cast<A*>(of_image),
               reinterpret_cast<A*>(of_grid));
    }};
// Images linearly, images by cubics, volumes; `Bytes` is the size of an element in memory.
// PyTorch's vectors have at most 32 bytes here.
constexpr int kVectorBytes = MSA_VECTOR_BYTES < 32 ? MSA_VECTOR_BYTES : 32;
template <class T, class A, int Bytes>
struct All {
  static constexpr GridLoops<T> loops[] = {
      kept_as<T, A, planes_forward<A>, planes_backward<A, kVectorBytes / Bytes> >,
      kept_as<T, A, cubic_forward<A, kVectorBytes / Bytes>,
              cubic_backward<A, kVectorBytes / Bytes> >,
      kept_as<T, A, volume_forward<A>, volume_backward<A> >};
};

}  // namespace grid

template <class T>
inline constexpr const GridLoops<T>* grid_loops_of[] = {
    grid::All<T, T, sizeof(T)>::loops, grid::All<float, grid::Stepwise<f16>, 2>::loops,
    grid::All<float, grid::Stepwise<bf16>, 2>::loops};
template <>
inline constexpr const GridLoops<double>* grid_loops_of<double>[] = {
    grid::All<double, double, sizeof(double)>::loops};
#endif
