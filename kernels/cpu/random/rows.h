// The order in which random numbers go into a tensor: along memory, innermost stride first, as
// PyTorch fills.
#pragma once

#include <array>
#include <cstdint>

#include "core/layout/layout.h"

namespace msa::cpu {

// Calls row(offsets, steps, length) for every innermost run, in the memory order of operand 0
// first; offsets and steps are in elements.
template <size_t N, class Row>
void for_rows(DimsView sizes, const std::array<DimsView, N>& strides, Row row) {
  if (product(sizes) == 0) return;
  Dims order;
  for (int64_t d : stride_order(sizes, strides)) {
    if (sizes[d] != 1) order.push_back(d);
  }
  std::array<int64_t, N> offsets{}, steps{};
  int64_t length = 1;
  size_t outer = 0;  // dimensions of `order` below this are inside the run
  auto continues = [&](int64_t d) {
    for (size_t k = 0; k < N; ++k) {
      if (strides[k][d] != steps[k] * length) return false;
    }
    return true;
  };
  for (; outer < order.size() && (outer == 0 || continues(order[outer])); ++outer) {
    if (outer == 0) {
      for (size_t k = 0; k < N; ++k) steps[k] = strides[k][order[0]];
    }
    length *= sizes[order[outer]];
  }

  Dims index(order.size(), 0);
  for (;;) {
    row(offsets, steps, length);
    size_t at = outer;
    for (; at < order.size(); ++at) {
      const int64_t d = order[at], size = sizes[d];
      const bool wraps = ++index[at] == size;
      for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][d] * (wraps ? 1 - size : 1);
      if (!wraps) break;
      index[at] = 0;
    }
    if (at == order.size()) return;
  }
}

}  // namespace msa::cpu
