// Shapes of factorizations: batches of matrices in column-major order, the checks of their
// operands.
#include "generated/rules_lapack.h"

namespace msa::rules {
namespace {

OutSpec matrices(const Tensor& like, int64_t rows, int64_t columns, DType dtype) {
  Dims sizes = like.sizes();
  const size_t n = sizes.size();
  sizes[n - 2] = rows;
  sizes[n - 1] = columns;
  Dims strides = contiguous_strides(sizes);
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(1, rows);
  return {sizes, dtype, strides};
}
OutSpec matrices(const Tensor& like, int64_t rows, int64_t columns) {
  return matrices(like, rows, columns, like.dtype());
}
OutSpec same(const Tensor& a) { return matrices(a, a.size(-2), a.size(-1)); }

Dims batch_of(const Tensor& a) { return Dims(DimsView(a.sizes()).first(a.sizes().size() - 2)); }
OutSpec vectors(const Tensor& a, int64_t n, DType dtype) {
  Dims sizes = batch_of(a);
  sizes.push_back(n);
  return {sizes, dtype};
}
OutSpec codes(const Tensor& a) { return {batch_of(a), DType::I32}; }
OutSpec nothing(DType dtype) { return {{0}, dtype}; }

int64_t smaller(const Tensor& a) { return std::min(a.size(-2), a.size(-1)); }

void require_matrices(std::string_view op, const Tensor& a) {
  MSA_REQUIRE(a.dim() >= 2, Runtime, op,
              ": The input tensor must have at least 2 dimensions, but its shape is ",
              DimsView(a.sizes()), ".");
  MSA_REQUIRE(is_inexact(a.dtype()), Runtime, op,
              ": Expected a floating point or complex tensor as input, but got ", a.dtype(), ".");
  MSA_REQUIRE(a.dtype() < DType::C32 && !is_half(a.dtype()), Runtime, op,
              ": Low precision dtypes not supported, but got ", a.dtype(),
              "; convert with .float() first.");
}
void require_square(std::string_view op, const Tensor& a) {
  require_matrices(op, a);
  MSA_REQUIRE(a.size(-1) == a.size(-2), Runtime, op,
              ": A must be batches of square matrices, but they are ", a.size(-2), " by ",
              a.size(-1), " matrices.");
}
void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  MSA_REQUIRE(a.dtype() == b.dtype(), Runtime, op,
              ": Expected A and B to have the same dtype, but found A of type ", a.dtype(),
              " and B of type ", b.dtype(), " instead.");
}

void require_reflectors(std::string_view op, const Tensor& input, const Tensor& tau) {
  require_matrices(op, input);
  MSA_REQUIRE(tau.dim() == input.dim() - 1 &&
                  batch_of(input) == Dims(DimsView(tau.sizes()).first(tau.sizes().size() - 1)) &&
                  input.size(-1) >= tau.size(-1),
              Runtime, op,
              ": input.shape[-1] must be greater than or equal to tau.shape[-1], with equal "
              "batches; the shapes are ",
              DimsView(input.sizes()), " and ", DimsView(tau.sizes()), ".");
  MSA_REQUIRE(input.dtype() == tau.dtype(), Runtime, op, ": tau dtype ", tau.dtype(),
              " does not match input dtype ", input.dtype(), ".");
}

}  // namespace

std::array<OutSpec, 2> linalg_cholesky(const Tensor& input, bool) {
  require_square("linalg.cholesky", input);
  return {same(input), codes(input)};
}

std::array<OutSpec, 3> linalg_lu(const Tensor& A) {
  require_matrices("linalg.lu_factor", A);
  return {same(A), vectors(A, smaller(A), DType::I32), codes(A)};
}

OutSpec linalg_permutation(const Tensor& pivots, int64_t rows) {
  MSA_REQUIRE(pivots.dtype() == DType::I32 && pivots.dim() >= 1 && pivots.size(-1) <= rows, Runtime,
              "lu_unpack: LU_pivots is expected to hold at most ", rows,
              " swaps for each matrix as torch.int32, but got ", pivots,
              "; these are what lu_factor gives.");
  Dims sizes = pivots.sizes();
  sizes.back() = rows;
  return {sizes, DType::I64};
}

std::array<OutSpec, 2> linalg_solve(const Tensor& A, const Tensor& B) {
  require_square("linalg.solve", A);
  require_same_dtype("linalg.solve", A, B);
  MSA_REQUIRE(A.size(-1) == B.size(-2), Runtime,
              "linalg.solve: Incompatible shapes of A and B for the equation AX = B (", A.size(-2),
              "x", A.size(-1), " and ", B.size(-2), "x", B.size(-1), ").");
  return {same(B), codes(B)};
}

std::array<OutSpec, 2> linalg_inv(const Tensor& A) {
  require_square("linalg.inv", A);
  return {same(A), codes(A)};
}

OutSpec linalg_triangular(const Tensor& A, const Tensor& B, bool, bool left, bool) {
  require_square("linalg.solve_triangular", A);
  require_same_dtype("linalg.solve_triangular", A, B);
  MSA_REQUIRE(A.size(-1) == B.size(left ? -2 : -1), Runtime,
              "linalg.solve_triangular: Incompatible shapes of A and B: ", DimsView(A.sizes()),
              " and ", DimsView(B.sizes()), ".");
  return same(B);
}

std::array<OutSpec, 2> geqrf(const Tensor& input) {
  require_matrices("geqrf", input);
  return {same(input), vectors(input, smaller(input), input.dtype())};
}

OutSpec linalg_householder_product(const Tensor& input, const Tensor& tau) {
  require_reflectors("linalg.householder_product", input, tau);
  MSA_REQUIRE(input.size(-2) >= input.size(-1), Runtime,
              "linalg.householder_product: input.shape[-2] must be greater than or equal to "
              "input.shape[-1], but the shape is ",
              DimsView(input.sizes()), ".");
  return same(input);
}

OutSpec ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool) {
  require_reflectors("ormqr", input, tau);
  require_same_dtype("ormqr", input, other);
  const int64_t side = left ? -2 : -1;
  MSA_REQUIRE(other.dim() == input.dim() && batch_of(other) == batch_of(input) &&
                  other.size(side) == input.size(-2),
              Runtime, "ormqr: other.shape[", side,
              "] must be equal to input.shape[-2], with equal batches; the shapes are ",
              DimsView(other.sizes()), " and ", DimsView(input.sizes()), ".");
  MSA_REQUIRE(tau.size(-1) == std::min(other.size(side), input.size(-1)), Runtime,
              "ormqr: tau.shape[-1] must be equal to min(other.shape[", side,
              "], input.shape[-1]), but the shapes are ", DimsView(tau.sizes()), ", ",
              DimsView(other.sizes()), " and ", DimsView(input.sizes()), ".");
  return same(other);
}

std::array<OutSpec, 2> linalg_qr(const Tensor& A, std::string_view mode) {
  require_matrices("linalg.qr", A);
  MSA_REQUIRE(mode == "reduced" || mode == "complete" || mode == "r", Runtime,
              "linalg.qr: received unrecognized mode '", mode,
              "' but expected one of 'reduced' (default), 'r', or 'complete'.");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n),
                basis = mode == "complete" ? m : k;
  return {mode == "r" ? nothing(A.dtype()) : matrices(A, m, basis), matrices(A, basis, n)};
}

std::array<OutSpec, 2> linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  require_square("linalg.eigh", A);
  MSA_REQUIRE(UPLO == "L" || UPLO == "U" || UPLO == "l" || UPLO == "u", Runtime,
              "linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got ", UPLO, ".");
  return {vectors(A, A.size(-1), to_real(A.dtype())), compute_v ? same(A) : nothing(A.dtype())};
}

std::array<OutSpec, 2> linalg_eig(const Tensor& A, bool) {
  require_square("linalg.eig", A);
  const DType dtype = to_complex(A.dtype());
  return {vectors(A, A.size(-1), dtype), matrices(A, A.size(-2), A.size(-1), dtype)};
}

std::array<OutSpec, 3> linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv) {
  require_matrices("linalg.svd", A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const OutSpec values = vectors(A, k, to_real(A.dtype()));
  if (!compute_uv) return {matrices(A, 0, 0), values, matrices(A, 0, 0)};
  return {matrices(A, m, full_matrices ? m : k), values, matrices(A, full_matrices ? n : k, n)};
}

std::array<OutSpec, 3> linalg_lstsq(const Tensor& A, const Tensor& B, double, std::string_view) {
  require_matrices("linalg.lstsq", A);
  require_same_dtype("linalg.lstsq", A, B);
  // The solution lies where LAPACK had the right-hand sides, which may be longer.
  OutSpec solution = matrices(B, A.size(-1), B.size(-1));
  int64_t stride = std::max<int64_t>({1, A.size(-2), A.size(-1)});
  for (size_t d = solution.sizes.size(); d-- > 0;) {
    if (d + 2 == solution.sizes.size()) continue;
    solution.strides[d] = stride;
    stride *= std::max<int64_t>(1, solution.sizes[d]);
  }
  return {solution, OutSpec{batch_of(A), DType::I64}, vectors(A, smaller(A), to_real(A.dtype()))};
}

std::array<OutSpec, 3> linalg_ldl(const Tensor& input, bool) {
  require_square("linalg.ldl_factor", input);
  return {same(input), vectors(input, input.size(-1), DType::I32), codes(input)};
}

OutSpec linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool) {
  require_square("linalg.ldl_solve", LD);
  require_same_dtype("linalg.ldl_solve", LD, B);
  MSA_REQUIRE(pivots.dtype() == DType::I32, Runtime,
              "linalg.ldl_solve: Expected pivots to be int32, as ldl_factor gives them, but got ",
              pivots.dtype(), ".");
  return same(B);
}

}  // namespace msa::rules
