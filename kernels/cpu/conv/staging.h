// Lays an image out so that a convolution reads every tap as a plain run of elements: padded, its
// columns sorted by phase where the stride is not 1, zeros between elements for transposed ones.
#pragma once
#include <vector>

#include "kernels/cpu/conv/shape.h"

namespace msa::cpu {

// For each position of a staged dimension the source index, or -1 for zero.
using StagedAxis = std::vector<int64_t>;

struct Staging {
  StagedAxis axes[3];
  std::vector<int64_t> tap_offsets, row_offsets;
  int64_t channels;
  bool needed;  // false: the source itself is read, as contiguous planes

  int64_t plane() const {
    return static_cast<int64_t>(axes[0].size() * axes[1].size() * axes[2].size());
  }
  int64_t image() const { return channels * plane(); }
};

// Which reads the input and makes the output, or reads the output's gradient and makes the input's.
// `must_copy`: the source is not contiguous or of another dtype.
Staging stage_forward(const ConvShape& s, bool must_copy);
Staging stage_input_gradient(const ConvShape& s, bool must_copy);

// Copies `channels` planes whose elements are `strides` (channel, depth, row, column) apart.
template <class To, class From>
void stage(const Staging& s, const From* from, const int64_t* strides, To* to);

}  // namespace msa::cpu
