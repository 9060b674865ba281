// Reductions of consecutive pieces, and of bits.
#include "core/composed/values.h"
#include "core/dispatch/host.h"
#include "generated/composed_native.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_order.h"
#include "generated/ops_place.h"
#include "generated/ops_search.h"
#include "generated/ops_shape.h"
#include "generated/ops_statistics.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

struct Fold {
  std::string_view name;       // as segment_reduce calls it
  std::string_view scattered;  // as scatter_reduce does
  double start;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Fold kFolds[] = {{"sum", "sum", 0},
                           {"mean", "sum", 0},
                           {"max", "amax", -kInfinity},
                           {"min", "amin", kInfinity},
                           {"prod", "prod", 1}};

const Fold& fold_named(std::string_view reduce) {
  for (const Fold& fold : kFolds) {
    if (fold.name == reduce) return fold;
  }
  fail(ErrorKind::Runtime, "segment_reduce: reduce must be sum, mean, max, min or prod, but got ",
       reduce, ".");
}

bool holds(const Tensor& condition) {
  const Tensor all = in_host(ops::all(condition));
  return *static_cast<const bool*>(all.data());
}

// (..., pieces + 1): where each piece begins, and the last one's end.
Tensor bounds_of(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis,
                 bool unsafe) {
  const Tensor& given = lengths.defined() ? lengths : offsets;
  MSA_REQUIRE(given.defined(), Runtime, "segment_reduce: give either lengths or offsets.");
  MSA_REQUIRE(given.dtype() == DType::I32 || given.dtype() == DType::I64, Runtime,
              "segment_reduce: lengths and offsets are int32 or int64, but got ", given.dtype(),
              ".");
  MSA_REQUIRE(axis == given.dim() - 1, Runtime,
              "segment_reduce: expected axis to be the last one "
              "of lengths or offsets, ",
              given.dim() - 1, ", but got ", axis, ".");
  if (!lengths.defined()) return offsets;
  MSA_REQUIRE(unsafe || holds(ops::ge(lengths, number(0))), Runtime,
              "segment_reduce: lengths contains negative values.");
  MSA_REQUIRE(unsafe || holds(ops::eq(ops::sum_dim(lengths, Dims{-1}),
                                      wrapped_number(Scalar(data.size(axis))))),
              Runtime, "segment_reduce: expected all rows of lengths along axis to sum to ",
              data.size(axis), ", the size of that dimension.");
  Dims first = lengths.sizes();
  first[axis] = 1;
  return ops::cat({ops::new_zeros(lengths, first), ops::cumsum(lengths, -1, lengths.dtype())}, -1);
}

// The elements along `dim` combined by exclusive or: halves onto each other until one is left.
Tensor folded_bits(Tensor bits, int64_t dim) {
  MSA_REQUIRE(bits.size(dim) > 0, Index, "hash_tensor: dimension ", dim,
              " has no elements to reduce; the shape is ", DimsView(bits.sizes()), ".");
  while (bits.size(dim) > 1) {
    const int64_t half = bits.size(dim) / 2, rest = bits.size(dim) - 2 * half;
    Tensor next =
        ops::bitwise_xor(ops::narrow(bits, dim, 0, half), ops::narrow(bits, dim, half, half));
    bits = rest ? ops::cat({next, ops::narrow(bits, dim, 2 * half, 1)}, dim) : next;
  }
  return bits;
}

}  // namespace

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      const OptScalar& initial) {
  MSA_REQUIRE(!indices.defined(), Runtime,
              "segment_reduce: indices based reduction is not supported: give lengths or offsets.");
  const Fold& fold = fold_named(reduce);
  axis = wrap_dim(axis, data.dim());
  const Tensor bounds = bounds_of(data, lengths, offsets, axis, unsafe);
  const int64_t pieces = bounds.size(-1) - 1;

  // Each place's piece, from 1; 0 and pieces + 1 are before the first and behind the last.
  Dims places(DimsView(data.sizes()).first(static_cast<size_t>(axis) + 1));
  const Tensor positions =
      ops::expand(ops::arange(Scalar(data.size(axis)), bounds.dtype(), data.device()), places);
  Tensor piece =
      ops::searchsorted(bounds, ops::clone(positions, MemoryFormat::Contiguous), false, true);
  places.resize(data.sizes().size(), 1);
  piece = ops::expand(ops::view(piece, places), data.sizes());

  Dims sizes = data.sizes();
  sizes[axis] = pieces + 2;
  const Scalar start = initial.value_or(Scalar(fold.start));
  const Tensor blank = ops::new_full(data, sizes, start);
  const bool by_steps = is_half(data.dtype()) && fold.scattered == "sum";  // as PyTorch adds
  Tensor out = by_steps ? ops::_scatter_fold(blank, axis, piece, data, "sum", true)
                        : ops::scatter_reduce(blank, axis, piece, data, fold.scattered, true);
  out = ops::clone(ops::narrow(out, axis, 1, pieces), MemoryFormat::Contiguous);
  if (reduce != "mean") return out;
  Dims counts = sizes;
  counts[axis] = pieces;
  for (int64_t d = axis + 1; d < data.dim(); ++d) counts[d] = 1;
  const Tensor count = ops::view(ops::diff(bounds), counts);
  const Tensor mean = ops::div(out, count);
  if (!initial) return mean;
  return ops::where(ops::eq(count, number(0)), out, mean);
}

Tensor hash_tensor(const Tensor& input, const Dims& dim, bool keepdim, int64_t mode) {
  MSA_REQUIRE(mode == 0, Runtime, "hash_tensor: mode must be 0 (exclusive or), but got ", mode,
              ".");
  MSA_REQUIRE(!is_complex(input.dtype()), NotImplemented,
              "hash_tensor: complex tensors are not supported.");
  MSA_REQUIRE(input.numel() || !dim.empty(), Runtime,
              "hash_tensor: the input has no elements: give the dimension to reduce as dim.");
  const Tensor wide = ops::_to_copy(input, is_floating(input.dtype()) ? DType::F64 : DType::I64);
  Tensor bits = ops::view_dtype(wide, DType::I64);
  Dims over;
  for (int64_t d : dim) over.push_back(wrap_dim(d, input.dim()));
  if (dim.empty()) {
    for (int64_t d = 0; d < input.dim(); ++d) over.push_back(d);
  }
  if (input.dim() > 0) {
    for (int64_t d : over) bits = folded_bits(bits, d);
    if (!keepdim) bits = ops::squeeze_dims(bits, over);
  }
  return ops::view_dtype(ops::clone(bits, MemoryFormat::Contiguous), DType::U64);
}

}  // namespace msa::composed
