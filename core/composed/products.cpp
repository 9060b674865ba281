// Powers, exponentials, chains and other products of matrices and vectors.
#include <array>
#include <cmath>

#include "core/composed/matrices.h"
#include "core/dispatch/thread_state.h"
#include "generated/composed_matrix.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_matrix.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using namespace matrices;

void require_square(const char* op, const Tensor& t) {
  MSA_REQUIRE(t.dim() >= 2 && t.size(-1) == t.size(-2), Runtime, op,
              ": A must be batches of square matrices, but the shape is ", DimsView(t.sizes()),
              ".");
}

Tensor identity_like(const Tensor& a) {
  return ops::expand(ops::to_dtype(identity(a), a.dtype()), a.sizes());
}

// The identity with a's history, for results that depend on `a` in form only.
Tensor identity_from(const Tensor& a) {
  Tensor out = ops::clone(a, MemoryFormat::Contiguous);
  return ops::copy_(out, identity_like(a));
}

// --- exponentials: scaling, a Taylor polynomial, squaring. It needs no solver, so it keeps its
// digits for matrices that are far from normal.
constexpr int kDegree = 18;

// The polynomial by Paterson & Stockmeyer 1973: coefficients in rows of `kRow` powers, the rows by
// Horner's rule.
Tensor taylor(const Tensor& a) {
  constexpr int kRow = 5;
  std::array<Tensor, kRow + 1> powers = {identity_like(a), a};
  for (size_t k = 2; k <= kRow; ++k) powers[k] = product(powers[k - 1], a);
  Tensor sum;
  for (int row = kDegree / kRow; row >= 0; --row) {
    if (sum.defined()) sum = product(sum, powers[kRow]);
    for (int k = 0; k < kRow && row * kRow + k <= kDegree; ++k) {
      const double coefficient = 1 / std::tgamma(row * kRow + k + 1.0);
      const Tensor term = ops::mul(powers[static_cast<size_t>(k)], number(coefficient));
      sum = sum.defined() ? ops::add(sum, term) : term;
    }
  }
  return sum;
}

// How often each matrix must be halved to come within the polynomial's reach: (..., 1, 1). Within
// these norms its backward error is below rounding (Bader, Blanes & Casas 2019).
Tensor halvings(const Tensor& a) {
  const GradMode off(false);
  const double reach = to_real(a.dtype()) == DType::F64 ? 1.09 : 3.01;
  const Tensor norm = ops::amax(ops::sum_dim(ops::abs(a), Dims{-2}, true), {-1}, true);
  const Tensor steps = ops::ceil(ops::log2(ops::div(norm, number(reach))));
  const Tensor usable = ops::logical_and(ops::isfinite(steps), ops::gt(steps, number(0)));
  return ops::where(usable, steps, number(0));
}

// --- chains: splits[i][j] is where the product of matrices i to j is cheapest to cut (dynamic
// programming).
Tensor chain(const TensorList& matrices, const std::vector<std::vector<size_t>>& splits,
             size_t from, size_t to) {
  if (from == to) return matrices[from];
  const size_t cut = splits[from][to];
  return ops::mm(chain(matrices, splits, from, cut), chain(matrices, splits, cut + 1, to));
}

std::vector<std::vector<size_t>> cheapest_splits(const TensorList& matrices) {
  const size_t n = matrices.size();
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> splits(n, std::vector<size_t>(n, 0));
  const auto edge = [&](size_t i) {
    return static_cast<double>(i < n ? matrices[i].size(0) : matrices[n - 1].size(1));
  };
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = HUGE_VAL;
      for (size_t k = i; k < j; ++k) {
        const double total = cost[i][k] + cost[k + 1][j] + edge(i) * edge(k + 1) * edge(j + 1);
        if (total < cost[i][j]) cost[i][j] = total, splits[i][j] = k;
      }
    }
  }
  return splits;
}

}  // namespace

Tensor linalg_matrix_exp(const Tensor& input) {
  require_square("linalg.matrix_exp", input);
  MSA_REQUIRE(is_inexact(input.dtype()), Runtime,
              "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
              input.dtype());
  if (input.numel() == 0 || input.device().is_meta()) return ops::clone(input);
  const Tensor steps = halvings(input);
  const Tensor most = ops::max(steps);
  Tensor out = taylor(ops::div(input, ops::exp2(steps)));
  const auto rounds = static_cast<int64_t>(value_of(most).to_double());
  for (int64_t i = 0; i < rounds; ++i) {
    out = ops::where(ops::gt(steps, number(static_cast<double>(i))), product(out, out), out);
  }
  return out;
}

Tensor linalg_matrix_power(const Tensor& input, int64_t n) {
  require_square("linalg.matrix_power", input);
  if (n == 0) return identity_from(input);
  Tensor square = n < 0 ? ops::linalg_inv(input) : input, out;
  for (int64_t left = std::abs(n); left; left /= 2) {
    if (left % 2) out = out.defined() ? product(out, square) : square;
    if (left > 1) square = product(square, square);
  }
  return n == 1 ? ops::clone(out) : out;
}

Tensor linalg_multi_dot(const TensorList& tensors) {
  const size_t n = tensors.size();
  MSA_REQUIRE(n >= 2, Runtime, "multi_dot(): expected at least 2 tensors but got ",
              static_cast<int64_t>(n));
  TensorList matrices = tensors;
  const bool row = tensors.front().dim() == 1, column = tensors.back().dim() == 1;
  if (row) matrices.front() = ops::unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = ops::unsqueeze(matrices.back(), 1);
  for (const Tensor& m : matrices) {
    MSA_REQUIRE(m.dim() == 2, Runtime,
                "multi_dot(): expected matrices, and vectors only at the ends, but one tensor has "
                "the shape ",
                DimsView(m.sizes()), ".");
  }
  for (size_t i = 0; i + 1 < n; ++i) {
    MSA_REQUIRE(matrices[i].size(1) == matrices[i + 1].size(0), Runtime, "multi_dot(): tensors ",
                static_cast<int64_t>(i), " and ", static_cast<int64_t>(i + 1), " with shapes ",
                DimsView(tensors[i].sizes()), " and ", DimsView(tensors[i + 1].sizes()),
                " cannot be multiplied");
  }
  Tensor out = chain(matrices, cheapest_splits(matrices), 0, n - 1);
  if (row) out = ops::squeeze_dim(out, 0);
  return column ? ops::squeeze_dim(out, -1) : out;
}

Tensor linalg_tensorinv(const Tensor& input, int64_t ind) {
  MSA_REQUIRE(ind > 0, Runtime,
              "linalg.tensorinv: Expected a strictly positive integer for 'ind', but got ", ind);
  const auto split = static_cast<size_t>(std::min(ind, input.dim()));
  const Dims rows(DimsView(input.sizes()).first(split)),
      columns(DimsView(input.sizes()).subspan(split));
  MSA_REQUIRE(msa::product(DimsView(rows)) == msa::product(DimsView(columns)), Runtime,
              "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) "
              "== prod(self.shape[:ind]), but the shape is ",
              DimsView(input.sizes()), " and ind=", ind, ".");
  Dims sizes = columns;
  for (int64_t n : rows) sizes.push_back(n);
  const int64_t n = msa::product(DimsView(rows));
  return ops::reshape(ops::linalg_inv(ops::reshape(input, {n, n})), sizes);
}

Tensor linalg_tensorsolve(const Tensor& input, const Tensor& other, const OptDims& dims) {
  Tensor a = input;
  if (dims) {
    Dims last;
    for (size_t i = 0; i < dims->size(); ++i)
      last.push_back(input.dim() - static_cast<int64_t>(dims->size() - i));
    a = ops::movedim(input, *dims, last);
  }
  MSA_REQUIRE(
      a.dim() >= other.dim(), Runtime,
      "linalg.tensorsolve: input must have at least as many dimensions as other; the shapes are ",
      DimsView(a.sizes()), " and ", DimsView(other.sizes()), ".");
  const Dims sizes(DimsView(a.sizes()).subspan(static_cast<size_t>(other.dim())));
  const int64_t unknowns = msa::product(DimsView(sizes)), equations = other.numel();
  MSA_REQUIRE(unknowns == equations, Runtime,
              "linalg.tensorsolve: Expected self to satisfy the requirement "
              "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ",
              unknowns, " != ", equations);
  const Tensor x =
      ops::linalg_solve(ops::reshape(a, {equations, unknowns}), ops::reshape(other, {-1}));
  return ops::reshape(x, sizes);
}

Tensor linalg_cross(const Tensor& input, const Tensor& other, int64_t dim) {
  MSA_REQUIRE(input.dim() == other.dim(), Runtime,
              "linalg.cross: inputs must have the same number of dimensions, but their shapes are ",
              DimsView(input.sizes()), " and ", DimsView(other.sizes()), ".");
  const int64_t d = wrap_dim(dim, input.dim());
  MSA_REQUIRE(input.size(d) == 3 && other.size(d) == 3, Runtime, "linalg.cross: inputs dimension ",
              dim, " must have length 3. Got ", input.size(d), " and ", other.size(d), ".");
  const auto turned = [&](const Tensor& t, int64_t by) { return ops::roll(t, {-by}, {d}); };
  return ops::sub(ops::mul(turned(input, 1), turned(other, 2)),
                  ops::mul(turned(input, 2), turned(other, 1)));
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  MSA_REQUIRE(
      is_inexact(x.dtype()) && x.dtype() == y.dtype(), Runtime,
      "linalg.vecdot: Expected x and y to have the same floating point or complex dtype, but got ",
      x.dtype(), " and ", y.dtype(), ".");
  return ops::sum_dim(ops::mul(ops::conj(x), y), Dims{dim});
}

Tensor linalg_vander(const Tensor& x, OptInt N) {
  MSA_REQUIRE(x.dtype() != DType::Bool && !is_half(x.dtype()), Runtime,
              "linalg.vander: supports floating point, complex, and integer tensors, but got ",
              x.dtype(), "; convert it first.");
  const Tensor points = x.dim() ? x : ops::unsqueeze(x, 0);
  const int64_t n = N.value_or(points.size(-1));
  MSA_REQUIRE(n > 1, Runtime, "linalg.vander: N must be greater than 1, but got ", n, ".");
  Dims sizes = points.sizes();
  sizes.push_back(n - 1);
  const Tensor powers = ops::cumprod(ops::expand(ops::unsqueeze(points, -1), sizes), -1);
  sizes.back() = 1;
  return ops::cat({ops::ones(sizes, powers.dtype(), x.device()), powers}, -1);
}

}  // namespace msa::composed
