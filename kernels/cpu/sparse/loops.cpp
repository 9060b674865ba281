// A CSR matrix times a dense one, row by row: each element adds a multiple of a dense row.
#ifndef MSA_ISA
#include "kernels/cpu/sparse/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/sparse/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_CSR_ROWS(T)                                                 \
  template <>                                                           \
  CsrRows<T> csr_rows<T>() {                                            \
    static const CsrRows<T>* const chosen = MSA_CHOOSE(csr_rows_of<T>); \
    return *chosen;                                                     \
  }
MSA_CSR_ROWS(float)
MSA_CSR_ROWS(double)
MSA_CSR_ROWS(c64)
MSA_CSR_ROWS(c128)
MSA_CSR_ROWS(int64_t)
#undef MSA_CSR_ROWS
}  // namespace msa::cpu
#else
namespace sparse {

template <class T>
void add_multiple(T factor, const T* __restrict from, T* __restrict to, int64_t n) {
  for (int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
}

// Complex numbers as pairs: std::complex's own product looks for infinities first.
template <class R>
void add_multiple_of_pairs(R re, R im, const R* __restrict from, R* __restrict to, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const R a = from[2 * j], b = from[2 * j + 1];
    to[2 * j] += re * a - im * b;
    to[2 * j + 1] += re * b + im * a;
  }
}
inline void add_multiple(c64 factor, const c64* from, c64* to, int64_t n) {
  const float* parts = reinterpret_cast<const float*>(&factor);
  add_multiple_of_pairs(parts[0], parts[1], reinterpret_cast<const float*>(from),
                        reinterpret_cast<float*>(to), n);
}
inline void add_multiple(c128 factor, const c128* from, c128* to, int64_t n) {
  const double* parts = reinterpret_cast<const double*>(&factor);
  add_multiple_of_pairs(parts[0], parts[1], reinterpret_cast<const double*>(from),
                        reinterpret_cast<double*>(to), n);
}

// One column: sums of products.
template <class T>
void rows_of_vector(const CsrMatrix<T>& m, const T* other, T* out, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    T sum{};
    for (int64_t k = m.ends[r]; k < m.ends[r + 1]; ++k) sum += m.values[k] * other[m.columns[k]];
    out[r] = sum;
  }
}

template <class T>
void rows(const CsrMatrix<T>& m, const T* other, int64_t width, T* out, int64_t begin,
          int64_t end) {
  if (width == 1) return rows_of_vector(m, other, out, begin, end);
  for (int64_t r = begin; r < end; ++r) {
    T* to = out + r * width;
    for (int64_t j = 0; j < width; ++j) to[j] = T{};
    for (int64_t k = m.ends[r]; k < m.ends[r + 1]; ++k)
      add_multiple(m.values[k], other + m.columns[k] * width, to, width);
  }
}

}  // namespace sparse

template <class T>
inline constexpr CsrRows<T> csr_rows_of = sparse::rows<T>;
#endif
