// The numbers of a convolution of up to three spatial dimensions, as kernels see them.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// Of a dense convolution from `in` to `out`; for transposed ones and gradients the roles stay those
// of the forward pass. Missing spatial dimensions have extent 1.
struct ConvShape {
  int64_t batch, groups;
  int64_t in_channels, out_channels;  // of one group
  int64_t in[3], out[3], kernel[3];
  int64_t stride[3], padding[3], dilation[3];

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_plane() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t taps() const { return in_channels * kernel_plane(); }
  int64_t work() const { return batch * groups * out_channels * taps() * out_plane(); }
};

// `input` and `out` (or their gradients) as (N, C, spatial...), `weight` as (C_out, C_in / groups,
// kernel...).
ConvShape conv_shape(DimsView input, DimsView weight, DimsView out, DimsView stride,
                     DimsView padding, DimsView dilation, int64_t groups);

}  // namespace msa::cpu
