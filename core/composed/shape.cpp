// Operators on shapes that are views where strides allow it, and copies otherwise.
#include <algorithm>

#include "core/storage/host_memory.h"
#include "generated/composed_shape.h"
#include "generated/composed_view.h"
#include "generated/ops_create.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

void require_dims(const char* op, const Tensor& input) {
  MSA_REQUIRE(input.dim() > 0, Runtime, op,
              " expects at least a 1-dimensional tensor, but got a tensor with 0 dims");
}

// The dimensions of a movedim argument, wrapped; raises when one is named twice.
Dims moved_dims(const char* what, const Dims& dims, int64_t ndim) {
  Dims out;
  for (int64_t d : dims) out.push_back(wrap_dim(d, ndim));
  Dims sorted = out;
  std::sort(sorted.begin(), sorted.end());
  MSA_REQUIRE(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), Runtime,
              "movedim: repeated dim in `", what, "` ", dims);
  return out;
}

}  // namespace

Tensor reshape(const Tensor& input, const Dims& shape) {
  Dims sizes = infer_sizes(shape, input.numel());
  if (view_strides(input.sizes(), input.strides(), sizes)) return ops::view(input, sizes);
  return ops::view(ops::clone(input, MemoryFormat::Contiguous), sizes);
}

Tensor flatten(const Tensor& input, int64_t start_dim, int64_t end_dim) {
  int64_t start = wrap_dim(start_dim, input.dim()), end = wrap_dim(end_dim, input.dim());
  MSA_REQUIRE(start <= end, Runtime,
              "flatten() has invalid args: start_dim cannot come after end_dim, got ", start_dim,
              " and ", end_dim);
  if (input.dim() == 0) return ops::reshape(input, {1});
  if (start == end) return input;
  Dims shape;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d > start && d <= end) {
      shape.back() *= input.sizes()[d];
    } else {
      shape.push_back(input.sizes()[d]);
    }
  }
  return ops::reshape(input, shape);
}

Tensor unflatten(const Tensor& input, int64_t dim, const Dims& sizes) {
  MSA_REQUIRE(input.dim() > 0, Runtime, "unflatten: dimension specified as ", dim,
              " but tensor has no dimensions");
  dim = wrap_dim(dim, input.dim());
  MSA_REQUIRE(!sizes.empty(), Runtime, "unflatten: sizes must be non-empty");
  int64_t known = 1, n = input.size(dim), free = std::count(sizes.begin(), sizes.end(), -1);
  for (int64_t s : sizes) known *= s == -1 ? 1 : s;
  bool fits = free == 0 ? known == n : free > 1 || (known != 0 && n % known == 0);
  MSA_REQUIRE(fits, Runtime, "unflatten: Provided sizes ", sizes,
              " don't multiply up to the size of dim ", dim, " (", n, ") in the input tensor");
  Dims shape(DimsView(input.sizes()).first(dim));
  for (int64_t s : infer_sizes(sizes, n)) shape.push_back(s);
  for (int64_t d = dim + 1; d < input.dim(); ++d) shape.push_back(input.sizes()[d]);
  return ops::view(input, shape);
}

Tensor movedim(const Tensor& input, const Dims& source, const Dims& destination) {
  MSA_REQUIRE(source.size() == destination.size(), Runtime,
              "movedim: Invalid source or destination dims: source ", source,
              " should contain the same number of dims as destination ", destination);
  Dims from = moved_dims("source", source, input.dim()),
       to = moved_dims("destination", destination, input.dim());
  if (input.dim() == 0) return ops::permute(input, {});
  Dims order(input.dim(), -1);
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    place = next++;
  }
  return ops::permute(input, order);
}

Tensor repeat(const Tensor& input, const Dims& repeats) {
  MSA_REQUIRE(repeats.size() >= input.sizes().size(), Runtime,
              "repeat: Number of dimensions of repeat dims can not be smaller ",
              "than number of dimensions of tensor: ", repeats, " for ", input);
  // Each dimension becomes (repeats, size), the first of them expanded; the copy joins the two
  // again.
  Dims split, expanded, joined;
  size_t lead = repeats.size() - input.sizes().size();
  for (size_t d = 0; d < repeats.size(); ++d) {
    MSA_REQUIRE(repeats[d] >= 0, Runtime, "repeat: negative repeats in ", repeats);
    int64_t n = d < lead ? 1 : input.sizes()[d - lead];
    for (auto [dims, times] : {std::pair(&split, int64_t{1}), std::pair(&expanded, repeats[d])}) {
      dims->push_back(times);
      dims->push_back(n);
    }
    joined.push_back(repeats[d] * n);
  }
  Tensor wide = ops::_expand(ops::view(input, split), expanded);
  return ops::view(ops::clone(wide, MemoryFormat::Contiguous), joined);
}

Tensor tile(const Tensor& input, const Dims& dims) {
  Dims repeats = dims;
  while (repeats.size() < input.sizes().size()) repeats.insert(0, 1);
  return ops::repeat(input, repeats);
}

TensorList chunk(const Tensor& input, int64_t chunks, int64_t dim) {
  require_dims("chunk", input);
  MSA_REQUIRE(chunks > 0 && chunks <= INT32_MAX, Runtime,
              "chunk expects `chunks` to be greater than 0 and below 2^31, got: ", chunks);
  int64_t n = input.size(dim);
  if (n == 0) return ops::split_with_sizes(input, Dims(chunks, 0), dim);
  return ops::split(input, (n - 1) / chunks + 1, dim);
}

TensorList tensor_split_tensor(const Tensor& input, const Tensor& given, int64_t dim) {
  MSA_REQUIRE(in_host_memory(given.device()) && given.dtype() == DType::I64 && given.dim() <= 1,
              Runtime,
              "tensor_split: tensor_indices_or_sections must be an int64 tensor of 0 or 1 "
              "dimensions on cpu, got ",
              given);
  if (given.dim() == 0) return ops::tensor_split_sections(input, *given.data<int64_t>(), dim);
  Dims indices;
  for (int64_t i = 0; i < given.numel(); ++i)
    indices.push_back(given.data<int64_t>()[i * given.strides()[0]]);
  return ops::tensor_split_indices(input, indices, dim);
}

TensorList tensor_split_sections(const Tensor& input, int64_t sections, int64_t dim) {
  require_dims("tensor_split", input);
  MSA_REQUIRE(sections > 0, Runtime, "tensor_split: number of sections must be larger than 0, got ",
              sections);
  TensorList out;
  out.reserve(static_cast<size_t>(sections));  // refuses a number that no memory holds
  int64_t n = input.size(dim), start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    int64_t end = start + n / sections + (i < n % sections);
    out.push_back(ops::slice(input, dim, start, end));
    start = end;
  }
  return out;
}

TensorList tensor_split_indices(const Tensor& input, const Dims& indices, int64_t dim) {
  require_dims("tensor_split", input);
  TensorList out;
  int64_t start = 0;
  for (int64_t end : indices) {
    out.push_back(ops::slice(input, dim, start, end));
    start = end;
  }
  out.push_back(ops::slice(input, dim, start, input.size(dim)));
  return out;
}

Tensor diag_embed(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t ndim = input.dim() + 1, a = wrap_dim(dim1, ndim), b = wrap_dim(dim2, ndim);
  MSA_REQUIRE(a != b, Runtime, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ",
              dim2);
  int64_t side = input.size(-1) + std::abs(offset);
  Dims sizes(DimsView(input.sizes()).first(input.sizes().size() - 1));
  sizes.insert(static_cast<size_t>(std::min(a, b)), side);
  sizes.insert(static_cast<size_t>(std::max(a, b)), side);
  Tensor out = ops::zeros(sizes, input.dtype(), input.device());
  Tensor diagonal = ops::diagonal(out, offset, a, b);
  ops::copy_(diagonal, input);
  return out;
}

Tensor diag(const Tensor& input, int64_t diagonal) {
  MSA_REQUIRE(input.dim() == 1 || input.dim() == 2, Runtime,
              "diag(): Supports 1D or 2D tensors. Got ", input.dim(), "D");
  return input.dim() == 1 ? ops::diag_embed(input, diagonal)
                          : ops::clone(ops::diagonal(input, diagonal), MemoryFormat::Contiguous);
}

// The last dimension grows or shrinks with the size of an element; all others step over the same
// bytes.
Tensor view_dtype(const Tensor& input, DType dtype) {
  if (dtype == input.dtype()) return ops::view(input, input.sizes());
  auto from = static_cast<int64_t>(input.item_bytes()),
       to = static_cast<int64_t>(size_bytes(dtype));
  Layout l = input.layout();
  if (from != to) {
    MSA_REQUIRE(input.dim() > 0, Runtime, "view: cannot view a 0-dim ", input.dtype(), " as ",
                dtype, ", which has another size");
    MSA_REQUIRE(l.strides.back() == 1, Runtime,
                "view: the last dimension must be contiguous to view ", input.dtype(), " as ",
                dtype, ", got stride ", l.strides.back());
    auto fits = [&](int64_t elements) { return elements * from % to == 0; };
    bool all_fit = fits(l.sizes.back()) && fits(l.offset);
    for (size_t d = 0; d + 1 < l.strides.size(); ++d) all_fit &= fits(l.strides[d]);
    MSA_REQUIRE(all_fit, Runtime, "view: sizes ", input.sizes(), " and strides ", input.strides(),
                " of ", input.dtype(), " are not divisible into elements of ", dtype);
    l.sizes.back() = l.sizes.back() * from / to;
    l.offset = l.offset * from / to;
    for (size_t d = 0; d + 1 < l.strides.size(); ++d) l.strides[d] = l.strides[d] * from / to;
  }
  return alias(input, l, dtype);
}

}  // namespace msa::composed
