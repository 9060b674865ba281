// Sorting places, and the order that it finds as an operator.
#include "kernels/cpu/sparse/order.h"

#include <algorithm>
#include <bit>

#include "generated/kernels_sparse.h"
#include "kernels/cpu/contiguous.h"

namespace msa {
namespace cpu {

Place* sort_places(Place* places, Place* spare, int64_t n, int64_t bound) {
  const auto less = [](const Place& a, const Place& b) { return a.number < b.number; };
  if (std::is_sorted(places, places + n, less)) return places;
  if (n < 256) {
    std::stable_sort(places, places + n, less);
    return places;
  }
  constexpr int kDigit = 11, kSlots = 1 << kDigit;
  const int bits = std::bit_width(static_cast<uint64_t>(bound));
  for (int shift = 0; shift < bits; shift += kDigit) {
    int64_t starts[kSlots + 1] = {};
    const auto slot = [shift](const Place& p) { return (p.number >> shift) & (kSlots - 1); };
    for (int64_t i = 0; i < n; ++i) ++starts[slot(places[i]) + 1];
    for (int s = 0; s < kSlots; ++s) starts[s + 1] += starts[s];
    for (int64_t i = 0; i < n; ++i) spare[starts[slot(places[i])]++] = places[i];
    std::swap(places, spare);
  }
  return places;
}

}  // namespace cpu

namespace kernels {

void _place_order(const Tensor& numbers, int64_t bound, Tensor& out) {
  const Tensor from = cpu::contiguous(numbers, DType::I64);
  const int64_t n = from.numel(), *number = from.data<int64_t>();
  const auto room = std::make_unique_for_overwrite<cpu::Place[]>(
      static_cast<size_t>(std::max<int64_t>(2 * n, 1)));
  for (int64_t i = 0; i < n; ++i) {
    MSA_REQUIRE(number[i] >= 0 && number[i] < bound, Index, "a sparse tensor names place ",
                number[i], ", which is not in [0, ", bound, ")");
    room[static_cast<size_t>(i)] = {number[i], i};
  }
  const cpu::Place* sorted = cpu::sort_places(room.get(), room.get() + n, n, bound);
  cpu::fill_contiguous(out, DType::I64, [&](const Tensor& to) {
    for (int64_t i = 0; i < n; ++i) to.data<int64_t>()[i] = sorted[i].entry;
  });
}

}  // namespace kernels
}  // namespace msa
