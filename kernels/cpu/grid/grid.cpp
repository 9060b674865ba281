// grid_sampler of images and volumes and its gradient: dtypes, and images over threads.
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
  const DimsView in = input.sizes(), at = grid.sizes();
  const size_t last = in.size() - 1;
  const int64_t places = product(at.subspan(1, last - 1)), depth = last == 4 ? in[2] : 1;
  return {in[1], depth, in[last - 1], in[last], places, mode, border, align_corners};
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
    const auto& loops = cpu::grid_loops<T>(input.dtype(), mode, input.dim() == 5);
    const int64_t each = at.sizes().back() * s.places;
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_image(s, image.sizes()[0],
                 [&, x = image.data<T>(), g = at.data<T>(), y = to.data<T>()](int64_t n) {
                   loops.forward(s, x + n * s.elements(), g + n * each,
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
    const auto& loops = cpu::grid_loops<T>(input.dtype(), mode, input.dim() == 5);
    const int64_t each = at.sizes().back() * s.places;
    cpu::fill_contiguous(of_input, dtype_of<T>::value, [&](const Tensor& images) {
      std::fill_n(images.data<T>(), images.numel(), T(0));
      cpu::fill_contiguous(of_grid, dtype_of<T>::value, [&](const Tensor& grids) {
        each_image(s, image.sizes()[0],
                   [&, d = grad.data<T>(), x = image.data<T>(), g = at.data<T>(),
                    ox = images.data<T>(), og = grids.data<T>()](int64_t n) {
                     loops.backward(s, d + n * s.channels * s.places, x + n * s.elements(),
                                    g + n * each, ox + n * s.elements(), og + n * each);
                   });
      });
    });
  });
}

}  // namespace msa::kernels
