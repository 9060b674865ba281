// Medians, quantiles, covariances, differences and integrals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/autograd/meta.h"
#include "core/base/warn.h"
#include "core/dispatch/host.h"
#include "core/rules/rules.h"
#include "generated/composed_statistics.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_statistics.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

Tensor number(double v) { return wrapped_number(Scalar(v)); }
Tensor number(int64_t v) { return wrapped_number(Scalar(v)); }

// How many of a line's elements are NaN, with the dimension kept.
Tensor nan_count(const Tensor& input, int64_t dim) {
  return ops::sum_dim(ops::isnan(input), Dims{dim}, true);
}

// The lower median along `dim`: sorted, NaN stands last. With `skip_nan` the middle of the others,
// else the first NaN if there is one.
Pair median_of(const char* op, const Tensor& input, int64_t dim, bool keepdim, bool skip_nan) {
  MSA_REQUIRE(!is_complex(input.dtype()) && input.dtype() != DType::Bool, NotImplemented, op,
              ": not implemented for ", input.dtype());
  if (input.dim() == 0) {
    wrap_dim(dim, 0);
    return {ops::clone(input), ops::zeros({}, DType::I64, input.device())};
  }
  int64_t d = wrap_dim(dim, input.dim()), n = input.sizes()[d];
  MSA_REQUIRE(n > 0, Index, op, "(): Expected reduction dim ", d, " to have non-zero size.");
  auto [sorted, order] = ops::sort_stable(input, true, d, false);
  Tensor nans = nan_count(input, d), numbers = ops::rsub(nans, number(n));
  Tensor middle = ops::div_floor(ops::sub(numbers, number(int64_t{1})), number(int64_t{2}));
  Tensor at = skip_nan
                  ? ops::clamp_min(middle, number(int64_t{0}))
                  : ops::where(ops::gt(nans, number(int64_t{0})), numbers, number((n - 1) / 2));
  Tensor values = ops::gather(sorted, d, at), indices = ops::gather(order, d, at);
  if (keepdim) return {values, indices};
  return {ops::squeeze_dim(values, d), ops::squeeze_dim(indices, d)};
}

Tensor median_of_all(const char* op, const Tensor& input, bool skip_nan) {
  if (input.numel() == 0) {  // NaN, in integers as PyTorch converts it
    const auto of_nothing = [&]() -> Scalar {
      if (input.dtype() == DType::I64) return Scalar(std::numeric_limits<int64_t>::min());
      if (input.dtype() == DType::I32) return Scalar(int64_t{std::numeric_limits<int32_t>::min()});
      return is_floating(input.dtype()) ? Scalar(std::nan("")) : Scalar(int64_t{0});
    };
    return ops::full({}, of_nothing(), input.dtype(), input.device());
  }
  return std::get<0>(median_of(op, ops::reshape(input, {-1}), 0, false, skip_nan));
}

}  // namespace

Tensor median(const Tensor& input) { return median_of_all("median", input, false); }
Pair median_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return median_of("median", input, dim, keepdim, false);
}
Tensor nanmedian(const Tensor& input) { return median_of_all("nanmedian", input, true); }
Pair nanmedian_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return median_of("nanmedian", input, dim, keepdim, true);
}

namespace {

void check_quantile(const char* op, const Tensor& input, const Tensor& q,
                    std::string_view interpolation) {
  MSA_REQUIRE(input.numel() > 0, Runtime, op, "() input tensor must be non-empty");
  MSA_REQUIRE(q.dim() <= 1, Runtime, op, "() q must be a scalar or 1D tensor");
  MSA_REQUIRE(input.dtype() == DType::F32 || input.dtype() == DType::F64, Runtime, op,
              "() input tensor must be either float or double dtype, got ", input.dtype());
  MSA_REQUIRE(q.dtype() == input.dtype() || q->wrapped_number, Runtime, op,
              "() q tensor must be same dtype as the input tensor, got ", q.dtype(), " and ",
              input.dtype());
  bool known = false;
  for (std::string_view way : {"linear", "lower", "higher", "midpoint", "nearest"})
    known |= interpolation == way;
  MSA_REQUIRE(
      known, Runtime, op,
      "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ",
      interpolation);
  Tensor wrong = ops::any(ops::logical_or(ops::lt(q, number(0.0)), ops::gt(q, number(1.0))));
  MSA_REQUIRE(!*in_host(wrong).data<bool>(), Runtime, op,
              "() q values must be in the range [0, 1]");
}

// The values at fractional ranks of sorted lines.
Tensor at_ranks(const Tensor& sorted, Tensor ranks, std::string_view interpolation) {
  if (interpolation == "lower") ranks = ops::floor(ranks);
  if (interpolation == "higher") ranks = ops::ceil(ranks);
  if (interpolation == "nearest") ranks = ops::round(ranks);
  Tensor below = ops::floor(ranks), low = ops::gather(sorted, -1, ops::to_dtype(below, DType::I64));
  if (interpolation != "linear" && interpolation != "midpoint") return low;
  Tensor high = ops::gather(sorted, -1, ops::to_dtype(ops::ceil(ranks), DType::I64));
  Tensor weight =
      interpolation == "midpoint" ? ops::full_like(ranks, Scalar(0.5)) : ops::sub(ranks, below);
  return ops::lerp(low, high, weight);
}

// Lines of the input are sorted in the last dimension; the quantiles end up in the first.
Tensor quantile_of(const char* op, const Tensor& input, const Tensor& q, OptInt dim, bool keepdim,
                   std::string_view interpolation, bool skip_nan) {
  check_quantile(op, input, q, interpolation);
  int64_t d = dim ? wrap_dim(*dim, input.dim()) : 0;
  Tensor lines = !dim || input.dim() == 0 ? ops::reshape(input, {-1})
                                          : ops::transpose(ops::unsqueeze(input, -1), d, -1);
  if (dim && input.dim() > 0 && !keepdim) lines = ops::squeeze_dim(lines, d);
  if ((!dim || input.dim() == 0) && keepdim) {
    Dims ones(input.sizes().size(), 1);
    ones.push_back(input.numel());
    lines = ops::reshape(lines, ones);
  }
  auto [sorted, order] = ops::sort(lines);
  Tensor nans = nan_count(lines, -1), numbers = ops::rsub(nans, number(lines.size(-1)));
  Tensor last = ops::to_dtype(
      skip_nan ? ops::clamp_min(ops::sub(numbers, number(int64_t{1})), number(int64_t{0}))
               : ops::full_like(numbers, Scalar(lines.size(-1) - 1)),
      input.dtype());
  const Tensor parts = ops::to_device(ops::to_dtype(q, input.dtype()), input.device());
  Tensor ranks = ops::mul(last, ops::reshape(parts, {-1}));
  if (!skip_nan) ranks = ops::where(ops::gt(nans, number(int64_t{0})), last, ranks);
  Tensor out = at_ranks(sorted, ranks, interpolation);
  return q.dim() == 0 ? ops::squeeze_dim(out, -1) : ops::movedim(out, {-1}, {0});
}

}  // namespace

Tensor quantile(const Tensor& input, const Tensor& q, OptInt dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_of("quantile", input, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& input, const Tensor& q, OptInt dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_of("nanquantile", input, q, dim, keepdim, interpolation, true);
}

Tensor nanmean(const Tensor& input, const OptDims& dim, bool keepdim, OptDType dtype) {
  MSA_REQUIRE(is_inexact(input.dtype()), Runtime,
              "nanmean(): expected input to have floating point or complex dtype but got ",
              input.dtype());
  Tensor count = ops::sum_dim(ops::logical_not(ops::isnan(detach(input))), dim, keepdim);
  return ops::div(ops::nansum(input, dim, keepdim, dtype), count);
}

Tensor cov(const Tensor& input, int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  MSA_REQUIRE(input.dim() <= 2, Runtime,
              "cov(): expected input to have two or fewer dimensions but got an input with ",
              input.dim(), " dimensions");
  MSA_REQUIRE(input.dtype() != DType::Bool, Runtime,
              "cov(): bool dtype is not supported for input");
  Tensor x = input.dim() < 2 ? ops::reshape(input, {1, -1}) : input, weights;
  int64_t n = x.size(1);
  for (const Tensor* w : {&fweights, &aweights}) {
    if (!w->defined()) continue;
    const char* name = w == &fweights ? "fweights" : "aweights";
    MSA_REQUIRE(w->dim() <= 1 && w->numel() == n, Runtime, "cov(): expected ", name,
                " to be a vector of the same numel as there are observations in the input, got ",
                *w, " for ", n);
    MSA_REQUIRE((w == &fweights) == is_integral(w->dtype()), Runtime, "cov(): expected ", name,
                " to have ", w == &fweights ? "integral" : "floating point", " dtype but got ",
                w->dtype());
    MSA_REQUIRE(n == 0 || !*in_host(ops::any(ops::lt(*w, number(int64_t{0})))).data<bool>(),
                Runtime, "cov(): ", name, " cannot be negative");
    weights = weights.defined() ? ops::mul(weights, *w) : *w;
  }
  Tensor total =
      weights.defined() ? ops::sum(weights) : ops::full({}, Scalar(n), DType::I64, x.device());
  MSA_REQUIRE(
      !weights.defined() || n == 0 || *in_host(ops::ne(total, number(int64_t{0}))).data<bool>(),
      Runtime, "cov(): weights sum to zero, can't be normalized");
  Tensor mean =
      ops::div(ops::sum_dim(weights.defined() ? ops::mul(x, weights) : x, Dims{1}, true), total);
  Tensor norm;
  if (aweights.defined() && correction != 0) {
    norm = ops::sub(total, ops::mul(ops::div(ops::sum(ops::mul(weights, aweights)), total),
                                    number(correction)));
  } else {
    norm = ops::sub(total, number(correction));
  }
  if (total.device().is_cpu() && ops::le(norm, number(int64_t{0})).data<bool>()[0])
    warn("cov: ", n, " observation(s) with a correction of ", correction,
         " leave no degrees of freedom, the result is inf or nan; pass correction=0");
  Tensor apart = ops::sub(x, mean);
  Tensor weighted = weights.defined() ? ops::mul(apart, weights) : apart;
  Tensor out = ops::div(ops::mm(apart, ops::to_dtype(ops::conj(ops::t(weighted)), apart.dtype())),
                        ops::clamp_min(norm, number(int64_t{0})));
  return x.size(0) == 1 ? ops::reshape(out, {}) : out;
}

Tensor corrcoef(const Tensor& input) {
  MSA_REQUIRE(input.dim() <= 2, Runtime,
              "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
              input.dim(), " dimensions");
  Tensor c = ops::cov(input);
  if (c.dim() == 0) return ops::div(c, c);
  Tensor scale = ops::sqrt(ops::diagonal(is_complex(c.dtype()) ? ops::real(c) : c));
  Tensor out = ops::div(ops::div(c, ops::unsqueeze(scale, 1)), ops::unsqueeze(scale, 0));
  if (is_complex(out.dtype()))
    return ops::complex(ops::clamp(ops::real(out), number(-1.0), number(1.0)),
                        ops::clamp(ops::imag(out), number(-1.0), number(1.0)));
  return ops::clamp(out, number(-1.0), number(1.0));
}

Tensor diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  MSA_REQUIRE(input.dim() > 0, Runtime, "diff expects input to be at least one-dimensional");
  MSA_REQUIRE(n >= 0, Runtime, "order must be non-negative but got ", n);
  int64_t d = wrap_dim(dim, input.dim());
  TensorList parts{input};
  if (prepend.defined()) parts.insert(parts.begin(), prepend);
  if (append.defined()) parts.push_back(append);
  for (const Tensor& t : parts)
    MSA_REQUIRE(t.dim() == input.dim(), Runtime,
                "diff expects prepend or append to be the same dimension as input, got ", t.dim(),
                " and ", input.dim());
  Tensor out = n == 0 ? ops::clone(input) : parts.size() > 1 ? ops::cat(parts, d) : input;
  for (int64_t times = std::min(n, out.size(d)); times > 0; --times) {
    int64_t length = out.size(d) - 1;
    Tensor later = ops::narrow(out, d, std::min<int64_t>(1, out.size(d)), length),
           earlier = ops::narrow(out, d, 0, length);
    out = out.dtype() == DType::Bool ? ops::logical_xor(later, earlier) : ops::sub(later, earlier);
  }
  return out;
}

namespace {

// Twice the mean height of each strip.
Tensor strip_sums(const Tensor& y, int64_t d) {
  int64_t n = y.size(d);
  return ops::add(ops::narrow(y, d, 1, n - 1), ops::narrow(y, d, 0, n - 1));
}

// The widths of the strips, to be multiplied with their heights.
Tensor strip_widths(const char* op, const Tensor& y, const Tensor& x, int64_t d) {
  MSA_REQUIRE(y.dtype() != DType::Bool && x.dtype() != DType::Bool, Runtime, op,
              ": received a bool input for `x` or `y`, but bool is not supported");
  if (x.dim() != 1 || y.dim() == 1) {
    Tensor wide = x;
    while (wide.dim() < y.dim()) wide = ops::unsqueeze(wide, 0);
    return ops::diff(wide, 1, d);
  }
  MSA_REQUIRE(x.size(0) == y.size(d), Runtime, op,
              ": There must be one `x` value for each sample point, got ", x.size(0), " for ",
              y.size(d));
  Dims shape(y.sizes().size(), 1);
  shape[d] = -1;
  return ops::reshape(ops::diff(x), shape);
}

Tensor no_strips(const Tensor& y, int64_t d) {
  return ops::zeros(reduced_sizes(y.sizes(), Dims{d}, false),
                    is_integral(y.dtype()) ? default_dtype() : y.dtype(), y.device());
}

}  // namespace

Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return no_strips(y, d);
  return ops::div(
      ops::sum_dim(ops::mul(strip_widths("trapezoid", y, x, d), strip_sums(y, d)), Dims{d}),
      number(2.0));
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return no_strips(y, d);
  MSA_REQUIRE(y.dtype() != DType::Bool && dx.kind() != Scalar::Kind::Bool, Runtime,
              "trapezoid: received a bool input for `y` or `dx`, but bool is not supported");
  const Tensor ends = ops::add(ops::select(y, d, 0), ops::select(y, d, -1));
  return ops::mul(ops::sub(ops::sum_dim(y, Dims{d}), ops::mul(ends, number(0.5))),
                  wrapped_number(dx));
}
Tensor cumulative_trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  int64_t d = wrap_dim(dim, y.dim());
  return ops::div(
      ops::cumsum(ops::mul(strip_widths("cumulative_trapezoid", y, x, d), strip_sums(y, d)), d),
      number(2.0));
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  MSA_REQUIRE(
      y.dtype() != DType::Bool && dx.kind() != Scalar::Kind::Bool, Runtime,
      "cumulative_trapezoid: received a bool input for `y` or `dx`, but bool is not supported");
  int64_t d = wrap_dim(dim, y.dim());
  return ops::mul(ops::cumsum(strip_sums(y, d), d), wrapped_number(Scalar(0.5 * dx.to_double())));
}

Tensor renorm(const Tensor& input, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  MSA_REQUIRE(p.to_double() > 0, Runtime, "renorm: non-positive-norm not supported");
  MSA_REQUIRE(maxnorm.to_double() >= 0, Runtime, "renorm: expected maxnorm to be >= 0 but got ",
              maxnorm);
  MSA_REQUIRE(input.dim() > 1, Runtime, "renorm: input needs at least 2 dimensions, got ",
              input.dim(), " dimensions");
  Dims others;
  for (int64_t d = 0; d < input.dim(); ++d)
    if (d != wrap_dim(dim, input.dim())) others.push_back(d);
  const Tensor norm = ops::vector_norm(input, p, others, true, opmath(input.dtype()));
  const Tensor limit = wrapped_number(maxnorm);
  const Tensor factor =
      ops::where(ops::gt(norm, limit), ops::div(limit, ops::add(norm, number(1e-7))), number(1.0));
  return ops::mul(input, ops::to_dtype(factor, to_real(input.dtype())));
}

}  // namespace msa::composed
