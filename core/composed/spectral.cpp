// QR, eigenvalues, singular values, and what follows from them: pseudo-inverses, ranks, norms,
// condition numbers.
#include <cmath>
#include <limits>

#include "core/autograd/meta.h"
#include "core/composed/matrices.h"
#include "core/dispatch/thread_state.h"
#include "generated/composed_matrix.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_lapack.h"
#include "generated/ops_math.h"
#include "generated/ops_matrix.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using namespace matrices;

bool wants_gradient(const Tensor& t) {
  return (thread_state.grad_enabled && t.requires_grad()) || (t->meta && t->meta->tangents);
}

double smallest_step(DType dtype) {
  const bool wide = to_real(dtype) == DType::F64;
  return wide ? std::numeric_limits<double>::epsilon()
              : static_cast<double>(std::numeric_limits<float>::epsilon());
}

void require_matrices(const char* op, const Tensor& t) {
  MSA_REQUIRE(t.dim() >= 2, Runtime, op,
              ": The input tensor must have at least 2 dimensions, but its shape is ",
              DimsView(t.sizes()), ".");
}

// --- tolerances: absolute, and relative to the largest value; by default max(m, n) * eps where no
// absolute one is given.
struct Tolerance {
  Tensor absolute, relative;
};
Tensor number_like(double value, const Tensor& t) {
  return ops::full({}, Scalar(value), to_real(t.dtype()), t.device());
}

Tolerance tolerance(const Tensor& input, const Tensor& atol, const Tensor& rtol) {
  Tolerance t{atol, rtol};
  if (!t.relative.defined()) {
    const double usual = smallest_step(input.dtype()) *
                         static_cast<double>(std::max(input.size(-1), input.size(-2)));
    t.relative = number_like(usual, input);
    if (atol.defined())
      t.relative = ops::where(ops::gt(atol, number(0)), ops::zeros_like(t.relative), t.relative);
  }
  if (!t.absolute.defined()) t.absolute = number_like(0, input);
  return t;
}
Tensor optional_number(OptFloat value, const Tensor& like) {
  return value ? number_like(*value, like) : Tensor();
}

// Which of the values (in the last dimension) count.
Tensor above(const Tensor& values, const Tolerance& t) {
  const Tensor largest = ops::amax(values, {-1}, true);
  const auto column = [](const Tensor& x) { return x.dim() ? ops::unsqueeze(x, -1) : x; };
  return ops::gt(values, ops::maximum(column(t.absolute), ops::mul(column(t.relative), largest)));
}

Tensor absolute_spectrum(const Tensor& input, bool hermitian) {
  return hermitian ? ops::abs(ops::linalg_eigvalsh(input)) : ops::linalg_svdvals(input);
}

Tensor rank(const Tensor& input, const Tolerance& t, bool hermitian) {
  const GradMode off(false);
  if (input.numel() == 0)
    return ops::zeros(Dims(DimsView(input.sizes()).first(input.sizes().size() - 2)), DType::I64,
                      input.device());
  return ops::sum_dim(above(absolute_spectrum(input, hermitian), t), Dims{-1});
}

// --- norms
Tensor in_dtype(const char* op, const Tensor& input, OptDType dtype) {
  MSA_REQUIRE(is_inexact(input.dtype()), Runtime, op,
              ": Expected a floating point or complex tensor as input. Got ", input.dtype());
  return dtype ? ops::to_dtype(input, *dtype) : input;
}

// The two dimensions as wrapped numbers; they must differ.
std::pair<int64_t, int64_t> two_dims(const char* op, const Tensor& input, const Dims& dim) {
  require_matrices(op, input);
  MSA_REQUIRE(dim.size() == 2, Runtime, op, ": dim must be a 2-tuple. Got ", DimsView(dim));
  const int64_t a = wrap_dim(dim[0], input.dim()), b = wrap_dim(dim[1], input.dim());
  MSA_REQUIRE(a != b, Runtime, op, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return {a, b};
}

// A function of the singular values of matrices that lie along any two dimensions.
template <class F>
Tensor of_singular_values(const Tensor& input, std::pair<int64_t, int64_t> dims, bool keepdim,
                          F&& reduce) {
  const Tensor out =
      reduce(ops::linalg_svdvals(ops::movedim(input, {dims.first, dims.second}, {-2, -1})));
  if (!keepdim) return out;
  const auto [low, high] = std::minmax(dims.first, dims.second);
  return ops::unsqueeze(ops::unsqueeze(out, low), high);
}

Tensor largest(const Tensor& t, int64_t dim, bool keepdim, bool most) {
  if (most && t.size(dim) == 0) return ops::sum_dim(t, Dims{dim}, keepdim);  // of none it is 0
  return most ? ops::amax(t, {dim}, keepdim) : ops::amin(t, {dim}, keepdim);
}

Tensor reciprocal_of_inverse_norm(const Tensor& input, const Tensor& norm,
                                  const Tensor& inverse_norm) {
  return input.numel() ? ops::mul(norm, inverse_norm) : ops::zeros_like(norm);
}

// |A| |A^-1| in a norm that needs the inverse; infinite where there is none.
template <class Norm>
Tensor cond_by_inverse(const Tensor& input, Norm&& norm) {
  MSA_REQUIRE(input.size(-1) == input.size(-2), Runtime,
              "linalg.cond: with this norm the matrices must be square, but they are ",
              input.size(-2), " by ", input.size(-1), ".");
  const auto [inverse, info] = ops::_linalg_inv(input);
  const Tensor product = reciprocal_of_inverse_norm(input, norm(input), norm(inverse));
  return ops::where(ops::ne(info, wrapped_number(Scalar(0))), number(HUGE_VAL), product);
}

}  // namespace

// --- QR
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  return ops::_linalg_qr(A, mode);
}
std::tuple<Tensor, Tensor> qr(const Tensor& input, bool some) {
  return ops::_linalg_qr(input, some ? "reduced" : "complete");
}

// --- eigenvalues
static void require_finite(const Tensor& t) {
  if (t.device().is_meta()) return;
  MSA_REQUIRE(value_of(ops::all(ops::isfinite(t))).to<bool>(), Runtime,
              "linalg.eig: input tensor should not contain infs or NaNs.");
}
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& input, std::string_view UPLO) {
  return ops::_linalg_eigh(input, UPLO, true);
}
Tensor linalg_eigvalsh(const Tensor& input, std::string_view UPLO) {
  return std::get<0>(ops::_linalg_eigh(input, UPLO, wants_gradient(input)));
}
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& input) {
  require_finite(input);
  return ops::_linalg_eig(input, true);
}
Tensor linalg_eigvals(const Tensor& input) {
  require_finite(input);
  return std::get<0>(ops::_linalg_eig(input, wants_gradient(input)));
}

// --- singular values
std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices, OptStr driver) {
  MSA_REQUIRE(!driver, Runtime,
              "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
              "cuSOLVER backend.");
  return ops::_linalg_svd(A, full_matrices, true);
}
Tensor linalg_svdvals(const Tensor& A, OptStr driver) {
  MSA_REQUIRE(!driver, Runtime,
              "linalg.svdvals: keyword argument `driver=` is only supported on CUDA inputs with "
              "cuSOLVER backend.");
  return std::get<1>(ops::_linalg_svd(A, false, wants_gradient(A)));
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& input, bool some, bool compute_uv) {
  require_matrices("svd", input);
  if (compute_uv) {
    const auto [U, S, Vh] = ops::_linalg_svd(input, !some, true);
    return {U, S, adjoint(Vh)};
  }
  Dims left = input.sizes(), right = input.sizes();
  left.back() = left[left.size() - 2];
  right[right.size() - 2] = right.back();
  return {ops::zeros(left, input.dtype(), input.device()), linalg_svdvals(input, {}),
          ops::zeros(right, input.dtype(), input.device())};
}

// --- pseudo-inverse and rank
Tensor _linalg_pinv(const Tensor& input, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (input.numel() == 0) return ops::zeros_like(adjoint(input));
  const Tolerance t{atol, rtol};
  if (hermitian) {
    const auto [values, vectors] = ops::linalg_eigh(input);
    const Tensor inverse =
        ops::where(above(ops::abs(values), t), ops::reciprocal(values), number(0));
    return product(ops::mul(vectors, ops::unsqueeze(inverse, -2)), adjoint(vectors));
  }
  const auto [U, S, Vh] = ops::_linalg_svd(input, false, true);
  const Tensor inverse = ops::where(above(S, t), ops::reciprocal(S), number(0));
  return product(ops::mul(adjoint(Vh), ops::unsqueeze(inverse, -2)), adjoint(U));
}
Tensor linalg_pinv_atol_rtol_tensor(const Tensor& input, const Tensor& atol, const Tensor& rtol,
                                    bool hermitian) {
  require_matrices("linalg.pinv", input);
  const Tolerance t = tolerance(input, atol, rtol);
  return ops::_linalg_pinv(input, t.absolute, t.relative, hermitian);
}
Tensor linalg_pinv_atol_rtol_float(const Tensor& input, OptFloat atol, OptFloat rtol,
                                   bool hermitian) {
  return linalg_pinv_atol_rtol_tensor(input, optional_number(atol, input),
                                      optional_number(rtol, input), hermitian);
}
Tensor linalg_pinv(const Tensor& input, double rcond, bool hermitian) {
  return linalg_pinv_atol_rtol_tensor(input, number_like(0, input), number_like(rcond, input),
                                      hermitian);
}
Tensor linalg_pinv_rcond_tensor(const Tensor& input, const Tensor& rcond, bool hermitian) {
  return linalg_pinv_atol_rtol_tensor(input, number_like(0, input), rcond, hermitian);
}

Tensor linalg_matrix_rank_atol_rtol_tensor(const Tensor& input, const Tensor& atol,
                                           const Tensor& rtol, bool hermitian) {
  require_matrices("linalg.matrix_rank", input);
  return rank(input, tolerance(input, atol, rtol), hermitian);
}
Tensor linalg_matrix_rank_atol_rtol_float(const Tensor& input, OptFloat atol, OptFloat rtol,
                                          bool hermitian) {
  return linalg_matrix_rank_atol_rtol_tensor(input, optional_number(atol, input),
                                             optional_number(rtol, input), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& input, double tol, bool hermitian) {
  return linalg_matrix_rank_atol_rtol_tensor(input, number_like(tol, input), number_like(0, input),
                                             hermitian);
}
Tensor linalg_matrix_rank_tol_tensor(const Tensor& input, const Tensor& tol, bool hermitian) {
  return linalg_matrix_rank_atol_rtol_tensor(input, tol, number_like(0, input), hermitian);
}

// --- norms
Tensor linalg_matrix_norm(const Tensor& input, const Scalar& ord, const Dims& dim, bool keepdim,
                          OptDType dtype) {
  const char* op = "linalg.matrix_norm";
  auto [row, column] = two_dims(op, input, dim);
  const Tensor a = in_dtype(op, input, dtype);
  const double order = ord.to_double(), size = std::abs(order);
  MSA_REQUIRE(size == 1 || size == 2 || std::isinf(size), Runtime, op, ": Order ", ord,
              " not supported; it is one of 1, -1, 2, -2, inf and -inf.");
  const bool most = order > 0;
  if (size == 2)
    return of_singular_values(a, {row, column}, keepdim,
                              [&](const Tensor& s) { return largest(s, -1, false, most); });
  const int64_t added = size == 1 ? row : column, compared = size == 1 ? column : row;
  const Tensor sums = ops::sum_dim(ops::abs(a), Dims{added}, keepdim);
  return largest(sums, keepdim || compared < added ? compared : compared - 1, keepdim, most);
}
Tensor linalg_matrix_norm_str_ord(const Tensor& input, std::string_view ord, const Dims& dim,
                                  bool keepdim, OptDType dtype) {
  const char* op = "linalg.matrix_norm";
  MSA_REQUIRE(ord == "fro" || ord == "nuc", Runtime, op, ": Order ", ord,
              " not supported; it is 'fro' or 'nuc'.");
  const auto dims = two_dims(op, input, dim);
  const Tensor a = in_dtype(op, input, dtype);
  if (ord == "fro") return ops::vector_norm(a, 2, Dims{dims.first, dims.second}, keepdim);
  return of_singular_values(a, dims, keepdim,
                            [](const Tensor& s) { return ops::sum_dim(s, Dims{-1}); });
}
Tensor linalg_norm(const Tensor& input, const OptScalar& ord, const OptDims& dim, bool keepdim,
                   OptDType dtype) {
  if (!ord) return ops::vector_norm(input, 2, dim, keepdim, dtype);
  MSA_REQUIRE(dim ? dim->size() == 1 || dim->size() == 2 : input.dim() == 1 || input.dim() == 2,
              Runtime,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D; dim "
              "itself has 1 or 2 numbers. Got an input of shape ",
              DimsView(input.sizes()), ".");
  if (dim ? dim->size() == 1 : input.dim() == 1)
    return ops::vector_norm(input, *ord, dim, keepdim, dtype);
  return linalg_matrix_norm(input, *ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
}
Tensor linalg_norm_ord_str(const Tensor& input, std::string_view ord, const OptDims& dim,
                           bool keepdim, OptDType dtype) {
  MSA_REQUIRE(dim ? dim->size() == 1 || dim->size() == 2 : input.dim() == 1 || input.dim() == 2,
              Runtime,
              "linalg.norm: with a named order the input must be 1D or 2D, or dim have 1 or 2 "
              "numbers. Got an input of shape ",
              DimsView(input.sizes()), ".");
  return linalg_matrix_norm_str_ord(input, ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
}

Tensor nuclear_norm_dim(const Tensor& input, const Dims& dim, bool keepdim) {
  return ops::linalg_matrix_norm_str_ord(input, "nuc", dim, keepdim);
}
Tensor nuclear_norm(const Tensor& input, bool keepdim) {
  MSA_REQUIRE(input.dim() == 2, Runtime,
              "nuclear_norm: Expected a tensor with 2 dimensions, but got ", input,
              "; give dim for others.");
  return nuclear_norm_dim(input, {0, 1}, keepdim);
}
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return ops::vector_norm(v, pow);
  Dims others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != wrap_dim(dim, v.dim())) others.push_back(d);
  }
  return others.empty() ? ops::abs(v) : ops::vector_norm(v, pow, others, true);
}

// --- condition numbers
Tensor linalg_cond(const Tensor& input, const OptScalar& p) {
  require_matrices("linalg.cond", input);
  const double order = p ? p->to_double() : 2;
  if (std::abs(order) != 2)
    return cond_by_inverse(
        input, [&](const Tensor& t) { return ops::linalg_matrix_norm(t, Scalar(order)); });
  const Tensor values = ops::linalg_svdvals(input);
  if (input.numel() == 0)
    return ops::zeros(Dims(DimsView(values.sizes()).first(values.sizes().size() - 1)),
                      values.dtype(), values.device());
  const Tensor first = ops::select(values, -1, 0), last = ops::select(values, -1, -1);
  return order > 0 ? ops::div(first, last) : ops::div(last, first);
}
Tensor linalg_cond_p_str(const Tensor& input, std::string_view p) {
  require_matrices("linalg.cond", input);
  MSA_REQUIRE(p == "fro" || p == "nuc", Runtime, "linalg.cond: got an invalid norm type: ", p,
              "; it is 'fro' or 'nuc'.");
  return cond_by_inverse(input,
                         [&](const Tensor& t) { return ops::linalg_matrix_norm_str_ord(t, p); });
}

}  // namespace msa::composed
