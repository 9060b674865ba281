// Copies that move elements about: flip, the triangles of matrices, the parts of complex numbers.
#include <algorithm>
#include <cstring>

#include "generated/kernels_math.h"
#include "generated/kernels_order.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/walk.h"

namespace msa::kernels {
namespace {

// Zeroes what lies on the wrong side of the diagonal of each matrix.
void keep_triangle(Tensor& t, int64_t diagonal, bool lower) {
  auto ndim = t.dim();
  int64_t rows = t.sizes()[ndim - 2], columns = t.sizes()[ndim - 1],
          matrices = t.numel() / std::max<int64_t>(1, rows * columns);
  auto item = static_cast<int64_t>(t.item_bytes());
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t r = 0; r < rows; ++r) {
      char* row = t.data<char>() + (m * rows + r) * columns * item;
      int64_t cut = std::clamp<int64_t>(r + diagonal + (lower ? 1 : 0), 0, columns);
      if (lower) {
        std::memset(row + cut * item, 0, static_cast<size_t>((columns - cut) * item));
      } else {
        std::memset(row, 0, static_cast<size_t>(cut * item));
      }
    }
}

void triangle(const Tensor& input, int64_t diagonal, bool lower, Tensor& out) {
  if (out.numel() == 0) return;
  Tensor dense = out.is_contiguous() ? out : empty(out.sizes(), out.dtype());
  cpu::copy_into(dense, input);
  keep_triangle(dense, diagonal, lower);
  if (!out.is_contiguous()) cpu::copy_into(out, dense);
}

}  // namespace

void tril(const Tensor& input, int64_t diagonal, Tensor& out0) {
  triangle(input, diagonal, true, out0);
}
void triu(const Tensor& input, int64_t diagonal, Tensor& out0) {
  triangle(input, diagonal, false, out0);
}

// Reads backwards along `dims`: the walker takes negative strides.
void flip(const Tensor& input, const Dims& dims, Tensor& out0) {
  if (out0.numel() == 0) return;
  Dims strides = input.strides();
  char* data = input.data<char>();
  for (int64_t dim : dims) {
    int64_t d = wrap_dim(dim, input.dim());
    if (input.dim() == 0) break;
    data += (input.sizes()[d] - 1) * strides[d] * static_cast<int64_t>(input.item_bytes());
    strides[d] = -strides[d];
  }
  cpu::copy_elements(out0.sizes(), {out0.data(), out0.dtype(), out0.strides().data()},
                     {data, input.dtype(), strides.data()});
}

void _interleaved(const Tensor& real, const Tensor& imag, Tensor& out0) {
  cpu::fill_contiguous(out0, out0.dtype(), [&](const Tensor& to) {
    const Tensor re = cpu::contiguous(real), im = cpu::contiguous(imag);
    const auto interleave = [&]<class T>(T) {
      cpu::parallel(to.numel(), cpu::kGrain, [&](int64_t begin, int64_t end) {
        const T *const a = re.data<T>(), *const b = im.data<T>();
        T* const out = static_cast<T*>(to.data());
        for (int64_t i = begin; i < end; ++i) out[2 * i] = a[i], out[2 * i + 1] = b[i];
      });
    };
    if (re.dtype() == DType::F16) return interleave(f16());
    re.dtype() == DType::F32 ? interleave(0.0f) : interleave(0.0);
  });
}

}  // namespace msa::kernels
