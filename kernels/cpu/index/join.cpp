// cat and nonzero.
#include "generated/kernels_index.h"
#include "generated/layouts_view.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/index/offsets.h"

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

// The places of the nonzero elements of a contiguous tensor: first all numbers along dimension 0,
// then along 1, ...; PyTorch's result is the transpose of this.
template <class T>
Tensor find_nonzero(const Tensor& dense) {
  const T* data = dense.data<T>();
  std::vector<int64_t> found;
  for (int64_t i = 0; i < dense.numel(); ++i)
    if (is_nonzero(data[i])) found.push_back(i);
  auto n = static_cast<int64_t>(found.size());
  Tensor places = empty(Dims{dense.dim(), n}, DType::I64);
  for (int64_t d = dense.dim() - 1; d >= 0; --d) {
    int64_t* column = places.data<int64_t>() + d * n;
    for (int64_t i = 0; i < n; ++i) {
      int64_t& rest = found[static_cast<size_t>(i)];
      column[i] = rest % dense.sizes()[d];
      rest /= dense.sizes()[d];
    }
  }
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
  Tensor dense = cpu::contiguous(input), out;
  cpu::for_dtype(input.dtype(), [&]<class T>(T) { out = find_nonzero<T>(dense); });
  return out;
}

}  // namespace msa::kernels
