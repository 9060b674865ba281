// Elimination for matrices so small that a call of LAPACK costs more than its work.
#pragma once
#include <utility>

#include "kernels/cpu/linalg/batch.h"

namespace msa::cpu::linalg {

constexpr int kSmall = 12;  // rows and columns up to which this is the faster way

// How LAPACK measures candidates for a pivot.
template <class T>
inline Real<T> pivot_size(T x) {
  if constexpr (lapack::kComplex<T>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

// What getrf does: L and U in a's place, the swapped rows counted from one, and the first zero
// pivot.
template <class T>
int eliminate(int rows, int columns, T* a, int* swap) {
  int info = 0;
  for (int j = 0; j < std::min(rows, columns); ++j) {
    T* const column = a + j * rows;
    int best = j;
    for (int i = j + 1; i < rows; ++i) {
      if (pivot_size(column[i]) > pivot_size(column[best])) best = i;
    }
    swap[j] = best + 1;
    if (column[best] == T()) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (best != j) {
      for (int k = 0; k < columns; ++k) std::swap(a[k * rows + j], a[k * rows + best]);
    }
    for (int i = j + 1; i < rows; ++i) column[i] /= column[j];
    for (int k = j + 1; k < columns; ++k) {
      T* const other = a + k * rows;
      for (int i = j + 1; i < rows; ++i) other[i] -= column[i] * other[j];
    }
  }
  return info;
}

// What getrs does: b := A^-1 b from the factors of an n x n matrix.
template <class T>
void substitute(int n, int sides, const T* a, const int* swap, T* b) {
  for (int side = 0; side < sides; ++side, b += n) {
    for (int j = 0; j < n; ++j) std::swap(b[j], b[swap[j] - 1]);
    for (int j = 0; j < n; ++j) {
      for (int i = j + 1; i < n; ++i) b[i] -= a[j * n + i] * b[j];
    }
    for (int j = n - 1; j >= 0; --j) {
      b[j] /= a[j * n + j];
      for (int i = 0; i < j; ++i) b[i] -= a[j * n + i] * b[j];
    }
  }
}

}  // namespace msa::cpu::linalg
