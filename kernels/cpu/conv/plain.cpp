// One walk over all (output, input, weight) triples of a convolution serves its three parts.
#include "kernels/cpu/conv/plain.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/threads.h"

namespace msa::cpu {
namespace {

// The kernel's elements that meet the input from one output position: visit(input offset, weight
// offset).
template <class Visit>
void visit_window(const ConvShape& s, const int64_t* at, Visit&& visit) {
  for (int64_t z = 0; z < s.kernel[0]; ++z) {
    const int64_t iz = at[0] * s.stride[0] - s.padding[0] + z * s.dilation[0];
    if (iz < 0 || iz >= s.in[0]) continue;
    for (int64_t y = 0; y < s.kernel[1]; ++y) {
      const int64_t iy = at[1] * s.stride[1] - s.padding[1] + y * s.dilation[1];
      if (iy < 0 || iy >= s.in[1]) continue;
      for (int64_t x = 0; x < s.kernel[2]; ++x) {
        const int64_t ix = at[2] * s.stride[2] - s.padding[2] + x * s.dilation[2];
        if (ix < 0 || ix >= s.in[2]) continue;
        visit((iz * s.in[1] + iy) * s.in[2] + ix, (z * s.kernel[1] + y) * s.kernel[2] + x);
      }
    }
  }
}

// The input's element that one tap of the kernel meets from an output position, where there is one.
template <class Visit>
void visit_tap(const ConvShape& s, const int64_t* at, int64_t tap, Visit&& visit) {
  const int64_t offsets[] = {tap / (s.kernel[1] * s.kernel[2]), tap / s.kernel[2] % s.kernel[1],
                             tap % s.kernel[2]};
  int64_t in = 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t i = at[d] * s.stride[d] - s.padding[d] + offsets[d] * s.dilation[d];
    if (i < 0 || i >= s.in[d]) return;
    in = in * s.in[d] + i;
  }
  visit(in);
}

// visit(output, input, weight) offsets of one image and output channel.
template <class Visit>
void visit_channel(const ConvShape& s, int64_t image, int64_t channel, Visit&& visit) {
  const int64_t group = channel / s.out_channels, channels = s.groups * s.out_channels;
  int64_t out = (image * channels + channel) * s.out_plane();
  int64_t at[3];
  for (at[0] = 0; at[0] < s.out[0]; ++at[0])
    for (at[1] = 0; at[1] < s.out[1]; ++at[1])
      for (at[2] = 0; at[2] < s.out[2]; ++at[2], ++out)
        visit_window(s, at, [&](int64_t in, int64_t weight) {
          for (int64_t c = 0; c < s.in_channels; ++c)
            visit(out, ((image * s.groups + group) * s.in_channels + c) * s.in_plane() + in,
                  (channel * s.in_channels + c) * s.kernel_plane() + weight);
        });
}

template <class T>
void conv_part(ConvPart part, const ConvShape& s, const T* a, const T* b, T* result) {
  const int64_t channels = s.groups * s.out_channels;
  const auto run = [&](int64_t image, int64_t channel) {
    switch (part) {
      case ConvPart::Forward:
        return visit_channel(s, image, channel,
                             [&](int64_t o, int64_t i, int64_t w) { result[o] += a[i] * b[w]; });
      case ConvPart::InputGradient:
        return visit_channel(s, image, channel,
                             [&](int64_t o, int64_t i, int64_t w) { result[i] += a[o] * b[w]; });
      case ConvPart::WeightGradient:
        return visit_channel(s, image, channel,
                             [&](int64_t o, int64_t i, int64_t w) { result[w] += a[o] * b[i]; });
    }
  };
  // What no two threads write to: images, or for the weights' gradient output channels.
  const bool by_image = part != ConvPart::WeightGradient;
  parallel(by_image ? s.batch : channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < (by_image ? channels : s.batch); ++j)
        by_image ? run(i, j) : run(j, i);
  });
}

// The input's gradient of one image and group in float16: PyTorch rounds each tap's products,
// summed over the output channels, and adds them up tap by tap in float16. `sums` holds an output
// plane.
void half_image_gradient(const ConvShape& s, const float* grad, const float* weight, f16* out,
                         float* sums) {
  const int64_t plane = s.out_plane(), taps = s.kernel_plane();
  for (int64_t c = 0; c < s.in_channels; ++c, out += s.in_plane()) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      std::fill_n(sums, plane, 0.0f);
      for (int64_t o = 0; o < s.out_channels; ++o) {
        const float factor = weight[(o * s.in_channels + c) * taps + tap];
        const float* from = grad + o * plane;
        for (int64_t p = 0; p < plane; ++p) sums[p] += factor * from[p];
      }
      const float* sum = sums;
      int64_t at[3];
      for (at[0] = 0; at[0] < s.out[0]; ++at[0])
        for (at[1] = 0; at[1] < s.out[1]; ++at[1])
          for (at[2] = 0; at[2] < s.out[2]; ++at[2], ++sum)
            visit_tap(s, at, tap, [&](int64_t in) { out[in] = out[in] + f16(*sum); });
    }
  }
}

}  // namespace

void half_input_gradient(const ConvShape& s, const float* grad, const float* weight, f16* out) {
  const int64_t group_weights = s.out_channels * s.in_channels * s.kernel_plane();
  parallel(s.batch * s.groups, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> sums(static_cast<size_t>(s.out_plane()));
    for (int64_t unit = begin; unit < end; ++unit)
      half_image_gradient(s, grad + unit * s.out_channels * s.out_plane(),
                          weight + unit % s.groups * group_weights,
                          out + unit * s.in_channels * s.in_plane(), sums.data());
  });
}

void plain_conv(ConvPart part, const ConvShape& s, DType dtype, const void* a, const void* b,
                void* result) {
  switch (dtype) {
#define MSA_CASE(E, T)                                                            \
  case DType::E:                                                                  \
    return conv_part(part, s, static_cast<const T*>(a), static_cast<const T*>(b), \
                     static_cast<T*>(result));
    MSA_CASE(U8, uint8_t)
    MSA_CASE(I8, int8_t)
    MSA_CASE(I16, int16_t)
    MSA_CASE(I32, int32_t)
    MSA_CASE(I64, int64_t)
#undef MSA_CASE
    default:
      fail(ErrorKind::NotImplemented, "conv: not implemented for ", dtype,
           ": convert the operands first.");
  }
}

}  // namespace msa::cpu
