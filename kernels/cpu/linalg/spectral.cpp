// Eigenvalues and singular values.
#include "generated/kernels_lapack.h"
#include "kernels/cpu/linalg/batch.h"

namespace msa {
namespace {

using namespace cpu::linalg;
using cpu::lapack::call;
using cpu::lapack::kComplex;

// LAPACK gives a real matrix' eigenvalues in two arrays and, of a conjugate pair, one vector's two
// parts in two columns.
template <class R>
void join_pairs(int n, const R* re, const R* im, const R* parts, std::complex<R>* values,
                std::complex<R>* vectors) {
  for (int j = 0; j < n; ++j) values[j] = {re[j], im[j]};
  if (!vectors) return;
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = im[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const std::complex<R> v{parts[j * n + i], pair ? parts[(j + 1) * n + i] : R()};
      vectors[j * n + i] = v;
      if (pair) vectors[(j + 1) * n + i] = std::conj(v);
    }
    j += pair;
  }
}

template <class T>
int eig(int n, T* a, std::complex<Real<T>>* values, std::complex<Real<T>>* vectors) {
  const char job = vectors ? 'V' : 'N';
  if constexpr (kComplex<T>) {
    return call<"geev", T>('N', job, n, a, n, values, static_cast<T*>(nullptr), 1, vectors, n);
  } else {
    const auto size = static_cast<size_t>(n);
    std::vector<T> re(size), im(size), parts(vectors ? size * size : 1);
    const int info = call<"geev", T>('N', job, n, a, n, re.data(), im.data(),
                                     static_cast<T*>(nullptr), 1, parts.data(), n);
    join_pairs(n, re.data(), im.data(), parts.data(), values, vectors);
    return info;
  }
}

// Without singular values any basis will do; full matrices may still have rows.
void fill_identity(bool wanted, const Tensor& u_out, const Tensor& vh_out) {
  for (const Tensor* out : {&u_out, &vh_out}) {
    if (!wanted || out->numel() == 0) continue;
    const Columns basis(*out);
    for_dtype(out->dtype(), [&]<class T>() {
      for (int64_t i = 0; i < matrices_in(*out); ++i) {
        T* const m = basis.matrix<T>(i);
        std::fill_n(m, static_cast<int64_t>(basis.rows()) * basis.columns(), T());
        for (int64_t d = 0; d < std::min(basis.rows(), basis.columns()); ++d)
          m[d * basis.rows() + d] = 1;
      }
    });
    basis.store();
  }
}

}  // namespace

namespace kernels {

void _linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v, Tensor& w_out,
                  Tensor& v_out) {
  const Columns a = compute_v ? Columns(v_out, A) : working_copy(A);
  const int n = a.rows();
  const char job = compute_v ? 'V' : 'N', triangle = UPLO == "U" || UPLO == "u" ? 'U' : 'L';
  Failure failure;
  cpu::fill_contiguous(w_out, w_out.dtype(), [&](const Tensor& w) {
    for_dtype(A.dtype(), [&]<class T>() {
      each_matrix(n ? matrices_in(A) : 0, 9 * cubed(n), [&](int64_t i) {
        Real<T>* const values = w.data<Real<T>>() + i * n;
        if constexpr (kComplex<T>)
          failure.note(call<"heevd", T>(job, triangle, n, a.matrix<T>(i), n, values));
        else
          failure.note(call<"syevd", T>(job, triangle, n, a.matrix<T>(i), n, values));
      });
    });
  });
  failure.raise_if("linalg.eigh");
  if (compute_v) a.store();
}

void _linalg_eig(const Tensor& A, bool compute_v, Tensor& w_out, Tensor& v_out) {
  const Columns a = working_copy(A), v(v_out);
  const int n = a.rows();
  Failure failure;
  cpu::fill_contiguous(w_out, w_out.dtype(), [&](const Tensor& w) {
    for_dtype(A.dtype(), [&]<class T>() {
      using C = std::complex<Real<T>>;
      each_matrix(n ? matrices_in(A) : 0, 25 * cubed(n), [&](int64_t i) {
        failure.note(
            eig<T>(n, a.matrix<T>(i), w.data<C>() + i * n, compute_v ? v.matrix<C>(i) : nullptr));
      });
    });
  });
  failure.raise_if("linalg.eig");
  if (compute_v) v.store();
}

void _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv, Tensor& u_out, Tensor& s_out,
                 Tensor& vh_out) {
  const Columns a = working_copy(A), u(u_out), vh(vh_out);
  const int m = a.rows(), n = a.columns(), k = std::min(m, n);
  if (k == 0) return fill_identity(compute_uv, u_out, vh_out);
  const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
  Failure failure;
  cpu::fill_contiguous(s_out, s_out.dtype(), [&](const Tensor& s) {
    for_dtype(A.dtype(), [&]<class T>() {
      each_matrix(matrices_in(A), 20.0 * m * n * k, [&](int64_t i) {
        T *const left = compute_uv ? u.matrix<T>(i) : nullptr, *const right = compute_uv
                                                                                  ? vh.matrix<T>(i)
                                                                                  : nullptr;
        failure.note(call<"gesdd", T>(job, m, n, a.matrix<T>(i), m, s.data<Real<T>>() + i * k, left,
                                      m, right, compute_uv ? vh.leading() : 1));
      });
    });
  });
  failure.raise_if("linalg.svd");
  if (!compute_uv) return;
  u.store();
  vh.store();
}

}  // namespace kernels
}  // namespace msa
