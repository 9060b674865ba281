// The product of a CSR matrix and a dense one; places are checked, since nothing else has.
#include "core/base/lock.h"
#include "generated/kernels_sparse.h"
#include "generated/rules_sparse.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/sparse/check.h"
#include "kernels/cpu/sparse/loops.h"
#include "kernels/cpu/threads.h"

namespace msa {

namespace cpu {

void check_places(const Tensor& ends, const Tensor& columns, int64_t n_columns) {
  const int64_t* end = ends.data<int64_t>();
  const int64_t n_rows = ends.numel() - 1, nnz = columns.numel();
  bool good = end[0] == 0 && end[n_rows] == nnz;
  for (int64_t r = 0; r < n_rows; ++r) good &= end[r] <= end[r + 1];
  MSA_REQUIRE(good, Runtime, "mm: the sparse matrix's compressed indices do not rise from 0 to ",
              nnz, "; see torch.sparse.check_sparse_tensor_invariants");
  const int64_t* column = columns.data<int64_t>();
  for (int64_t k = 0; k < nnz; ++k) good &= column[k] >= 0 && column[k] < n_columns;
  MSA_REQUIRE(good, Index, "mm: the sparse matrix has a place outside its ", n_columns,
              " columns; see torch.sparse.check_sparse_tensor_invariants");
}

}  // namespace cpu

namespace {

template <class T>
void multiply(const Tensor& ends, const Tensor& columns, const Tensor& values, const Tensor& other,
              const Tensor& out) {
  const Tensor factors = cpu::contiguous(values, dtype_of<T>::value),
               dense = cpu::contiguous(other, dtype_of<T>::value);
  const int64_t n_rows = ends.numel() - 1, width = other.sizes()[1];
  const int64_t work = (columns.numel() / std::max<int64_t>(n_rows, 1) + 1) * (width + 1);
  cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
    const cpu::CsrMatrix<T> matrix{ends.data<int64_t>(), columns.data<int64_t>(),
                                   factors.data<T>()};
    const T* from = dense.data<T>();
    T* into = to.data<T>();
    const cpu::CsrRows<T> rows = cpu::csr_rows<T>();
    const Unlocked unlocked(n_rows * work >= cpu::kGrain);
    cpu::parallel(n_rows, std::max<int64_t>(1, cpu::kGrain / work),
                  [&](int64_t begin, int64_t end) { rows(matrix, from, width, into, begin, end); });
  });
}

}  // namespace

namespace rules {

OutSpec csr_product(const Tensor& compressed_indices, const Tensor&, const Tensor& values,
                    const Tensor& other) {
  return {{compressed_indices.numel() - 1, other.sizes()[1]}, values.dtype()};
}

}  // namespace rules

namespace kernels {

void _csr_product(const Tensor& compressed_indices, const Tensor& plain_indices,
                  const Tensor& values, const Tensor& other, Tensor& out) {
  const Tensor ends = cpu::contiguous(compressed_indices, DType::I64),
               columns = cpu::contiguous(plain_indices, DType::I64);
  cpu::check_places(ends, columns, other.sizes()[0]);
  cpu::with_product_type(values.dtype(),
                         [&]<class T>() { multiply<T>(ends, columns, values, other, out); });
}

}  // namespace kernels
}  // namespace msa
