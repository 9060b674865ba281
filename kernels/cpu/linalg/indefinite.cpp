// Least squares, and factors of symmetric matrices that need not be positive-definite.
#include "generated/kernels_lapack.h"
#include "kernels/cpu/linalg/batch.h"

namespace msa {
namespace {

using namespace cpu::linalg;
using cpu::lapack::call;
using cpu::lapack::kComplex;

// One least-squares problem, as LAPACK keeps it: b holds B, then the solution in its first rows.
template <class T>
struct Problem {
  int rows, columns, sides;
  T* a;
  T* b;
  int b_leading;
};

template <class T>
int least_squares(std::string_view driver, const Problem<T>& p, Real<T> rcond, int& rank,
                  Real<T>* values) {
  const int m = p.rows, n = p.columns, k = p.sides, leading = std::max(1, m);
  if (driver == "gels") return call<"gels", T>('N', m, n, k, p.a, leading, p.b, p.b_leading);
  if (driver == "gelsy") {
    std::vector<int> order(static_cast<size_t>(n), 0);
    return call<"gelsy", T>(m, n, k, p.a, leading, p.b, p.b_leading, order.data(), rcond, &rank);
  }
  if (driver == "gelsd")
    return call<"gelsd", T>(m, n, k, p.a, leading, p.b, p.b_leading, values, rcond, &rank);
  return call<"gelss", T>(m, n, k, p.a, leading, p.b, p.b_leading, values, rcond, &rank);
}

// B with room for a solution that has more rows.
Columns right_hand_sides(const Tensor& B, int64_t rows) {
  Dims sizes = B.sizes();
  sizes[sizes.size() - 2] = rows;
  const Tensor room = empty_strided(sizes, column_major_strides(sizes), B.dtype());
  Layout used = room.layout();
  used.sizes = B.sizes();
  cpu::copy_into(alias(room, used), B);
  return Columns(room);
}

// LAPACK follows pivots without looking: each names a row, and negative ones mark blocks of two.
void require_pivots(const int* swap, int n) {
  for (int k = 0; k < n; ++k) {
    MSA_REQUIRE(swap[k] != 0 && std::abs(swap[k]) <= n, Runtime,
                "linalg.ldl_solve: pivots must lie in [1, ", n,
                "] or be their negatives, but one is ", swap[k],
                "; they must be what ldl_factor gives.");
  }
  for (int k = 0; k<n; k += swap[k]> 0 ? 1 : 2) {
    MSA_REQUIRE(swap[k] > 0 || (k + 1 < n && swap[k + 1] < 0), Runtime,
                "linalg.ldl_solve: negative pivots must come in pairs, as ldl_factor gives them.");
  }
}

}  // namespace

namespace kernels {

void _linalg_lstsq(const Tensor& A, const Tensor& B, double rcond, std::string_view driver,
                   Tensor& out, Tensor& rank, Tensor& values) {
  const Columns a = working_copy(A), x(out),
                b = right_hand_sides(B, std::max(A.size(-2), A.size(-1)));
  const int m = a.rows(), n = a.columns(), k = std::min(m, n);
  Failure failure;
  cpu::fill_contiguous(rank, DType::I64, [&](const Tensor& ranks) {
    cpu::fill_contiguous(values, values.dtype(), [&](const Tensor& singular) {
      for_dtype(A.dtype(), [&]<class T>() {
        each_matrix(matrices_in(A), 4.0 * m * n * (k + b.columns()), [&](int64_t i) {
          int found = 0;
          Real<T>* const s = singular.data<Real<T>>() + i * k;
          std::fill_n(s, k, Real<T>());
          T* const solution = b.matrix<T>(i);
          if (k && b.columns()) {
            const Problem<T> problem{m, n, b.columns(), a.matrix<T>(i), solution, b.leading()};
            failure.note(least_squares<T>(driver, problem, static_cast<Real<T>>(rcond), found, s));
          }
          ranks.data<int64_t>()[i] = found;
          for (int64_t j = 0; j < x.columns(); ++j) {
            T* const column = x.matrix<T>(i) + j * n;
            k ? std::copy_n(solution + j * b.rows(), n, column) : std::fill_n(column, n, T());
          }
        });
      });
    });
  });
  failure.raise_if("linalg.lstsq");
  x.store();
}

void _linalg_ldl(const Tensor& input, bool hermitian, Tensor& out, Tensor& pivots, Tensor& info) {
  const Columns a(out, input);
  const int n = a.rows();
  cpu::fill_contiguous(pivots, DType::I32, [&](const Tensor& swaps) {
    cpu::fill_contiguous(info, DType::I32, [&](const Tensor& codes) {
      for_dtype(out.dtype(), [&]<class T>() {
        each_matrix(codes.numel(), cubed(n) / 3, [&](int64_t i) {
          int &code = codes.data<int>()[i], *const swap = swaps.data<int>() + i * n;
          T* const m = a.matrix<T>(i);
          code = 0;
          if (n == 0) return;
          if constexpr (kComplex<T>) {
            if (hermitian) code = call<"hetrf", T>('L', n, m, n, swap);
          }
          if (!hermitian || !kComplex<T>) code = call<"sytrf", T>('L', n, m, n, swap);
          clear_triangle(m, n, n, true);
        });
      });
    });
  });
  a.store();
}

void _linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian,
                       Tensor& out) {
  const Columns a = working_copy(LD), b(out, B);
  const int n = a.rows();
  const Tensor swaps = cpu::contiguous(pivots);
  for (int64_t i = 0; n && i < matrices_in(out); ++i) require_pivots(swaps.data<int>() + i * n, n);
  for_dtype(out.dtype(), [&]<class T>() {
    each_matrix(
        n && b.columns() ? matrices_in(out) : 0, static_cast<double>(n) * n * b.columns(),
        [&](int64_t i) {
          const int* const swap = swaps.data<int>() + i * n;
          const T* const factors = a.matrix<T>(i);
          if constexpr (kComplex<T>) {
            if (hermitian) {
              call<"hetrs", T>('L', n, b.columns(), factors, n, swap, b.matrix<T>(i), b.leading());
              return;
            }
          }
          call<"sytrs", T>('L', n, b.columns(), factors, n, swap, b.matrix<T>(i), b.leading());
        });
  });
  b.store();
}

}  // namespace kernels
}  // namespace msa
