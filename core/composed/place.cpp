// Elements put, taken, searched and counted by place or value.
#include <algorithm>
#include <cmath>

#include "core/autograd/meta.h"
#include "core/dispatch/elementwise.h"
#include "core/dispatch/host.h"
#include "core/sparse/sparse.h"
#include "generated/composed_place.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_reduce.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_sparse.h"
#include "generated/ops_statistics.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

Tensor number(int64_t v) { return wrapped_number(Scalar(v)); }

Scalar value_of(const Tensor& t) {
  const Tensor here = in_host(is_sparse(t) ? ops::to_dense(t) : t);
  return load_scalar(here.dtype(), here.data());
}

// What index_put takes to reach the slices along `dim`.
TensorList along(int64_t dim, const Tensor& index) {
  TensorList out(static_cast<size_t>(dim));
  out.push_back(ops::reshape(index, {-1}));
  return out;
}

void require_vector(const char* op, const Tensor& index, ErrorKind kind = ErrorKind::Index) {
  if (index.dim() > 1) fail(kind, op, "(): Index is supposed to be a vector, got ", index);
  if (index.dtype() != DType::I64 && index.dtype() != DType::I32)
    fail(kind, op, "(): Expected dtype int64 for index, got ", index.dtype());
}

// Sums of `src` with what counts of the input, and how many there are.
Tensor scattered_mean(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                      const Tensor& sum, bool include_self) {
  Tensor count = ops::ones_like(input);
  if (!include_self) count = ops::scatter_value(count, dim, index, Scalar(int64_t{0}));
  count =
      ops::clamp_min(ops::scatter_add(count, dim, index, ops::ones_like(src)), number(int64_t{1}));
  return is_integral(input.dtype()) ? ops::div_floor(sum, count) : ops::div(sum, count);
}

// PyTorch adds the slices of index_reduce in the elements' own type.
Tensor stepwise_mean(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                     bool include_self) {
  const Tensor sum = ops::_scatter_fold(input, dim, index, src, "sum", include_self);
  return scattered_mean(input, dim, index, src, sum, include_self);
}

Tensor scatter_fold(const char* op, const Tensor& input, int64_t dim, const Tensor& index,
                    const Tensor& src, std::string_view reduce, bool include_self) {
  if (reduce == "sum" || reduce == "mean") {
    Tensor start = include_self ? input : ops::scatter_value(input, dim, index, Scalar(int64_t{0}));
    Tensor sum = ops::scatter_add(start, dim, index, src);
    return reduce == "sum" ? sum : scattered_mean(input, dim, index, src, sum, include_self);
  }
  MSA_REQUIRE(reduce == "prod" || reduce == "amax" || reduce == "amin", Runtime, op,
              ": reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  return ops::_scatter_fold(input, dim, index, src, reduce, include_self);
}

}  // namespace

Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  return scatter_fold("scatter_reduce()", input, dim, index, src, reduce, include_self);
}

Tensor scatter_src_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce) {
  MSA_REQUIRE(reduce == "add" || reduce == "multiply", Runtime,
              "scatter: reduce must be 'add' or 'multiply', not '", reduce, "'.");
  return scatter_fold("scatter()", input, dim, index, src, reduce == "add" ? "sum" : "prod", true);
}
Tensor scatter_value_reduce(const Tensor& input, int64_t dim, const Tensor& index,
                            const Scalar& value, std::string_view reduce) {
  return scatter_src_reduce(input, dim, index,
                            ops::full(index.sizes(), value, input.dtype(), input.device()), reduce);
}

Tensor narrow_tensor(const Tensor& input, int64_t dim, const Tensor& start, int64_t length) {
  MSA_REQUIRE(start.dim() == 0 && is_integral(start.dtype()) && start.dtype() != DType::Bool,
              Runtime, "narrow: start must be an int or a 0-d integer tensor, but got ", start);
  return ops::narrow(input, dim, value_of(start).to_int(), length);
}

Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  MSA_REQUIRE(reduce != "sum", Runtime,
              "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum.");
  require_vector("index_reduce", index);
  if (input.dim() == 0 || source.dim() == 0)
    return ops::reshape(index_reduce(ops::reshape(input, {-1}), 0, index,
                                     ops::reshape(source, {-1}), reduce, include_self),
                        input.sizes());
  int64_t d = wrap_dim(dim, input.dim());
  MSA_REQUIRE(index.numel() == source.size(d), Runtime, "index_reduce(): Number of indices (",
              index.numel(), ") should be equal to source.size(dim): ", source.size(d));
  Dims shape(source.sizes().size(), 1);
  shape[d] = index.numel();
  Tensor wide = ops::_expand(ops::reshape(index, shape), source.sizes());
  if (reduce == "mean" && is_half(input.dtype()))
    return stepwise_mean(input, d, wide, source, include_self);
  return scatter_fold("index_reduce()", input, d, wide, source, reduce, include_self);
}

Tensor index_fill(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& value) {
  require_vector("index_fill_", index);
  MSA_REQUIRE(value.dim() == 0, Runtime,
              "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  MSA_REQUIRE(!is_complex(value.dtype()) || is_complex(input.dtype()), Runtime,
              "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  int64_t d = wrap_dim(dim, input.dim());
  if (input.dim() == 0) return ops::view(index_fill(ops::reshape(input, {1}), 0, index, value), {});
  Dims shape(input.sizes().size(), 1);
  shape[d] = input.sizes()[d];
  Tensor chosen = ops::index_put(ops::zeros({shape[d]}, DType::Bool, index.device()),
                                 {ops::reshape(index, {-1})}, wrapped_number(Scalar(true)));
  return ops::where(ops::view(chosen, shape), ops::to_dtype(value, input.dtype()), input);
}

Tensor index_copy(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  require_vector("index_copy_", index, ErrorKind::Runtime);
  int64_t d = wrap_dim(dim, input.dim());
  MSA_REQUIRE(input.dtype() == source.dtype(), Runtime,
              "index_copy_(): self and source expected to have the same dtype, but got (self) ",
              input.dtype(), " and (source) ", source.dtype());
  if (input.dim() == 0)
    return ops::view(index_copy(ops::reshape(input, {1}), 0, index, ops::reshape(source, {-1})),
                     {});
  Tensor slices = source.dim() == 0 ? ops::reshape(source, Dims(input.sizes().size(), 1)) : source;
  MSA_REQUIRE(
      slices.dim() == input.dim(), Index,
      "index_copy_(): When source and destination are not scalars, their dimensionality must ",
      "match. Source dimensionality (", source.dim(), "), destination dimensionality (",
      input.dim(), ")");
  MSA_REQUIRE(index.numel() == slices.size(d), Index, "index_copy_(): Number of indices (",
              index.numel(), ") should be equal to source.size(dim) (", slices.size(d), ")");
  Dims expected = input.sizes();
  expected[d] = index.numel();
  MSA_REQUIRE(slices.sizes() == expected, Runtime,
              "index_copy_(): Source/destination tensor must have same slice shapes. Destination ",
              input.sizes(), " at dimension ", d, " and source ", source.sizes());
  return ops::index_put(input, along(d, index), slices);
}

Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source) {
  MSA_REQUIRE(mask.dtype() == DType::Bool, Runtime,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ",
              mask.dtype());
  MSA_REQUIRE(input.dtype() == source.dtype(), Runtime,
              "masked_scatter: expected self and source to have same dtypes but got ",
              input.dtype(), " and ", source.dtype());
  Dims sizes = broadcast_sizes("masked_scatter", input.sizes(), mask.sizes());
  Tensor wide = ops::_expand(input, sizes), places = ops::reshape(ops::_expand(mask, sizes), {-1});
  int64_t wanted = *in_host(ops::count_nonzero(places)).data<int64_t>();
  MSA_REQUIRE(wanted <= source.numel(), Runtime,
              "masked_scatter: expected source to have at least ", wanted,
              " elements, as the mask has ones, but it has ", source.numel());
  Tensor flat = ops::index_put(ops::reshape(wide, {-1}), {ops::reshape(ops::nonzero(places), {-1})},
                               ops::narrow(ops::reshape(source, {-1}), 0, 0, wanted));
  return ops::view(flat, sizes);
}

Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate) {
  MSA_REQUIRE(index.dtype() == DType::I64, Runtime,
              "put_(): Expected a long tensor for index, but got ", index.dtype());
  MSA_REQUIRE(input.dtype() == source.dtype(), Runtime,
              "put_(): self and source expected to have the same dtype, but got self.dtype = ",
              input.dtype(), " and source.dtype = ", source.dtype());
  MSA_REQUIRE(index.numel() == source.numel(), Index,
              "put_(): Expected source and index to have the same number of elements, but got ",
              source.numel(), " and ", index.numel());
  MSA_REQUIRE(input.numel() > 0 || index.numel() == 0, Index,
              "put_(): Tried to put elements into an empty tensor");
  Tensor flat = ops::index_put(ops::reshape(input, {-1}), {ops::reshape(index, {-1})},
                               ops::reshape(source, {-1}), accumulate);
  return ops::view(flat, input.sizes());
}

Tensor take(const Tensor& input, const Tensor& index) {
  MSA_REQUIRE(index.dtype() == DType::I64, Runtime,
              "take(): Expected a long tensor for index, but got ", index.dtype());
  MSA_REQUIRE(input.numel() > 0 || index.numel() == 0, Index,
              "take(): tried to take from an empty tensor");
  return ops::_index(ops::reshape(input, {-1}), {index});
}

Tensor nonzero_static(const Tensor& input, int64_t size, int64_t fill_value) {
  MSA_REQUIRE(size >= 0, Runtime, "nonzero_static: 'size' must be an non-negative integer, got ",
              size);
  Tensor places = ops::nonzero(input);
  int64_t found = places.size(0);
  if (found >= size) return ops::clone(ops::narrow(places, 0, 0, size));
  return ops::cat({places, ops::full({size - found, input.dim()}, Scalar(fill_value), DType::I64,
                                     input.device())},
                  0);
}

Tensor repeat_interleave_counts(const Tensor& repeats, OptInt output_size) {
  MSA_REQUIRE(repeats.dim() == 1, Runtime, "repeat_interleave only accept 1D vector as repeat");
  MSA_REQUIRE(repeats.dtype() == DType::I64 || repeats.dtype() == DType::I32, Runtime,
              "repeats has to be Long or Int tensor, got ", repeats.dtype());
  if (repeats.numel() == 0) return ops::empty({0}, repeats.dtype(), repeats.device());
  MSA_REQUIRE(value_of(ops::min(repeats)).to_int() >= 0, Runtime, "repeats can not be negative");
  Tensor ends = ops::cumsum(repeats, 0);
  int64_t total = value_of(ops::select(ends, 0, -1)).to_int();
  MSA_REQUIRE(!output_size || *output_size == total, Runtime,
              "allocated size does not match required size: ", output_size.value_or(0), ", ",
              total);
  const Tensor counts = ops::contiguous(in_host(ops::to_dtype(repeats, DType::I64)));
  const Tensor places = empty(Dims{total}, DType::I64);
  auto* to = places.data<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i)
    for (int64_t left = counts.data<int64_t>()[i]; left > 0; --left) *to++ = i;
  return ops::to_device(ops::to_dtype(places, repeats.dtype()), repeats.device());
}

Tensor repeat_interleave_tensor(const Tensor& input, const Tensor& repeats, OptInt dim,
                                OptInt output_size) {
  Tensor x = dim ? input : ops::reshape(input, {-1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim());
  if (x.dim() == 0) x = ops::reshape(x, {1});
  Tensor counts = repeats.numel() == 1 && x.size(d) != 1
                      ? ops::_expand(ops::reshape(repeats, {1}), {x.size(d)})
                      : ops::reshape(repeats, {-1});
  MSA_REQUIRE(repeats.dim() <= 1, Runtime, "repeats must be 0-dim or 1-dim tensor");
  MSA_REQUIRE(counts.numel() == x.size(d), Runtime,
              "repeats must have the same size as input along dim, but got repeats.size(0) = ",
              counts.numel(), " and input.size(", d, ") = ", x.size(d));
  return ops::index_select(x, d, repeat_interleave_counts(counts, output_size));
}

Tensor repeat_interleave(const Tensor& input, int64_t repeats, OptInt dim, OptInt output_size) {
  MSA_REQUIRE(repeats >= 0, Runtime, "Repeats must be non-negative, got ", repeats);
  Tensor x = dim && input.dim() ? input : ops::reshape(input, {-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim()), size = x.size(d) * repeats;
  MSA_REQUIRE(!output_size || *output_size == size, Runtime,
              "allocated size does not match required size: ", output_size.value_or(0), ", ", size);
  Dims wide = x.sizes(), joined = x.sizes();
  wide.insert(static_cast<size_t>(d) + 1, repeats);
  joined[d] = size;
  const Tensor repeated = ops::_expand(ops::unsqueeze(x, d + 1), wide);
  return ops::view(ops::clone(repeated, MemoryFormat::Contiguous), joined);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& input, bool out_int32, bool right,
                    OptStr side, const Tensor& sorter) {
  MSA_REQUIRE(sorted_sequence.dim() > 0, Runtime,
              "torch.searchsorted(): input value can be a scalar only when sorted_sequence tensor "
              "dimension is 1; sorted_sequence needs at least 1 dimension");
  MSA_REQUIRE(!side || *side == "left" || *side == "right", Runtime,
              "torch.searchsorted(): side can only be 'left' or 'right' but got ",
              side.value_or(""));
  MSA_REQUIRE(!side || !right || *side == "right", Runtime,
              "torch.searchsorted(): side and right can't be set to opposites, got side of left "
              "while right was True");
  MSA_REQUIRE(!sorter.defined() || sorter.sizes() == sorted_sequence.sizes(), Runtime,
              "torch.searchsorted(): boundary and sorter must have the same size, got ",
              sorted_sequence.sizes(), " and ", sorter.defined() ? sorter.sizes() : Dims{});
  MSA_REQUIRE(!sorter.defined() || sorter.dtype() == DType::I64, Runtime,
              "torch.searchsorted(): sorter must be a tensor of long dtype but got ",
              sorter.dtype());
  if (sorted_sequence.dim() > 1) {
    Dims lead(DimsView(sorted_sequence.sizes()).first(sorted_sequence.sizes().size() - 1));
    MSA_REQUIRE(input.dim() == sorted_sequence.dim() &&
                    lead == Dims(DimsView(input.sizes()).first(lead.size())),
                Runtime,
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                "dimensions of boundaries tensor and ",
                "input value tensor must match, but we got boundaries tensor ",
                sorted_sequence.sizes(), " and input value tensor ", input.sizes());
  }
  DType common = input->wrapped_number ? sorted_sequence.dtype()
                                       : promote_types(sorted_sequence.dtype(), input.dtype());
  return ops::_searchsorted(
      ops::to_dtype(detach(sorted_sequence), common),
      input->wrapped_number ? detach(input) : ops::to_dtype(detach(input), common), sorter,
      right || (side && *side == "right"), out_int32);
}

Tensor bucketize(const Tensor& input, const Tensor& boundaries, bool out_int32, bool right) {
  MSA_REQUIRE(boundaries.dim() == 1, Runtime,
              "torch.bucketize(): boundaries tensor must be 1 dimension, but got dim(",
              boundaries.dim(), ")");
  return ops::_searchsorted(detach(boundaries), detach(input), Tensor(), right, out_int32);
}

// Looked up among the sorted test elements, except where there are few.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  for (DType t : {elements.dtype(), test_elements.dtype()})
    MSA_REQUIRE(!is_complex(t) && t != DType::Bool, Runtime,
                "isin: bool and complex elements cannot be looked up, but got ", t,
                "; convert with .to() first");
  Tensor tests = ops::reshape(test_elements, {-1}), found;
  if (tests.numel() <= 16 || elements.dtype() != tests.dtype()) {
    found = ops::any_dim(ops::eq(ops::unsqueeze(elements, -1), tests), Dims{-1});
  } else {
    Tensor sorted = std::get<0>(ops::sort(detach(tests)));
    Tensor at = ops::clamp_max(ops::_searchsorted(sorted, detach(elements), Tensor(), false, false),
                               number(tests.numel() - 1));
    found = ops::eq(ops::take(sorted, at), elements);
  }
  return invert ? ops::logical_not(found) : found;
}

Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  MSA_REQUIRE(minlength >= 0, Runtime, "minlength should be >= 0");
  MSA_REQUIRE(is_integral(input.dtype()) && input.dtype() != DType::Bool, NotImplemented,
              "bincount only supports 1-d non-negative integral inputs, got ", input.dtype());
  bool fits = input.dim() == 1 && (input.numel() == 0 || value_of(ops::min(input)).to_int() >= 0);
  MSA_REQUIRE(fits, Runtime, "bincount only supports 1-d non-negative integral inputs.");
  MSA_REQUIRE(!weights.defined() || weights.sizes() == input.sizes(), Runtime,
              "weights should be 1-d and have the same length as input");
  if (input.numel() == 0) return ops::zeros({minlength}, DType::I64, input.device());
  int64_t n = std::max(minlength, value_of(ops::max(input)).to_int() + 1);
  Tensor each = !weights.defined() ? ops::ones(input.sizes(), DType::I64, input.device())
                : weights.dtype() == DType::F32 ? detach(weights)
                                                : ops::to_dtype(detach(weights), DType::F64);
  return ops::scatter_add(ops::zeros({n}, each.dtype(), each.device()), 0,
                          ops::to_dtype(input, DType::I64), each);
}

namespace {

// The limits of the bins: the data's where none are given, `margin` around them where they are
// equal.
std::pair<double, double> limits(const char* op, const Tensor& input, double low, double high,
                                 double margin) {
  if (low == high && input.numel() > 0) {
    low = value_of(ops::min(input)).to_double();
    high = value_of(ops::max(input)).to_double();
  }
  if (low == high) {
    low -= margin;
    high += margin;
  }
  MSA_REQUIRE(std::isfinite(low) && std::isfinite(high), Runtime, op, ": range of [", low, ", ",
              high, "] is not finite");
  MSA_REQUIRE(low < high, Runtime, op, ": max must be larger than min, got ", low, " and ", high);
  return {low, high};
}

}  // namespace

Tensor histc(const Tensor& input, int64_t bins, const Scalar& min, const Scalar& max) {
  MSA_REQUIRE(bins > 0, Runtime, "torch.histc(): bins must be > 0, but got ", bins);
  MSA_REQUIRE(is_floating(input.dtype()), NotImplemented, "histc: not implemented for ",
              input.dtype(), "; convert with .float() first");
  Tensor x = ops::reshape(detach(input), {-1});
  auto [low, high] = limits("torch.histc", x, min.to_double(), max.to_double(), 1);
  return ops::_histc(x, bins, low, high);
}

namespace {

using Pair = std::tuple<Tensor, Tensor>;

// Elements counted (or weighed) between edges; the last bin holds its upper edge too.
Pair count_between(const Tensor& input, const Tensor& edges, const Tensor& weight, bool even,
                   bool density) {
  MSA_REQUIRE(is_floating(input.dtype()), NotImplemented, "histogram: not implemented for ",
              input.dtype(), "; convert with .float() first");
  MSA_REQUIRE(!weight.defined() || weight.sizes() == input.sizes(), Runtime,
              "torch.histogram(): if weight tensor is provided it should have the same shape as "
              "the input tensor");
  const Tensor each = weight.defined() ? ops::reshape(detach(weight), {-1}) : weight;
  Tensor hist = ops::_histogram(ops::reshape(detach(input), {-1}), edges, each, even);
  if (density) hist = ops::div(ops::div(hist, ops::sum(hist)), ops::diff(edges));
  return {hist, edges};
}

}  // namespace

Pair histogram_bins_tensor(const Tensor& input, const Tensor& bins, const Tensor& weight,
                           bool density) {
  MSA_REQUIRE(
      bins.dim() == 1 && bins.numel() > 0, Runtime,
      "torch.histogram(): bins tensor should have one dimension and at least one edge, got ", bins);
  MSA_REQUIRE(bins.dtype() == input.dtype(), Runtime,
              "torch.histogram(): input tensor and bins tensors should have the same dtype, but "
              "got input with dtype ",
              input.dtype(), " and bins with dtype ", bins.dtype());
  return count_between(input, ops::clone(detach(bins)), weight, false, density);
}

Pair histogram(const Tensor& input, int64_t bins, const OptFloats& range, const Tensor& weight,
               bool density) {
  MSA_REQUIRE(bins > 0, Runtime, "torch.histogram(): bins must be > 0, but got ", bins);
  MSA_REQUIRE(!range || range->size() == 2, Runtime,
              "torch.histogram(): range should have 2 elements, got ", range ? range->size() : 0);
  Tensor x = ops::reshape(detach(input), {-1});
  double low = range ? (*range)[0] : 0, high = range ? (*range)[1] : 0;
  if (!range && x.numel() == 0) high = 1;
  if (!range || low == high)
    std::tie(low, high) = limits("torch.histogram", range ? ops::empty({0}) : x, low, high, 0.5);
  MSA_REQUIRE(low < high, Runtime, "torch.histogram(): min should not exceed max, but got min ",
              low, " max ", high);
  return count_between(
      input, ops::linspace(Scalar(low), Scalar(high), bins + 1, input.dtype(), input.device()),
      weight, true, density);
}

}  // namespace msa::composed
