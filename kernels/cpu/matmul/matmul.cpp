// The product operators: tensors of any rank as batches of matrices for gemm.
#include "core/base/lock.h"
#include "generated/kernels_linalg.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/scratch.h"

namespace msa {
namespace {

using cpu::Matrix;

constexpr int64_t kReleaseLockWork = 1 << 17;  // multiply-adds

enum class Vector { AsRow, AsColumn };

// The matrices that a tensor holds: its last two dimensions, or a vector as one row or column.
Matrix matrix_of(const Tensor& t, Vector vector) {
  const size_t n = t.sizes().size();
  if (n == 0) return {t.data(), 1, 1, 1, 1};
  if (n == 1) {
    const Matrix row{t.data(), 1, t.sizes()[0], t.sizes()[0], t.strides()[0]};
    return vector == Vector::AsRow ? row : row.transposed();
  }
  return {t.data(), t.sizes()[n - 2], t.sizes()[n - 1], t.strides()[n - 2], t.strides()[n - 1]};
}

DimsView batch_of(const Dims& all) {
  return DimsView(all).first(all.size() > 2 ? all.size() - 2 : 0);
}

// Where each matrix of a batch of the given sizes starts.
void fill_offsets(DimsView sizes, DimsView strides, int64_t* offsets) {
  const int64_t count = product(sizes);
  Dims index(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    offsets[i] = offset;
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

// Rows of all matrices in one, where the batch dimensions continue the rows' stride.
bool fold_batch(const Tensor& t, Matrix& m) {
  int64_t rows = m.rows;
  for (size_t d = t.sizes().size() - 2; d-- > 0;) {
    if (t.sizes()[d] != 1 && t.strides()[d] != rows * m.row_stride) return false;
    rows *= t.sizes()[d];
  }
  m.rows = rows;
  return true;
}

// out = alpha * a b + beta * out, where out has the shape that rules::matmul gives.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, const Scalar& alpha = 1,
              const Scalar& beta = 0) {
  const DType dtype = out.dtype();
  Matrix ma = matrix_of(a, Vector::AsRow), mb = matrix_of(b, Vector::AsColumn);
  Matrix mc{out.data(), ma.rows, mb.columns, 0, 0};
  Dims sizes = out.sizes(), strides = out.strides();  // with the vectors' dimensions put back
  if (a.dim() == 1) {
    sizes.insert(sizes.size() - (b.dim() > 1), 1);
    strides.insert(strides.size() - (b.dim() > 1), mb.columns);
  }
  if (b.dim() == 1) {
    sizes.push_back(1);
    strides.push_back(1);
  }
  mc.row_stride = strides[strides.size() - 2];
  mc.column_stride = strides.back();
  const DimsView batch = batch_of(sizes);
  const int64_t count = product(batch);
  const Unlocked unlocked(out.numel() * ma.columns >= kReleaseLockWork);
  if (count <= 1) {
    if (count) cpu::gemm(dtype, ma, mb, mc, alpha, beta);
    return;
  }
  if (b.dim() <= 2 && a.dim() > 2 && out.is_contiguous() && fold_batch(a, ma)) {
    mc.rows *= count;
    return cpu::gemm(dtype, ma, mb, mc, alpha, beta);
  }
  cpu::Scratch<int64_t> offsets(3 * count);
  int64_t *const to_a = offsets.data(), *const to_b = to_a + count, *const to_c = to_b + count;
  fill_offsets(batch, expanded_strides(batch_of(a.sizes()), batch_of(a.strides()), batch), to_a);
  fill_offsets(batch, expanded_strides(batch_of(b.sizes()), batch_of(b.strides()), batch), to_b);
  fill_offsets(batch, batch_of(strides), to_c);
  cpu::gemm_batch(dtype, {count, to_a, to_b, to_c}, ma, mb, mc, alpha, beta);
}

// beta * input + alpha * a b; in the in-place form out is input, which a factor may share.
void add_product(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
                 const Scalar& alpha, const Tensor& out) {
  const Tensor left = out.same_storage(a) ? cpu::copied(a) : a,
               right = out.same_storage(b) ? cpu::copied(b) : b;
  if (!(beta == 0.0) && input.impl() != out.impl()) cpu::copy_into(out, input);
  multiply(left, right, out, alpha, beta);
}

}  // namespace

namespace kernels {

void matmul(const Tensor& input, const Tensor& other, Tensor& out) { multiply(input, other, out); }
void mm(const Tensor& input, const Tensor& mat2, Tensor& out) { multiply(input, mat2, out); }
void bmm(const Tensor& input, const Tensor& mat2, Tensor& out) { multiply(input, mat2, out); }
void mv(const Tensor& input, const Tensor& vec, Tensor& out) { multiply(input, vec, out); }
void dot(const Tensor& input, const Tensor& tensor, Tensor& out) { multiply(input, tensor, out); }

void addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, Tensor& out) {
  add_product(input, mat1, mat2, beta, alpha, out);
}
void addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta,
           const Scalar& alpha, Tensor& out) {
  add_product(input, mat, vec, beta, alpha, out);
}
void baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, Tensor& out) {
  add_product(input, batch1, batch2, beta, alpha, out);
}

void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& out) {
  Layout turned = weight.layout();
  if (weight.dim() == 2) {
    std::swap(turned.sizes[0], turned.sizes[1]);
    std::swap(turned.strides[0], turned.strides[1]);
  }
  if (bias.defined()) cpu::copy_into(out, bias);
  multiply(input, alias(weight, turned), out, 1, bias.defined() ? 1 : 0);
}

}  // namespace kernels
}  // namespace msa
