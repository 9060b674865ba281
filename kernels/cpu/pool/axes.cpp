// Where pooling windows begin and end.
#include "kernels/cpu/pool/axes.h"

#include <algorithm>

namespace msa::cpu {
namespace {

PoolAxis sized_axis(int64_t in, int64_t out) {
  PoolAxis axis;
  axis.in = in;
  axis.out = out;
  for (auto* list : {&axis.begin, &axis.end, &axis.count}) list->resize(static_cast<size_t>(out));
  return axis;
}

PoolAxis window_axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool count_padding) {
  PoolAxis axis = sized_axis(in, out);
  axis.step = dilation;
  axis.kernel = kernel;
  axis.stride = stride;
  axis.whole_begin = axis.whole_end = (padding + stride - 1) / stride;
  for (int64_t o = 0; o < out; ++o) {
    const size_t i = static_cast<size_t>(o);
    const int64_t start = o * stride - padding, stop = start + (kernel - 1) * dilation + 1;
    axis.begin[i] = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    axis.end[i] = std::min(stop, in);
    axis.count[i] =
        count_padding ? std::min(stop, in + padding) - start : axis.end[i] - axis.begin[i];
    if (o == axis.whole_end && start >= 0 && stop <= in) ++axis.whole_end;
  }
  axis.whole_begin = std::min(axis.whole_begin, axis.whole_end);
  return axis;
}

PoolAxis adaptive_axis(int64_t in, int64_t out) {
  PoolAxis axis = sized_axis(in, out);
  for (int64_t o = 0; o < out; ++o) {
    const size_t i = static_cast<size_t>(o);
    axis.begin[i] = o * in / out;
    axis.end[i] = ((o + 1) * in + out - 1) / out;
    axis.count[i] = axis.end[i] - axis.begin[i];
  }
  return axis;
}

}  // namespace

PoolShape window_shape(DimsView in, DimsView out, DimsView kernel, DimsView stride,
                       DimsView padding, DimsView dilation, bool count_padding) {
  const size_t spatial = kernel.size(), lead = in.size() - spatial;
  PoolShape shape;
  shape.planes = product(in.first(lead));
  for (size_t d = 0; d < spatial; ++d)
    shape.axes[3 - spatial + d] = window_axis(in[lead + d], out[lead + d], kernel[d], stride[d],
                                              padding[d], dilation[d], count_padding);
  return shape;
}

PoolShape adaptive_shape(DimsView in, DimsView out, size_t spatial) {
  const size_t lead = in.size() - spatial;
  PoolShape shape;
  shape.planes = product(in.first(lead));
  for (size_t d = 0; d < spatial; ++d)
    shape.axes[3 - spatial + d] = adaptive_axis(in[lead + d], out[lead + d]);
  shape.divides_by_axis = true;
  return shape;
}

}  // namespace msa::cpu
