// Gradients of factorizations and solvers. Sources: Giles 2008 (inverse, solve, determinant,
// singular values), Murray 2016 (Cholesky), Walter & Lehmann 2010 (QR), Boeddeker et al. 2017
// (eigenvectors), Golub & Pereyra 1973 (pseudo- inverse); each for the gradient convention of
// complex numbers, where a product's adjoint is conjugated.
#include "core/autograd/formulas.h"
#include "core/composed/matrices.h"
#include "core/dispatch/thread_state.h"
#include "core/transforms/batched.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_lapack.h"
#include "generated/ops_math.h"
#include "generated/ops_matrix.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::formulas {
namespace {

using namespace matrices;

Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }

// Missing terms are undefined.
Tensor plus(const Tensor& a, const Tensor& b) { return a.defined() ? a + b : b; }

Tensor solve(const Tensor& a, const Tensor& b) { return std::get<0>(ops::_linalg_solve(a, b)); }

// a with another diagonal.
Tensor with_diagonal(const Tensor& a, const Tensor& diagonal) {
  return ops::where(identity(a), ops::diag_embed(diagonal), a);
}

// v_j - v_i off the diagonal, 1 on it.
Tensor gaps(const Tensor& values) {
  const Tensor differences = ops::unsqueeze(values, -2) - ops::unsqueeze(values, -1);
  return ops::masked_fill(differences, identity(differences), number(1));
}

Tensor skew(const Tensor& a) { return a - adjoint(a); }

// Complex vectors are given up to a phase: raises where a loss changes with it, which the imaginary
// parts of V^H grad(V) on the diagonal say.
void require_no_phase(const char* op, const Tensor& on_diagonal) {
  if (!is_complex(on_diagonal.dtype()) || !on_diagonal.numel() || on_diagonal.device().is_meta())
    return;
  const GradMode off(false);
  const double most = value_of(ops::max(ops::abs(ops::imag(on_diagonal)))).to_double();
  MSA_REQUIRE(!(most > 1e-2), Runtime, op,
              ": complex vectors are specified up to multiplication by e^{i phi}, and the loss ",
              "depends on this phase (by ", most,
              "), so its gradient is ill-defined. Use what does not depend on it, such as abs().");
}

// The gradient through A = Q R with a square R; undefined parts count as zero.
Tensor square_qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q,
                          const Tensor& R) {
  const Tensor mixed = ops::triu(product(grad_r, adjoint(R)) - product(adjoint(Q), grad_q));
  const Tensor both = mixed + adjoint(mixed);
  const Tensor symmetric = with_diagonal(both, number(0.5) * diagonal(both));
  const Tensor inner = grad_q + product(Q, symmetric);
  return ops::_linalg_triangular(adjoint(R), inner, false, false, false);
}

// From the gradient of A = L L^H (or U^H U) to that of its factor, taken as a full matrix.
Tensor through_square(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor both = grad + adjoint(grad);
  return upper ? product(factor, both) : product(both, factor);
}

// The unit lower trapezoid whose columns are the vectors of `count` reflectors.
Tensor reflector_columns(const Tensor& compact, int64_t count) {
  const Tensor below = ops::tril(ops::narrow(compact, -1, 0, count), -1);
  return ops::masked_fill(below, identity(below), number(1));
}

// The gradients of a compact matrix, of tau and of the target through H_1 ... H_k target with
// H = I - tau v v^H, or through the adjoint's product: one reflector after the other.
std::tuple<Tensor, Tensor, Tensor> reflected_backward(Tensor grad, const Tensor& compact,
                                                      const Tensor& tau, const Tensor& target,
                                                      bool adjoint_of) {
  const int64_t count = tau.size(-1);
  const Tensor vectors = reflector_columns(compact, count);
  const auto place = [&](int64_t step) { return adjoint_of ? step : count - 1 - step; };
  const auto vector = [&](int64_t i) { return ops::narrow(vectors, -1, i, 1); };
  const auto scale = [&](int64_t i) {
    const Tensor factor = ops::unsqueeze(ops::narrow(tau, -1, i, 1), -1);
    return adjoint_of ? ops::conj(factor) : factor;
  };
  TensorList reached{target};
  for (int64_t step = 0; step + 1 < count; ++step) {
    const Tensor v = vector(place(step)), &x = reached.back();
    reached.push_back(x - scale(place(step)) * product(v, product(adjoint(v), x)));
  }
  TensorList of_vectors(static_cast<size_t>(count)), of_tau(static_cast<size_t>(count));
  for (int64_t step = count; step-- > 0;) {
    const int64_t i = place(step);
    const Tensor v = vector(i), s = scale(i), &x = reached[static_cast<size_t>(step)];
    const Tensor along_x = product(adjoint(v), x), along_grad = product(adjoint(v), grad);
    const Tensor of_scale = ops::neg(product(along_grad, adjoint(along_x)));
    const auto slot = static_cast<size_t>(i);
    of_tau[slot] = ops::squeeze_dim(adjoint_of ? ops::conj(of_scale) : of_scale, -1);
    of_vectors[slot] = ops::neg(ops::conj(s) * product(grad, adjoint(along_x)) +
                                s * product(x, adjoint(along_grad)));
    grad = grad - ops::conj(s) * product(v, along_grad);
  }
  if (count == 0) return {ops::zeros_like(compact), ops::zeros_like(tau), grad};
  Dims rest = compact.sizes();
  rest.back() -= count;
  of_vectors.push_back(ops::zeros(rest, compact.dtype(), compact.device()));
  return {ops::tril(ops::cat(of_vectors, -1), -1), ops::cat(of_tau, -1), grad};
}

// Under vmap: of any example, as what follows for zeros serves all others too.
bool any_zero(const Tensor& t) {
  const GradMode off(false);
  return value_of(ops::any(ops::eq(innermost(t), number(0)))).to<bool>();
}

// Every product of all singular values but one.
Tensor products_of_others(const Tensor& S) {
  const Tensor table = ops::expand(ops::unsqueeze(S, -2), [&] {
    Dims sizes = S.sizes();
    sizes.push_back(S.size(-1));
    return sizes;
  }());
  return ops::prod_dim_int(ops::masked_fill(table, identity(table), number(1)), -1);
}

}  // namespace

Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor L = upper ? adjoint(factor) : factor, grad_l = upper ? adjoint(grad) : grad;
  const Tensor inner = ops::tril(product(adjoint(L), grad_l));
  const Tensor symmetric = number(0.5) * (inner + adjoint(ops::tril(inner, -1)));
  const Tensor left = ops::_linalg_triangular(adjoint(L), symmetric, true, true, false);
  return ops::_linalg_triangular(L, left, false, false, false);
}

std::tuple<Tensor, Tensor> cholesky_solve_backward(const Tensor& grad, const Tensor& factor,
                                                   const Tensor& X, bool upper,
                                                   const std::array<bool, 2>& needs) {
  const Tensor of_b = ops::cholesky_solve(grad, factor, upper);
  if (!needs[1]) return {of_b, Tensor()};
  return {of_b, through_square(ops::neg(product(of_b, adjoint(X))), factor, upper)};
}

Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& factor, const Tensor& inverse,
                                 bool upper) {
  return through_square(inverse_backward(grad, inverse), factor, upper);
}

// The exponential of [[A^H, grad], [0, A^H]] has the derivative in its corner (Najfeld & Havel
// 1995).
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& A) {
  const Tensor h = adjoint(A);
  const int64_t n = A.size(-1);
  const Tensor block =
      ops::cat({ops::cat({h, grad}, -1), ops::cat({ops::zeros_like(h), h}, -1)}, -2);
  return ops::narrow(ops::narrow(ops::linalg_matrix_exp(block), -2, 0, n), -1, n, n);
}

Tensor lu_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const int64_t rows = LU.size(-2), columns = LU.size(-1), k = std::min(rows, columns);
  const auto top = [&](const Tensor& t) { return ops::narrow(t, -2, 0, k); };
  const auto bottom = [&](const Tensor& t) { return ops::narrow(t, -2, k, rows - k); };
  const auto right = [&](const Tensor& t) { return ops::narrow(t, -1, k, columns - k); };
  const Tensor square = ops::narrow(top(LU), -1, 0, k),
               grad_square = ops::narrow(top(grad), -1, 0, k);
  // Only the triangle that belongs to a factor is read.
  Tensor grad_l = ops::tril(grad_square, -1), grad_u = ops::triu(grad_square), rest;
  if (rows > k) {
    rest = ops::_linalg_triangular(adjoint(square), bottom(grad), false, false, false);
    grad_u = grad_u - product(adjoint(bottom(LU)), rest);
  } else if (columns > k) {
    rest = ops::_linalg_triangular(adjoint(square), right(grad), true, true, true);
    grad_l = grad_l - product(rest, adjoint(right(LU)));
  }
  const Tensor L = ops::masked_fill(ops::tril(square, -1), identity(square), number(1)),
               U = ops::triu(square);
  const Tensor inner =
      ops::tril(product(adjoint(L), grad_l), -1) + ops::triu(product(grad_u, adjoint(U)));
  const Tensor left = ops::_linalg_triangular(adjoint(L), inner, true, true, true);
  Tensor out = ops::_linalg_triangular(adjoint(U), left, false, false, false);
  if (rest.defined()) out = ops::cat({out, rest}, rows > k ? -2 : -1);
  return product(permutation(pivots, rows, LU.dtype()), out);
}

std::tuple<Tensor, Tensor> solve_backward(const Tensor& grad, const Tensor& A, const Tensor& X,
                                          const std::array<bool, 2>& needs) {
  const Tensor of_b = solve(adjoint(A), grad);
  return {needs[0] ? ops::neg(product(of_b, adjoint(X))) : Tensor(), of_b};
}

Tensor inverse_backward(const Tensor& grad, const Tensor& inverse) {
  const Tensor h = adjoint(inverse);
  return ops::neg(product(h, product(grad, h)));
}

std::tuple<Tensor, Tensor> triangular_backward(const Tensor& grad, const Tensor& A, const Tensor& X,
                                               bool upper, bool left, bool unitriangular,
                                               const std::array<bool, 2>& needs) {
  const Tensor of_b = ops::_linalg_triangular(adjoint(A), grad, !upper, left, unitriangular);
  if (!needs[0]) return {Tensor(), of_b};
  const Tensor full = ops::neg(left ? product(of_b, adjoint(X)) : product(adjoint(X), of_b));
  const int64_t shift = unitriangular ? 1 : 0;
  return {upper ? ops::triu(full, shift) : ops::tril(full, -shift), of_b};
}

std::tuple<Tensor, Tensor> householder_product_backward(const Tensor& grad, const Tensor& input,
                                                        const Tensor& tau) {
  const Tensor eye = ops::expand(ops::to_dtype(identity(input), input.dtype()), input.sizes());
  const auto [of_input, of_tau, of_eye] = reflected_backward(grad, input, tau, eye, false);
  return {of_input, of_tau};
}

std::tuple<Tensor, Tensor, Tensor> ormqr_backward(const Tensor& grad, const Tensor& input,
                                                  const Tensor& tau, const Tensor& other, bool left,
                                                  bool transpose) {
  if (left) return reflected_backward(grad, input, tau, other, transpose);
  // C Q = (Q^H C^H)^H
  const auto [of_input, of_tau, of_other] =
      reflected_backward(adjoint(grad), input, tau, adjoint(other), !transpose);
  return {of_input, of_tau, adjoint(of_other)};
}

Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                   std::string_view mode) {
  MSA_REQUIRE(
      mode != "r", Runtime,
      "linalg.qr: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. ",
      "Please use mode='reduced' to use the derivative.");
  const int64_t rows = Q.size(-2), columns = R.size(-1);
  MSA_REQUIRE(mode != "complete" || rows <= columns, Runtime,
              "linalg.qr: The QR decomposition is not differentiable when mode='complete' and "
              "nrows > ncols.");
  if (rows >= columns) return square_qr_backward(grad_q, grad_r, Q, R);
  // A = [X Y] with X = Q U and Y = Q V.
  const auto left = [&](const Tensor& t) { return ops::narrow(t, -1, 0, rows); };
  const auto right = [&](const Tensor& t) { return ops::narrow(t, -1, rows, columns - rows); };
  const Tensor of_y = product(Q, right(grad_r)), y = product(Q, right(R));
  const Tensor of_x =
      square_qr_backward(grad_q + product(y, adjoint(right(grad_r))), left(grad_r), Q, left(R));
  return ops::cat({of_x, of_y}, -1);
}

Tensor eigh_backward(const Grads& grads, const Tensor& values, const Tensor& vectors) {
  const Tensor h = adjoint(vectors);
  if (!grads[1].defined()) return product(vectors, ops::unsqueeze(grads[0], -1) * h);
  const Tensor turned = product(h, grads[1]);
  require_no_phase("linalg.eigh", diagonal(turned));
  const Tensor inner = number(0.5) * skew(turned) / gaps(values);
  const Tensor on_diagonal = grads[0].defined() ? grads[0] : ops::zeros_like(values);
  return product(vectors,
                 product(with_diagonal(inner, ops::to_dtype(on_diagonal, vectors.dtype())), h));
}

Tensor eig_backward(const Grads& grads, const Tensor& values, const Tensor& vectors, DType dtype) {
  const Tensor h = adjoint(vectors);
  Tensor inner;
  if (!grads[1].defined()) {
    inner = ops::unsqueeze(grads[0], -1) * h;
  } else {
    const Tensor turned = product(h, grads[1]);
    require_no_phase("linalg.eig", diagonal(turned));
    const Tensor along = product(h, vectors) * ops::unsqueeze(ops::real(diagonal(turned)), -2);
    const Tensor on_diagonal = grads[0].defined() ? grads[0] : ops::zeros_like(values);
    inner = product(with_diagonal((turned - along) / ops::conj(gaps(values)), on_diagonal), h);
  }
  const Tensor out = solve(h, inner);
  return is_complex(dtype) ? out : ops::real(out);
}

Tensor svd_backward(const Grads& grads, const Tensor& U_full, const Tensor& S,
                    const Tensor& Vh_full) {
  const int64_t k = S.size(-1), rows = U_full.size(-2), columns = Vh_full.size(-1);
  const Tensor U = ops::narrow(U_full, -1, 0, k), Vh = ops::narrow(Vh_full, -2, 0, k);
  const Tensor grad_u = grads[0].defined() ? ops::narrow(grads[0], -1, 0, k) : Tensor();
  const Tensor grad_vh = grads[2].defined() ? ops::narrow(grads[2], -2, 0, k) : Tensor();
  if (!grad_u.defined() && !grad_vh.defined()) return product(U, ops::unsqueeze(grads[1], -1) * Vh);
  const Tensor row = ops::unsqueeze(S, -2), column = ops::unsqueeze(S, -1),
               differences = gaps(S * S);
  Tensor inner, beyond, phase;
  if (grad_u.defined()) {
    const Tensor turned = skew(product(adjoint(U), grad_u));
    phase = diagonal(turned);
    inner = turned / differences * row;
    if (is_complex(U.dtype())) inner = with_diagonal(inner, diagonal(turned) / (number(2) * S));
    if (rows > k) {
      const Tensor scaled = grad_u / row;
      beyond = product(scaled - product(U, product(adjoint(U), scaled)), Vh);
    }
  }
  if (grad_vh.defined()) {
    const Tensor turned = skew(product(Vh, adjoint(grad_vh)));
    phase = plus(phase, diagonal(turned));
    inner = plus(inner, column * turned / differences *
                            ops::where(identity(differences), number(0), number(1)));
    if (columns > k) {
      const Tensor scaled = grad_vh / column;
      beyond = plus(beyond, product(U, scaled - product(product(scaled, adjoint(Vh)), Vh)));
    }
  }
  require_no_phase("linalg.svd", phase);
  if (grads[1].defined()) inner = inner + ops::diag_embed(grads[1]);
  const Tensor within = product(product(U, inner), Vh);
  return beyond.defined() ? within + beyond : within;
}

Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& det) {
  if (!any_zero(det)) {
    const Tensor scale = ops::unsqueeze(ops::unsqueeze(grad * ops::conj(det), -1), -1);
    return solve(adjoint(A), ops::where(identity(A), scale, number(0)));
  }
  const auto [U, S, Vh] = ops::_linalg_svd(A, false, true);
  const Tensor phase = ops::conj(ops::linalg_det(U) * ops::linalg_det(Vh)) * grad;
  return product(U, ops::unsqueeze(ops::unsqueeze(phase, -1) * products_of_others(S), -1) * Vh);
}

// With t = tr(A^-1 dA) the logarithm changes by Re t and the sign by i sign Im t: not at all where
// A is real.
Tensor slogdet_backward(const Grads& grads, const Tensor& A, const Tensor& sign) {
  const Tensor &of_sign = grads[0], &of_log = grads[1];
  Tensor scale = of_log;
  if (is_complex(A.dtype()) && of_sign.defined()) {
    const Tensor turn = ops::neg(ops::imag(ops::conj(of_sign) * sign));
    scale = ops::complex(of_log.defined() ? of_log : ops::zeros_like(turn), turn);
  }
  if (!scale.defined()) return scale;
  const Tensor inverse = std::get<0>(ops::_linalg_inv(A));
  return adjoint(inverse) * ops::unsqueeze(ops::unsqueeze(scale, -1), -1);
}

Tensor pinv_backward(const Tensor& grad, const Tensor& inverse, const Tensor& A) {
  const Tensor grad_h = adjoint(grad), h = adjoint(inverse);
  const Tensor through = product(h, product(grad, h));
  const Tensor left = product(grad_h, product(inverse, h));   // G^H P P^H
  const Tensor right = product(product(h, inverse), grad_h);  // P^H P G^H
  return left - product(A, product(inverse, left)) + right - product(product(right, inverse), A) -
         through;
}

// The solution is the pseudo-inverse times B.
std::tuple<Tensor, Tensor> lstsq_backward(const Tensor& grad, const Tensor& A, const Tensor& B,
                                          const std::array<bool, 2>& needs) {
  const Tensor inverse = ops::linalg_pinv_atol_rtol_float(A);
  const Tensor of_a = needs[0] ? pinv_backward(product(grad, adjoint(B)), inverse, A) : Tensor();
  return {of_a, product(adjoint(inverse), grad)};
}

}  // namespace msa::formulas
