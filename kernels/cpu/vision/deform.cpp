// The columns of a deformable convolution and their gradients: elements read at moved places.
#include <cmath>

#include "generated/kernels_vision.h"
#include "kernels/cpu/vision/regions.h"

namespace msa::kernels {
namespace {

struct DeformShape {
  int64_t batch, channels, height, width, kernel_h, kernel_w, out_h, out_w, groups;
  int64_t stride[2], padding[2], dilation[2];

  DeformShape(const Tensor& input, const Tensor& offset, const Dims& kernel, const Dims& steps,
              const Dims& pad, const Dims& spread, int64_t offset_groups)
      : batch(input.size(0)),
        channels(input.size(1)),
        height(input.size(2)),
        width(input.size(3)),
        kernel_h(kernel[0]),
        kernel_w(kernel[1]),
        out_h(offset.size(2)),
        out_w(offset.size(3)),
        groups(offset_groups),
        stride{steps[0], steps[1]},
        padding{pad[0], pad[1]},
        dilation{spread[0], spread[1]} {}
  int64_t plane() const { return height * width; }
  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t places() const { return out_h * out_w; }
  int64_t group_channels() const { return channels / groups; }
};

// A place between four elements: where they are (-1 outside) and their weights.
template <class T>
struct Between {
  int64_t at[4];  // above left, above right, below left, below right
  T weight[4];
  T down, right;  // how far below and right of the first
};

template <class T>
Between<T> between(T y, T x, int64_t height, int64_t width) {
  Between<T> b = {{-1, -1, -1, -1}, {}, T(0), T(0)};
  if (!(y > -1 && y < static_cast<T>(height) && x > -1 && x < static_cast<T>(width))) return b;
  const T top = std::floor(y), left = std::floor(x);
  const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
  b.down = y - top, b.right = x - left;
  const T up = 1 - b.down, before = 1 - b.right;
  const T weights[4] = {up * before, up * b.right, b.down * before, b.down * b.right};
  for (int k = 0; k < 4; ++k) {
    const int64_t r = row + k / 2, c = column + k % 2;
    b.weight[k] = weights[k];
    if (r >= 0 && r < height && c >= 0 && c < width) b.at[k] = r * width + c;
  }
  return b;
}

template <class T>
T element(const T* plane, int64_t at) {
  return at >= 0 ? plane[at] : T(0);
}

template <class T>
T value_of(const Between<T>& b, const T* plane) {
  return b.weight[0] * element(plane, b.at[0]) + b.weight[1] * element(plane, b.at[1]) +
         b.weight[2] * element(plane, b.at[2]) + b.weight[3] * element(plane, b.at[3]);
}

// The tensors of a call, at one image and one group of channels that share offsets.
template <class T>
struct Operands {
  const DeformShape& s;
  const T *offset, *mask;

  int64_t offsets_at(int64_t image, int64_t group, int64_t tap) const {
    return ((image * s.groups + group) * 2 * s.taps() + 2 * tap) * s.places();
  }
  int64_t mask_at(int64_t image, int64_t group, int64_t tap) const {
    return ((image * s.groups + group) * s.taps() + tap) * s.places();
  }
  Between<T> place(int64_t at_offsets, int64_t tap, int64_t p) const {
    const int64_t row = p / s.out_w, column = p % s.out_w, i = tap / s.kernel_w,
                  j = tap % s.kernel_w;
    const T y = static_cast<T>(row * s.stride[0] - s.padding[0] + i * s.dilation[0]) +
                offset[at_offsets + p];
    const T x = static_cast<T>(column * s.stride[1] - s.padding[1] + j * s.dilation[1]) +
                offset[at_offsets + s.places() + p];
    return between(y, x, s.height, s.width);
  }
  T weight(int64_t at_mask, int64_t p) const { return mask ? mask[at_mask + p] : T(1); }
};

// One kernel element of one image and group: places are found once for all its channels.
template <class T>
void read_columns(const Operands<T>& o, const T* input, int64_t image, int64_t group, int64_t tap,
                  T* columns) {
  const DeformShape& s = o.s;
  const int64_t moved = o.offsets_at(image, group, tap), masked = o.mask_at(image, group, tap);
  const int64_t first = image * s.channels + group * s.group_channels();
  for (int64_t p = 0; p < s.places(); ++p) {
    const Between<T> b = o.place(moved, tap, p);
    const T weight = o.weight(masked, p);
    for (int64_t c = first; c < first + s.group_channels(); ++c)
      columns[(c * s.taps() + tap) * s.places() + p] = weight * value_of(b, input + c * s.plane());
  }
}

template <class T>
struct Gradients {
  T *input, *offset, *mask;
};

// Adds one place's part to the gradients; what the slope against y and x is follows from the four
// elements around it.
template <class T>
void add_place(const Operands<T>& o, const Between<T>& b, const T* input, const T* grad,
               int64_t first, int64_t tap, int64_t p, T weight, const Gradients<T>& to,
               T (&slopes)[3]) {
  const DeformShape& s = o.s;
  for (int64_t c = first; c < first + s.group_channels(); ++c) {
    const T g = grad[(c * s.taps() + tap) * s.places() + p];
    const T* plane = input + c * s.plane();
    T* of_plane = to.input + c * s.plane();
    T e[4];
    for (int k = 0; k < 4; ++k) {
      e[k] = element(plane, b.at[k]);
      if (b.at[k] >= 0) of_plane[b.at[k]] += b.weight[k] * (weight * g);
    }
    slopes[0] += weight * g * (b.right * (e[3] - e[1]) + (1 - b.right) * (e[2] - e[0]));
    slopes[1] += weight * g * (b.down * (e[3] - e[2]) + (1 - b.down) * (e[1] - e[0]));
    slopes[2] += g * value_of(b, plane);
  }
}

template <class T>
void spread_columns(const Operands<T>& o, const T* input, const T* grad, int64_t image,
                    int64_t group, const Gradients<T>& to) {
  const DeformShape& s = o.s;
  const int64_t first = image * s.channels + group * s.group_channels();
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    const int64_t moved = o.offsets_at(image, group, tap), masked = o.mask_at(image, group, tap);
    for (int64_t p = 0; p < s.places(); ++p) {
      T slopes[3] = {};
      add_place(o, o.place(moved, tap, p), input, grad, first, tap, p, o.weight(masked, p), to,
                slopes);
      to.offset[moved + p] = slopes[0];
      to.offset[moved + s.places() + p] = slopes[1];
      if (to.mask) to.mask[masked + p] = slopes[2];
    }
  }
}

}  // namespace

void _deform_columns(const Tensor& input, const Tensor& offset, const Tensor& mask,
                     const Dims& kernel_size, const Dims& stride, const Dims& padding,
                     const Dims& dilation, int64_t offset_groups, Tensor& out) {
  cpu::with_real("deform_conv2d", input.dtype(), [&]<class T>() {
    const DeformShape s(input, offset, kernel_size, stride, padding, dilation, offset_groups);
    const Tensor image = cpu::as<T>(input), moves = cpu::as<T>(offset), weights = cpu::as<T>(mask);
    const Operands<T> o{s, moves.data<T>(), cpu::data_or_null<T>(weights)};
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      cpu::each_of(s.batch * s.groups * s.taps(), 4 * s.group_channels() * s.places(),
                   [&, from = image.data<T>(), columns = to.data<T>()](int64_t i) {
                     const int64_t tap = i % s.taps(), n = i / s.taps();
                     read_columns(o, from, n / s.groups, n % s.groups, tap, columns);
                   });
    });
  });
}

void _deform_columns_backward(const Tensor& grad_output, const Tensor& input, const Tensor& offset,
                              const Tensor& mask, const Dims& kernel_size, const Dims& stride,
                              const Dims& padding, const Dims& dilation, int64_t offset_groups,
                              Tensor& of_input, Tensor& of_offset, Tensor& of_mask) {
  cpu::with_real("deform_conv2d", input.dtype(), [&]<class T>() {
    constexpr DType type = dtype_of<T>::value;
    const DeformShape s(input, offset, kernel_size, stride, padding, dilation, offset_groups);
    const Tensor image = cpu::as<T>(input), moves = cpu::as<T>(offset), weights = cpu::as<T>(mask),
                 grad = cpu::as<T>(grad_output);
    const Operands<T> o{s, moves.data<T>(), cpu::data_or_null<T>(weights)};
    const auto run = [&](const Gradients<T>& to) {
      std::fill_n(to.input, image.numel(), T(0));
      cpu::each_of(s.batch * s.groups, 8 * s.group_channels() * s.taps() * s.places(),
                   [&, from = image.data<T>(), g = grad.data<T>()](int64_t i) {
                     spread_columns(o, from, g, i / s.groups, i % s.groups, to);
                   });
    };
    cpu::fill_contiguous(of_input, type, [&](const Tensor& images) {
      cpu::fill_contiguous(of_offset, type, [&](const Tensor& offsets) {
        cpu::fill_contiguous(of_mask, type, [&](const Tensor& masks) {
          run({images.data<T>(), offsets.data<T>(), o.mask ? masks.data<T>() : nullptr});
        });
      });
    });
  });
}

}  // namespace msa::kernels
