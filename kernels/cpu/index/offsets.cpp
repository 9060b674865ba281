// Lists of byte offsets for the indexing kernels.
#include "kernels/cpu/index/offsets.h"

namespace msa::cpu {

std::vector<int64_t> byte_offsets(DimsView sizes, DimsView strides, size_t item_bytes) {
  std::vector<int64_t> out{0};
  auto item = static_cast<int64_t>(item_bytes);
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> longer(out.size() * static_cast<size_t>(sizes[d]));
    int64_t* to = longer.data();
    for (int64_t base : out)
      for (int64_t i = 0, step = strides[d] * item; i < sizes[d]; ++i) *to++ = base + i * step;
    out = std::move(longer);
  }
  return out;
}

}  // namespace msa::cpu
