// Cholesky, LU and what they solve, in torch.linalg's names and the older ones.
#include "core/autograd/meta.h"
#include "core/composed/matrices.h"
#include "core/dispatch/host.h"
#include "core/transforms/batched.h"
#include "generated/composed_matrix.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_lapack.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using namespace matrices;

// Raises for the first matrix whose code is not zero; '#' in the cause stands for the code.
void require_done(const char* op, const Tensor& info, std::string cause,
                  ErrorKind kind = ErrorKind::LinAlg) {
  if (info.device().is_meta()) return;
  const Tensor codes = ops::contiguous(in_host(innermost(info)));
  for (int64_t i = 0; i < codes.numel(); ++i) {
    const int code = codes.data<int>()[i];
    if (code == 0) continue;
    const std::string number = std::to_string(code);
    for (size_t at; (at = cause.find('#')) != std::string::npos;) cause.replace(at, 1, number);
    fail(kind, op, ": ", info.dim() ? cat("(Batch element ", i, "): ") : "", cause);
  }
}
constexpr const char* kNotPositive =
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order # is not positive-definite).";
constexpr const char* kSingularSolve = "The solver failed because the input matrix is singular.";
constexpr const char* kSingularInverse =
    "The diagonal element # is zero, the inversion could not be completed because the input "
    "matrix is singular.";
constexpr const char* kSingularFactor =
    "U[#,#] is zero and using it on lu_solve would result in a division by zero. If you still want "
    "the factors, call linalg.lu, or linalg.lu_factor_ex with check_errors=False.";
constexpr const char* kSingularDiagonal =
    "D[#,#] is zero and using it on ldl_solve would result in a division by zero. If you still "
    "want the factors, call linalg.ldl_factor_ex with check_errors=False.";

Dims batch_of(const Tensor& t) { return Dims(DimsView(t.sizes()).first(t.sizes().size() - 2)); }

Tensor with_batch(const Tensor& t, const Dims& batch) {
  Dims sizes = batch;
  sizes.push_back(t.size(-2));
  sizes.push_back(t.size(-1));
  return sizes == t.sizes() ? t : ops::expand(t, sizes);
}

void require_matrices(const char* op, const Tensor& t) {
  MSA_REQUIRE(t.dim() >= 2, Runtime, op,
              ": The input tensor must have at least 2 dimensions, but its shape is ",
              DimsView(t.sizes()), ".");
}
void require_square(const char* op, const Tensor& t) {
  require_matrices(op, t);
  MSA_REQUIRE(t.size(-1) == t.size(-2), Runtime, op,
              ": A must be batches of square matrices, but they are ", t.size(-2), " by ",
              t.size(-1), " matrices.");
}

// Both as batches of the same sizes.
void broadcast_batches(const char* op, Tensor& a, Tensor& b) {
  const Dims batch = broadcast_sizes(op, batch_of(a), batch_of(b));
  a = with_batch(a, batch);
  b = with_batch(b, batch);
}

// NumPy's old rule: B is a batch of vectors when its shape is A's without the last dimension.
bool is_vectors(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() &&
                          Dims(DimsView(a.sizes()).first(a.sizes().size() - 1)) == b.sizes());
}

// The codes of A's own matrices, of which broadcasting made copies.
Tensor unrepeated(Tensor codes, const Dims& batch) {
  while (codes.dim() > static_cast<int64_t>(batch.size())) {
    if (codes.size(0) == 0) return ops::zeros(batch, codes.dtype(), codes.device());
    codes = ops::select(codes, 0, 0);
  }
  for (int64_t d = 0; d < codes.dim(); ++d) {
    if (codes.size(d) == 0) return ops::zeros(batch, codes.dtype(), codes.device());
    if (batch[static_cast<size_t>(d)] == 1) codes = ops::narrow(codes, d, 0, 1);
  }
  return codes;
}

std::tuple<Tensor, Tensor> solved(const char* op, const Tensor& A, const Tensor& B, bool left) {
  require_square(op, A);
  const bool vectors = is_vectors(A, B);
  MSA_REQUIRE(left || !vectors, Runtime, op,
              ": Vector broadcasting of the left hand side is not supported for left=False. In "
              "this case linalg.solve is equivalent to B / A.squeeze(-1)");
  MSA_REQUIRE(B.dim() >= 1, Runtime, op, ": B must have at least one dimension.");
  Tensor a = left ? A : ops::transpose(A, -2, -1);
  Tensor b = vectors ? ops::unsqueeze(B, -1) : left ? B : ops::transpose(B, -2, -1);
  MSA_REQUIRE(b.dim() >= 2 && a.size(-1) == b.size(-2), Runtime, op,
              ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
              " (", A.size(-2), "x", A.size(-1), " and ", DimsView(B.sizes()), ").");
  broadcast_batches(op, a, b);
  auto [result, info] = ops::_linalg_solve(a, b);
  return {vectors ? ops::squeeze_dim(result, -1)
          : left  ? result
                  : ops::transpose(result, -2, -1),
          unrepeated(info, batch_of(A))};
}

Tensor triangular(const char* op, Tensor a, Tensor b, bool upper, bool left, bool unit) {
  require_matrices(op, a);
  require_matrices(op, b);
  broadcast_batches(op, a, b);
  return ops::_linalg_triangular(a, b, upper, left, unit);
}

// The sign of the permutation that the swaps make.
Tensor swap_sign(const Tensor& pivots, DType dtype) {
  const Tensor places =
      ops::arange_start_step(1, pivots.size(-1) + 1, 1, DType::I64, pivots.device());
  const Tensor swaps = ops::sum_dim(ops::ne(pivots, places), Dims{-1});
  const Tensor odd = ops::remainder(swaps, wrapped_number(Scalar(2)));
  return ops::to_dtype(
      ops::rsub(ops::mul(odd, wrapped_number(Scalar(2))), wrapped_number(Scalar(1))), dtype);
}

}  // namespace

// --- Cholesky
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& input, bool upper, bool check_errors) {
  auto result = ops::_linalg_cholesky(input, upper);
  if (check_errors) require_done("linalg.cholesky_ex", std::get<1>(result), kNotPositive);
  return result;
}
Tensor linalg_cholesky(const Tensor& input, bool upper) {
  const auto [factor, info] = ops::_linalg_cholesky(input, upper);
  require_done("linalg.cholesky", info, kNotPositive);
  return factor;
}
Tensor cholesky_solve(const Tensor& input, const Tensor& input2, bool upper) {
  require_matrices("cholesky_solve", input);
  require_square("cholesky_solve", input2);
  const Tensor other = adjoint(input2);
  const Tensor half =
      triangular("cholesky_solve", upper ? other : input2, input, false, true, false);
  return triangular("cholesky_solve", upper ? input2 : other, half, true, true, false);
}
Tensor cholesky_inverse(const Tensor& input, bool upper) {
  require_square("cholesky_inverse", input);
  const Tensor singular = ops::eq(diagonal(input), number(0));
  MSA_REQUIRE(singular.device().is_meta() || !value_of(ops::any(singular)).to<bool>(), LinAlg,
              "cholesky_inverse: a diagonal element is zero: the inversion could not be completed "
              "because the input matrix is singular.");
  return cholesky_solve(ops::to_dtype(identity(input), input.dtype()), input, upper);
}

// --- LU
std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                       bool check_errors) {
  MSA_REQUIRE(
      pivot, Runtime,
      "linalg.lu_factor: LU without pivoting is not implemented on the CPU; leave pivot=True.");
  auto result = ops::_linalg_lu(A);
  if (check_errors) {
    require_done("linalg.lu_factor_ex", std::get<2>(result), kSingularFactor, ErrorKind::Runtime);
  }
  return result;
}
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  auto [LU, pivots, info] = linalg_lu_factor_ex(A, pivot, false);
  require_done("linalg.lu_factor", info, kSingularFactor, ErrorKind::Runtime);
  return {LU, pivots};
}
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots) {
  require_matrices("lu_unpack", LU);
  Dims swaps = batch_of(LU);
  swaps.push_back(std::min(LU.size(-2), LU.size(-1)));
  MSA_REQUIRE(!unpack_pivots || pivots.sizes() == swaps, Runtime,
              "lu_unpack: LU_pivots must have the shape ", DimsView(swaps),
              ", as lu_factor gives them, but it is ", DimsView(pivots.sizes()), ".");
  const Tensor none = ops::empty({0}, LU.dtype(), LU.device());
  const Tensor P = unpack_pivots ? permutation(pivots, LU.size(-2), LU.dtype()) : none;
  if (!unpack_data) return {P, none, none};
  const int64_t k = std::min(LU.size(-2), LU.size(-1));
  const Tensor below = ops::tril(ops::narrow(LU, -1, 0, k), -1);
  return {P, ops::masked_fill(below, identity(below), number(1)),
          ops::triu(ops::narrow(LU, -2, 0, k))};
}
std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  MSA_REQUIRE(pivot, Runtime,
              "linalg.lu: LU without pivoting is not implemented on the CPU; leave pivot=True.");
  const auto [LU, pivots, info] = ops::_linalg_lu(A);
  return lu_unpack(LU, pivots, true, true);
}
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint_of) {
  const char* op = "linalg.lu_solve";
  require_square(op, LU);
  require_matrices(op, B);
  MSA_REQUIRE(pivots.sizes() == Dims(DimsView(LU.sizes()).first(LU.sizes().size() - 1)), Runtime,
              op,
              ": Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots of shape ",
              DimsView(pivots.sizes()), " and LU of shape ", DimsView(LU.sizes()), ".");
  if (!left) {  // X A = B is A^H X^H = B^H
    return adjoint(linalg_lu_solve(LU, pivots, adjoint(B), true, !adjoint_of));
  }
  const Tensor P = permutation(pivots, LU.size(-2), LU.dtype());
  if (!adjoint_of) {
    const Tensor half =
        triangular(op, LU, product(ops::transpose(P, -2, -1), B), false, true, true);
    return triangular(op, LU, half, true, true, false);
  }
  const Tensor other = adjoint(LU);
  const Tensor half = triangular(op, other, B, false, true, false);
  const Tensor unordered = triangular(op, other, half, true, true, true);
  const auto turned = [](const Tensor& t) { return ops::transpose(t, -2, -1); };
  return turned(product(turned(unordered), turned(P)));  // column-major, as solutions are
}

// --- solvers and inverses
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  auto result = solved("linalg.solve_ex", A, B, left);
  if (check_errors) require_done("linalg.solve_ex", std::get<1>(result), kSingularSolve);
  return result;
}
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  const auto [result, info] = solved("linalg.solve", A, B, left);
  require_done("linalg.solve", info, kSingularSolve);
  return result;
}
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  auto result = ops::_linalg_inv(A);
  if (check_errors) require_done("linalg.inv_ex", std::get<1>(result), kSingularInverse);
  return result;
}
Tensor linalg_inv(const Tensor& A) {
  const auto [inverse, info] = ops::_linalg_inv(A);
  require_done("linalg.inv", info, kSingularInverse);
  return inverse;
}
Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  return triangular("linalg.solve_triangular", A, B, upper, left, unitriangular);
}
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& input, const Tensor& A, bool upper,
                                            bool transpose, bool unitriangular) {
  require_square("triangular_solve", A);
  require_matrices("triangular_solve", input);
  Tensor a = A, b = input;
  broadcast_batches("triangular_solve", a, b);
  const Tensor turned = transpose ? ops::transpose(a, -2, -1) : a;
  return {triangular("triangular_solve", turned, b, upper != transpose, true, unitriangular),
          ops::transpose(ops::clone(ops::transpose(a, -2, -1), MemoryFormat::Contiguous), -2, -1)};
}

// --- determinants
Tensor linalg_det(const Tensor& A) {
  require_square("linalg.det", A);
  const auto [LU, pivots, info] = ops::_linalg_lu(A);
  return ops::mul(ops::prod_dim_int(diagonal(LU), -1), swap_sign(pivots, LU.dtype()));
}
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  require_square("linalg.slogdet", A);
  const auto [LU, pivots, info] = ops::_linalg_lu(A);
  const Tensor entries = diagonal(LU);
  const Tensor sign =
      ops::mul(ops::prod_dim_int(ops::sgn(entries), -1), swap_sign(pivots, LU.dtype()));
  return {sign, ops::sum_dim(ops::log(ops::abs(entries)), Dims{-1})};
}
Tensor logdet(const Tensor& input) {
  const auto [sign, logarithm] = linalg_slogdet(input);
  if (is_complex(input.dtype())) return ops::add(ops::log(sign), logarithm);
  return ops::where(ops::eq(sign, number(-1)), number(std::numeric_limits<double>::quiet_NaN()),
                    logarithm);
}

// --- least squares
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& input, const Tensor& b,
                                                        OptFloat rcond, OptStr driver) {
  const char* op = "linalg.lstsq";
  require_matrices(op, input);
  const std::string_view name = driver.value_or("gelsy");
  MSA_REQUIRE(name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss", Runtime, op,
              ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got '", name,
              "'.");
  const bool vectors = b.dim() == input.dim() - 1;
  MSA_REQUIRE(b.dim() >= 1 && (vectors || b.dim() == input.dim()), Runtime, op,
              ": input.dim() must be greater or equal to other.dim() and (input.dim() - "
              "other.dim()) <= 1, but the shapes are ",
              DimsView(input.sizes()), " and ", DimsView(b.sizes()), ".");
  Tensor A = input, B = vectors ? ops::unsqueeze(b, -1) : b;
  MSA_REQUIRE(A.size(-2) == B.size(-2), Runtime, op,
              ": input.size(-2) should match other.size(-2), but they are ", A.size(-2), " and ",
              B.size(-2), ".");
  broadcast_batches(op, A, B);
  const int64_t rows = A.size(-2), columns = A.size(-1);
  const bool wide = to_real(A.dtype()) == DType::F64;
  const double step = wide ? 0x1p-52 : 0x1p-23;
  const double usual = step * static_cast<double>(std::max(rows, columns));
  auto [X, rank, values] = ops::_linalg_lstsq(A, B, rcond.value_or(usual), name);
  const auto none = [&](DType dtype) { return ops::empty({0}, dtype, A.device()); };
  Tensor residuals = ops::abs(ops::narrow(ops::reshape(X, {-1}), 0, 0, 0));
  const auto full_rank = [&] {
    if (name == "gels") return true;
    return value_of(ops::all(ops::eq(rank, wrapped_number(Scalar(columns))))).to<bool>();
  };
  if (rows > columns && name != "gelsy" && full_rank()) {
    const Tensor left = ops::abs(ops::sub(B, product(A, X)));
    residuals = ops::sum_dim(ops::mul(left, left), Dims{-2});
  }
  if (name == "gels") rank = none(DType::I64);
  values = name == "gels" || name == "gelsy" ? none(values.dtype()) : detach(values);
  return {vectors ? ops::squeeze_dim(X, -1) : X, residuals, rank, values};
}

// --- LDL
std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& input, bool hermitian,
                                                        bool check_errors) {
  auto result = ops::_linalg_ldl(input, hermitian);
  if (check_errors) require_done("linalg.ldl_factor_ex", std::get<2>(result), kSingularDiagonal);
  return result;
}
std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& input, bool hermitian) {
  auto [LD, pivots, info] = ops::_linalg_ldl(input, hermitian);
  require_done("linalg.ldl_factor", info, kSingularDiagonal);
  return {LD, pivots};
}
Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  const char* op = "linalg.ldl_solve";
  require_square(op, LD);
  require_matrices(op, B);
  MSA_REQUIRE(pivots.dim() == LD.dim() - 1, Runtime, op,
              ": Expected pivots.shape == LD.shape[:-1], but the shapes are ",
              DimsView(pivots.sizes()), " and ", DimsView(LD.sizes()), ".");
  Tensor a = LD, b = B;
  broadcast_batches(op, a, b);
  Dims sizes = batch_of(a);
  sizes.push_back(a.size(-1));
  return ops::_linalg_ldl_solve(a, ops::expand(pivots, sizes), b, hermitian);
}

}  // namespace msa::composed
