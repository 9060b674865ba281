// grid_sampler of images and its gradient: dtypes, and images over threads.
#include <algorithm>

#include "core/base/lock.h"
#include "generated/kernels_layer.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/grid/loops.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

cpu::GridShape shape_of(const Tensor& input, const Tensor& grid, int64_t mode, int64_t border,
                        bool align_corners) {
  DimsView in = input.sizes(), at = grid.sizes();
  return {in[1], in[2], in[3], at[1] * at[2], mode, border, align_corners};
}

template <class F>
void each_image(const cpu::GridShape& s, int64_t images, F&& one) {
  const Unlocked unlocked(images * s.channels * s.places >= cpu::kGrain);
  cpu::parallel(images, std::max<int64_t>(1, cpu::kGrain / 4 / (s.channels * s.places + 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t n = begin; n < end; ++n) one(n);
                });
}

}  // namespace

void _grid_sampler(const Tensor& input, const Tensor& grid, int64_t mode, int64_t border,
                   bool align_corners, Tensor& out) {
  if (out.numel() == 0) return;
  cpu::with_real("grid_sampler", input.dtype(), [&]<class T>() {
    const Tensor image = cpu::as<T>(input), at = cpu::as<T>(grid);
    const cpu::GridShape s = shape_of(image, at, mode, border, align_corners);
    const int64_t plane = s.channels * s.height * s.width;
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_image(s, image.sizes()[0],
                 [&, x = image.data<T>(), g = at.data<T>(), y = to.data<T>()](int64_t n) {
                   cpu::grid_loops<T>().forward(s, x + n * plane, g + n * 2 * s.places,
                                                y + n * s.channels * s.places);
                 });
    });
  });
}

void _grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                            int64_t mode, int64_t border, bool align_corners, Tensor& of_input,
                            Tensor& of_grid) {
  cpu::with_real("grid_sampler", input.dtype(), [&]<class T>() {
    const Tensor grad = cpu::as<T>(grad_output), image = cpu::as<T>(input), at = cpu::as<T>(grid);
    const cpu::GridShape s = shape_of(image, at, mode, border, align_corners);
    const int64_t plane = s.channels * s.height * s.width;
    cpu::fill_contiguous(of_input, dtype_of<T>::value, [&](const Tensor& images) {
      std::fill_n(images.data<T>(), images.numel(), T(0));
      cpu::fill_contiguous(of_grid, dtype_of<T>::value, [&](const Tensor& grids) {
        each_image(s, image.sizes()[0],
                   [&, d = grad.data<T>(), x = image.data<T>(), g = at.data<T>(),
                    ox = images.data<T>(), og = grids.data<T>()](int64_t n) {
                     cpu::grid_loops<T>().backward(s, d + n * s.channels * s.places, x + n * plane,
                                                   g + n * 2 * s.places, ox + n * plane,
                                                   og + n * 2 * s.places);
                   });
      });
    });
  });
}

}  // namespace msa::kernels
