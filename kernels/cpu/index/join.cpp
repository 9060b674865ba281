// cat and nonzero.
#include "core/layout/views.h"
#include "generated/kernels.h"
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

// The places of nonzero elements in row-major order, as rows of `ndim` numbers.
template <class T>
std::vector<int64_t> find_nonzero(const Tensor& dense) {
  std::vector<int64_t> places;
  const T* data = dense.data<T>();
  DimsView sizes = dense.sizes();
  for (int64_t i = 0; i < dense.numel(); ++i) {
    if (!is_nonzero(data[i])) continue;
    int64_t rest = i;
    places.resize(places.size() + sizes.size());
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) places[places.size() - sizes.size() + d] = rest % sizes[d];
  }
  return places;
}

template <class T>
int64_t count_nonzero_elements(const Tensor& dense) {
  int64_t n = 0;
  for (int64_t i = 0; i < dense.numel(); ++i) n += is_nonzero(dense.data<T>()[i]);
  return n;
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
  Tensor dense = cpu::contiguous(input);
  Tensor out;
  cpu::for_dtype(input.dtype(), [&]<class T>(T) {
    std::vector<int64_t> places = find_nonzero<T>(dense);
    out = empty(Dims{count_nonzero_elements<T>(dense), input.dim()}, DType::I64);
    std::copy(places.begin(), places.end(), out.data<int64_t>());
  });
  return out;
}

}  // namespace msa::kernels
