// Triangular factors: Cholesky, LU and QR, and what LAPACK solves with them.
#include <array>

#include "generated/kernels_lapack.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/small.h"

namespace msa {
namespace {

using namespace cpu::linalg;
using cpu::lapack::call;
using cpu::lapack::kComplex;

template <class T>
int orthogonal_columns(int rows, int columns, int reflectors, T* a, int leading, const T* tau) {
  if constexpr (kComplex<T>)
    return call<"ungqr", T>(rows, columns, reflectors, a, leading, tau);
  else
    return call<"orgqr", T>(rows, columns, reflectors, a, leading, tau);
}

// Q or its adjoint times c, or c times it, from the reflectors below a's diagonal.
template <class T>
int multiply_by_q(bool left, bool adjoint, const Columns& c, T* to, int reflectors, const T* a,
                  int leading, const T* tau) {
  const char side = left ? 'L' : 'R';
  if constexpr (kComplex<T>)
    return call<"unmqr", T>(side, adjoint ? 'C' : 'N', c.rows(), c.columns(), reflectors, a,
                            leading, tau, to, c.leading());
  else
    return call<"ormqr", T>(side, adjoint ? 'T' : 'N', c.rows(), c.columns(), reflectors, a,
                            leading, tau, to, c.leading());
}

template <class T>
int factor(int rows, int columns, T* a, int* swap) {
  if (std::max(rows, columns) <= kSmall) return eliminate(rows, columns, a, swap);
  return call<"getrf", T>(rows, columns, a, rows, swap);
}

// b := A^-1 b, with A's factors in its place. A singular matrix is divided by its zeros, so
// infinities and NaN say what it is.
template <class T>
int solve_one(int n, int sides, T* a, T* b) {
  if (n <= kSmall) {
    std::array<int, kSmall> swap{};
    const int code = eliminate(n, n, a, swap.data());
    substitute(n, sides, a, swap.data(), b);
    return code;
  }
  std::vector<int> swap(static_cast<size_t>(n));
  const int code = factor(n, n, a, swap.data());
  if (sides > 0) {
    call<"getrs", T>('N', n, sides, static_cast<const T*>(a), n,
                     static_cast<const int*>(swap.data()), b, n);
  }
  return code;
}

void solve_all(const Tensor& A, const Columns& b, const Tensor& info) {
  const Columns a = working_copy(A);
  const int n = a.rows();
  cpu::fill_contiguous(info, DType::I32, [&](const Tensor& codes) {
    int* const code = codes.data<int>();
    for_dtype(A.dtype(), [&]<class T>() {
      each_matrix(codes.numel(), cubed(n) + 2.0 * n * n * b.columns(), [&](int64_t i) {
        code[i] = n ? solve_one(n, b.columns(), a.matrix<T>(i), b.matrix<T>(i)) : 0;
      });
    });
  });
}

}  // namespace

namespace kernels {

void _linalg_cholesky(const Tensor& input, bool upper, Tensor& out, Tensor& info) {
  const Columns a(out, input);
  cpu::fill_contiguous(info, DType::I32, [&](const Tensor& codes) {
    int* const code = codes.data<int>();
    cpu::linalg::for_dtype(out.dtype(), [&]<class T>() {
      each_matrix(codes.numel(), cubed(a.rows()) / 3, [&](int64_t i) {
        T* m = a.matrix<T>(i);
        code[i] = a.rows() ? call<"potrf", T>(upper ? 'U' : 'L', a.rows(), m, a.leading()) : 0;
        clear_triangle(m, a.rows(), a.rows(), !upper);
      });
    });
  });
  a.store();
}

void _linalg_lu(const Tensor& A, Tensor& out, Tensor& pivots, Tensor& info) {
  const Columns a(out, A);
  const int k = std::min(a.rows(), a.columns());
  cpu::fill_contiguous(pivots, DType::I32, [&](const Tensor& swaps) {
    cpu::fill_contiguous(info, DType::I32, [&](const Tensor& codes) {
      int *const swap = swaps.data<int>(), *const code = codes.data<int>();
      for_dtype(out.dtype(), [&]<class T>() {
        each_matrix(codes.numel(), cubed(k), [&](int64_t i) {
          code[i] = k ? factor(a.rows(), a.columns(), a.matrix<T>(i), swap + i * k) : 0;
        });
      });
    });
  });
  a.store();
}

void _linalg_permutation(const Tensor& pivots, int64_t rows, Tensor& out) {
  const Tensor swaps = cpu::contiguous(pivots);
  const int64_t k = pivots.size(-1);
  cpu::fill_contiguous(out, DType::I64, [&](const Tensor& to) {
    for (int64_t i = 0; i < (rows ? to.numel() / rows : 0); ++i) {
      int64_t* order = to.data<int64_t>() + i * rows;
      for (int64_t r = 0; r < rows; ++r) order[r] = r;
      for (int64_t r = 0; r < k; ++r) {
        const int64_t other = swaps.data<int>()[i * k + r] - 1;
        MSA_REQUIRE(other >= 0 && other < rows, Runtime, "lu_unpack: pivots must lie in [1, ", rows,
                    "], but one is ", other + 1, "; they must be what lu_factor gives.");
        std::swap(order[r], order[other]);
      }
    }
  });
}

void _linalg_solve(const Tensor& A, const Tensor& B, Tensor& out, Tensor& info) {
  const Columns b(out, B);
  solve_all(A, b, info);
  b.store();
}

void _linalg_inv(const Tensor& A, Tensor& out, Tensor& info) {
  const Columns b(out);
  for_dtype(out.dtype(), [&]<class T>() {
    const int64_t n = b.rows();
    for (int64_t i = 0; i < matrices_in(out); ++i) {
      std::fill_n(b.matrix<T>(i), n * n, T());
      for (int64_t d = 0; d < n; ++d) b.matrix<T>(i)[d * n + d] = 1;
    }
  });
  solve_all(A, b, info);
  b.store();
}

void _linalg_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                        Tensor& out) {
  const Columns a = working_copy(A), b(out, B);
  for_dtype(out.dtype(), [&]<class T>() {
    const double work = static_cast<double>(a.rows()) * b.rows() * b.columns();
    each_matrix(matrices_in(out), work, [&](int64_t i) {
      cpu::lapack::solve_triangular<T>(left, upper, unitriangular, b.rows(), b.columns(),
                                       a.matrix<T>(i), a.leading(), b.matrix<T>(i), b.leading());
    });
  });
  b.store();
}

void geqrf(const Tensor& input, Tensor& out, Tensor& tau) {
  const Columns a(out, input);
  const int k = std::min(a.rows(), a.columns());
  cpu::fill_contiguous(tau, out.dtype(), [&](const Tensor& factors) {
    for_dtype(out.dtype(), [&]<class T>() {
      each_matrix(matrices_in(out), 2 * cubed(k), [&](int64_t i) {
        if (k)
          call<"geqrf", T>(a.rows(), a.columns(), a.matrix<T>(i), a.leading(),
                           factors.data<T>() + i * k);
      });
    });
  });
  a.store();
}

void linalg_householder_product(const Tensor& input, const Tensor& tau, Tensor& out) {
  const Columns q(out, input);
  const Tensor factors = cpu::contiguous(tau);
  const int m = q.rows(), n = q.columns(), k = static_cast<int>(tau.size(-1));
  for_dtype(out.dtype(), [&]<class T>() {
    each_matrix(n ? matrices_in(out) : 0, 4.0 * m * n * k, [&](int64_t i) {
      orthogonal_columns<T>(m, n, k, q.matrix<T>(i), q.leading(), factors.data<T>() + i * k);
    });
  });
  q.store();
}

void ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool transpose,
           Tensor& out) {
  const Columns a = working_copy(input), c(out, other);
  const Tensor factors = cpu::contiguous(tau);
  const int k = static_cast<int>(tau.size(-1));
  for_dtype(out.dtype(), [&]<class T>() {
    each_matrix(out.numel() ? matrices_in(out) : 0, 4.0 * c.rows() * c.columns() * k,
                [&](int64_t i) {
                  multiply_by_q<T>(left, transpose, c, c.matrix<T>(i), k, a.matrix<T>(i),
                                   a.leading(), factors.data<T>() + i * k);
                });
  });
  c.store();
}

void _linalg_qr(const Tensor& A, std::string_view mode, Tensor& q_out, Tensor& r_out) {
  const Columns a = working_copy(A), r(r_out);
  const bool wants_q = mode != "r";
  const Columns q = wants_q ? Columns(q_out) : a;
  const int m = a.rows(), n = a.columns(), k = std::min(m, n);
  for_dtype(A.dtype(), [&]<class T>() {
    each_matrix(matrices_in(A), 4 * cubed(k), [&](int64_t i) {
      std::vector<T> tau(static_cast<size_t>(k));
      T *const from = a.matrix<T>(i), *const upper = r.matrix<T>(i);
      if (k) call<"geqrf", T>(m, n, from, a.leading(), tau.data());
      for (int64_t j = 0; j < n; ++j) std::copy_n(from + j * m, r.rows(), upper + j * r.rows());
      clear_triangle(upper, r.rows(), n, false);
      if (!wants_q || m == 0) return;
      T* const basis = q.matrix<T>(i);
      std::copy_n(from, static_cast<int64_t>(m) * k, basis);
      std::fill(basis + static_cast<int64_t>(m) * k, basis + static_cast<int64_t>(m) * q.columns(),
                T());
      if (q.columns()) orthogonal_columns<T>(m, q.columns(), k, basis, q.leading(), tau.data());
    });
  });
  if (wants_q) q.store();
  r.store();
}

}  // namespace kernels
}  // namespace msa
