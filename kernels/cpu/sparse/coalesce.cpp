// Coalescing: places in order, the values of equal ones added up.
#include <cstring>

#include "core/base/small_vec.h"
#include "generated/kernels_sparse.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/sparse/order.h"

namespace msa {
namespace {

// The places as numbers; raises for those outside the sizes.
std::unique_ptr<cpu::Place[]> numbered(const Tensor& indices, const Dims& size) {
  const int64_t n = indices.sizes()[1], *at = indices.data<int64_t>();
  auto places = std::make_unique_for_overwrite<cpu::Place[]>(static_cast<size_t>(2 * n));
  for (int64_t i = 0; i < n; ++i) places[static_cast<size_t>(i)] = {0, i};
  for (int64_t d = 0; d < indices.sizes()[0]; ++d, at += n) {
    const int64_t extent = size[static_cast<size_t>(d)];
    for (int64_t i = 0; i < n; ++i) {
      MSA_REQUIRE(at[i] >= 0 && at[i] < extent, Index, "coalesce: index ", at[i],
                  " is out of range for dimension ", d, " of size ", extent);
      int64_t& number = places[static_cast<size_t>(i)].number;
      number = number * extent + at[i];
    }
  }
  return places;
}

// Each run of equal places: its first entry and where it ends.
struct Runs {
  std::vector<int64_t> first, end;
};

Runs runs_of(const cpu::Place* sorted, int64_t n) {
  Runs runs;
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0 && sorted[i].number == sorted[i - 1].number) {
      runs.end.back() = i + 1;
    } else {
      runs.first.push_back(sorted[i].entry);
      runs.end.push_back(i + 1);
    }
  }
  return runs;
}

template <class T>
T sum(T a, T b) {
  return static_cast<T>(a + b);
}
template <>
bool sum(bool a, bool b) {
  return a || b;
}

template <class T>
void add_up(const Tensor& values, const cpu::Place* sorted, const Runs& runs, const Tensor& out) {
  const int64_t n = values.sizes()[0], width = n ? values.numel() / n : 0;
  const T* from = values.data<T>();
  T* to = out.data<T>();
  int64_t i = 0;
  for (size_t r = 0; r < runs.end.size(); ++r, to += width) {
    std::copy_n(from + sorted[i].entry * width, width, to);
    while (++i < runs.end[r]) {
      const T* more = from + sorted[i].entry * width;
      for (int64_t j = 0; j < width; ++j) to[j] = sum<T>(to[j], more[j]);
    }
  }
}

}  // namespace

namespace kernels {

std::tuple<Tensor, Tensor> _coalesce_parts(const Tensor& indices, const Tensor& values,
                                           const Dims& size) {
  const Tensor at = cpu::contiguous(indices, DType::I64), from = cpu::contiguous(values);
  const int64_t n = at.sizes()[1], d = at.sizes()[0];
  int64_t cells = 1;
  for (int64_t s : size) cells *= s;
  const auto room = numbered(at, size);
  const cpu::Place* sorted = cpu::sort_places(room.get(), room.get() + n, n, cells);
  const Runs runs = runs_of(sorted, n);
  const auto left = static_cast<int64_t>(runs.first.size());
  const Tensor places = empty(Dims{d, left}, DType::I64);
  for (int64_t k = 0; k < d; ++k)
    for (int64_t r = 0; r < left; ++r)
      places.data<int64_t>()[k * left + r] =
          at.data<int64_t>()[k * n + runs.first[static_cast<size_t>(r)]];
  Dims sizes = values.sizes();
  sizes[0] = left;
  const Tensor sums = empty(sizes, values.dtype());
  switch (values.dtype()) {
#define MSA_ADD_UP(E, T)                 \
  case DType::E:                         \
    add_up<T>(from, sorted, runs, sums); \
    break;
    MSA_FOR_EACH_DTYPE(MSA_ADD_UP)
#undef MSA_ADD_UP
    default:
      refuse_dtype("coalesce", values.dtype());
  }
  return {places, sums};
}

}  // namespace kernels
}  // namespace msa
