// The product of two CSR matrices, row by row: what a row meets is gathered in one dense row.
#include <algorithm>
#include <vector>

#include "core/base/lock.h"
#include "generated/kernels_sparse.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/sparse/check.h"
#include "kernels/cpu/sparse/loops.h"

namespace msa {
namespace {

// The result as it grows.
template <class T>
struct Grown {
  std::vector<int64_t> ends{0}, columns;
  std::vector<T> values;
};

// The columns from `begin` on in order: sorted, or found again among all where they are many.
void order_columns(std::vector<int64_t>& columns, size_t begin, const std::vector<int64_t>& met_in,
                   int64_t row) {
  const size_t n = columns.size() - begin;
  if (n * 16 < met_in.size()) {
    std::sort(columns.begin() + static_cast<int64_t>(begin), columns.end());
    return;
  }
  int64_t* next = columns.data() + begin;
  for (size_t c = 0; c < met_in.size(); ++c)
    if (met_in[c] == row) *next++ = static_cast<int64_t>(c);
}

template <class T>
Grown<T> multiply_rows(const cpu::CsrMatrix<T>& a, int64_t n_rows, const cpu::CsrMatrix<T>& b,
                       int64_t n_columns) {
  Grown<T> out;
  std::vector<T> sums(static_cast<size_t>(n_columns));
  std::vector<int64_t> met_in(static_cast<size_t>(n_columns), -1);  // the last row that met it
  for (int64_t r = 0; r < n_rows; ++r) {
    const size_t begin = out.columns.size();
    for (int64_t k = a.ends[r]; k < a.ends[r + 1]; ++k) {
      const T factor = a.values[k];
      for (int64_t j = b.ends[a.columns[k]]; j < b.ends[a.columns[k] + 1]; ++j) {
        const auto column = static_cast<size_t>(b.columns[j]);
        if (met_in[column] != r) {
          met_in[column] = r;
          sums[column] = T{};
          out.columns.push_back(b.columns[j]);
        }
        sums[column] += factor * b.values[j];
      }
    }
    order_columns(out.columns, begin, met_in, r);
    for (size_t i = begin; i < out.columns.size(); ++i)
      out.values.push_back(sums[static_cast<size_t>(out.columns[i])]);
    out.ends.push_back(static_cast<int64_t>(out.columns.size()));
  }
  return out;
}

template <class T>
Tensor tensor_of(const std::vector<T>& list) {
  Tensor t = empty(Dims{static_cast<int64_t>(list.size())}, dtype_of<T>::value);
  std::copy(list.begin(), list.end(), t.data<T>());
  return t;
}

template <class T>
std::tuple<Tensor, Tensor, Tensor> product(const Tensor& ends, const Tensor& columns,
                                           const Tensor& values, const Tensor& other_ends,
                                           const Tensor& other_columns, const Tensor& other_values,
                                           int64_t n_columns) {
  const Tensor mine = cpu::contiguous(values, dtype_of<T>::value),
               theirs = cpu::contiguous(other_values, dtype_of<T>::value);
  Grown<T> grown;
  {
    const Unlocked unlocked(true);
    grown = multiply_rows<T>(
        {ends.data<int64_t>(), columns.data<int64_t>(), mine.data<T>()}, ends.numel() - 1,
        {other_ends.data<int64_t>(), other_columns.data<int64_t>(), theirs.data<T>()}, n_columns);
  }
  Tensor made = tensor_of(grown.values);
  if (values.dtype() != made.dtype()) made = cpu::copied(made, values.dtype());
  return {tensor_of(grown.ends), tensor_of(grown.columns), made};
}

}  // namespace

namespace kernels {

std::tuple<Tensor, Tensor, Tensor> _csr_csr_product(const Tensor& compressed_indices,
                                                    const Tensor& plain_indices,
                                                    const Tensor& values,
                                                    const Tensor& other_compressed_indices,
                                                    const Tensor& other_plain_indices,
                                                    const Tensor& other_values, int64_t n_columns) {
  const Tensor ends = cpu::contiguous(compressed_indices, DType::I64),
               columns = cpu::contiguous(plain_indices, DType::I64),
               other_ends = cpu::contiguous(other_compressed_indices, DType::I64),
               other_columns = cpu::contiguous(other_plain_indices, DType::I64);
  cpu::check_places(ends, columns, other_ends.numel() - 1);
  cpu::check_places(other_ends, other_columns, n_columns);
  return cpu::with_product_type(values.dtype(), [&]<class T>() {
    return product<T>(ends, columns, values, other_ends, other_columns, other_values, n_columns);
  });
}

}  // namespace kernels
}  // namespace msa
