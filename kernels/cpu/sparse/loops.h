// The loops of sparse products, for each instruction set.
#pragma once
#include <cstdint>

namespace msa::cpu {

// A matrix by rows: row r has the elements ends[r] .. ends[r + 1], element k in column columns[k].
template <class T>
struct CsrMatrix {
  const int64_t* ends;
  const int64_t* columns;
  const T* values;
};

// Rows [begin, end) of the product with a contiguous matrix of `width` columns.
template <class T>
using CsrRows = void (*)(const CsrMatrix<T>& matrix, const T* other, int64_t width, T* out,
                         int64_t begin, int64_t end);
template <class T>
CsrRows<T> csr_rows();

}  // namespace msa::cpu
