// The windows of pooling along each dimension, for fixed kernels and for adaptive bins alike.
#pragma once
#include <vector>

#include "core/dispatch/options.h"

namespace msa::cpu {

// Window o covers begin[o], begin[o] + step, ... below end[o]; averages divide by count[o].
struct PoolAxis {
  int64_t in = 1, out = 1, step = 1;
  std::vector<int64_t> begin{0}, end{1}, count{1};
  // Windows [whole_begin, whole_end) have all of `kernel` taps and start `stride` apart.
  int64_t kernel = 1, stride = 1, whole_begin = 0, whole_end = 0;
};

struct PoolShape {
  int64_t planes;
  PoolAxis axes[3];
  int64_t divisor = 0;           // 0: the product of the axes' counts
  bool divides_by_axis = false;  // by one count after the other: adaptive pooling rounds so

  int64_t in_plane() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out_plane() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// Fixed windows over the last dimensions of `in`; `count_padding`: padding counts in averages.
PoolShape window_shape(DimsView in, DimsView out, DimsView kernel, DimsView stride,
                       DimsView padding, DimsView dilation, bool count_padding);
PoolShape adaptive_shape(DimsView in, DimsView out, size_t spatial);

}  // namespace msa::cpu
