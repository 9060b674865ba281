// cat and nonzero.
#include <algorithm>
#include <numeric>

#include "generated/kernels_index.h"
#include "generated/layouts_view.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/index/offsets.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

template <class T>
bool is_nonzero(T v) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return (v.bits & 0x7fff) != 0;
  } else {
    return v != T{};
  }
}

// Where a line's nonzero elements stand, and how many there are; `to` has room for n.
template <class T>
int64_t find_in_line(const T* line, int64_t n, int64_t* to) {
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    to[found] = i;
    found += is_nonzero(line[i]);
  }
  return found;
}

// A dense tensor as lines along its last dimension, a share of them for each thread.
struct Lines {
  int64_t count, length;
};

// The line's number as one along each dimension but the last.
void lead_of(int64_t line, DimsView sizes, int64_t* lead) {
  for (size_t d = sizes.size() - 1; d-- > 0;) {
    lead[d] = line % sizes[d];
    line /= sizes[d];
  }
}

template <class T>
int64_t count_nonzero_elements(const T* data, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += is_nonzero(data[i]);
  return count;
}

// Writes the places of lines [begin, end), the first of them at column `at`; `columns` long each.
template <class T>
void write_places(const T* data, DimsView sizes, const Lines& lines, int64_t begin, int64_t end,
                  int64_t at, int64_t columns, int64_t* places) {
  const size_t last = sizes.size() - 1;
  std::vector<int64_t> room(static_cast<size_t>(lines.length)), lead(last);
  for (int64_t line = begin; line < end; ++line) {
    const int64_t found = find_in_line(data + line * lines.length, lines.length, room.data());
    lead_of(line, sizes, lead.data());
    for (size_t d = 0; d < last; ++d)
      std::fill_n(places + static_cast<int64_t>(d) * columns + at, found, lead[d]);
    std::copy_n(room.data(), found, places + static_cast<int64_t>(last) * columns + at);
    at += found;
  }
}

// The places of the nonzero elements of a contiguous tensor: first all numbers along dimension 0,
// then along 1, ...; PyTorch's result is the transpose of this.
template <class T>
Tensor find_nonzero(const Tensor& dense) {
  const T* data = dense.data<T>();
  const int64_t total = dense.numel();
  if (dense.dim() == 0 || total == 0) {
    const int64_t found = total ? is_nonzero(*data) : 0;
    const Tensor none = empty(Dims{found, dense.dim()}, DType::I64);
    return alias(none, {{found, dense.dim()}, {1, found}, 0});
  }
  const Lines lines{total / dense.sizes().back(), dense.sizes().back()};
  const int64_t shares =
      total < cpu::kGrain ? 1 : std::min<int64_t>(4 * cpu::get_num_threads(), lines.count);
  std::vector<int64_t> starts(static_cast<size_t>(shares) + 1);
  const auto share = [&](int64_t s) { return lines.count * s / shares; };
  cpu::parallel(shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      starts[static_cast<size_t>(s) + 1] = count_nonzero_elements(
          data + share(s) * lines.length, (share(s + 1) - share(s)) * lines.length);
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  const int64_t n = starts.back();
  Tensor places = empty(Dims{dense.dim(), n}, DType::I64);
  auto* to = places.data<int64_t>();
  const DimsView sizes = dense.sizes();
  cpu::parallel(shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      write_places(data, sizes, lines, share(s), share(s + 1), starts[static_cast<size_t>(s)], n,
                   to);
  });
  return alias(places, layouts::transpose(places.layout(), 0, 1));
}

}  // namespace

void cat(const TensorList& tensors, int64_t dim, Tensor& out0) {
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (t.dim() == 1 && t.numel() == 0) continue;
    int64_t d = wrap_dim(dim, t.dim());
    cpu::copy_into(alias(out0, layouts::narrow(out0.layout(), d, start, t.sizes()[d])), t);
    start += t.sizes()[d];
  }
}

Tensor nonzero(const Tensor& input) {
  const DType compute = input.dtype() == DType::C32 ? DType::C64 : input.dtype();
  Tensor dense = cpu::contiguous(input, compute), out;
  cpu::for_dtype("nonzero", compute, [&]<class T>(T) { out = find_nonzero<T>(dense); });
  return out;
}

}  // namespace msa::kernels
