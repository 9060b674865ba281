// Rules of indexing: what tensors as indices, gather, scatter, cat and the like return.
#include "core/rules/index.h"

#include <algorithm>

#include "core/base/warn.h"
#include "core/dispatch/elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"
#include "generated/rules_index.h"

namespace msa {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::U8; }
bool is_index(DType t) { return t == DType::I64 || t == DType::I32; }

void check_mask(const Tensor& mask, const Tensor& input, size_t at) {
  for (int64_t d = 0; d < mask.dim(); ++d) {
    size_t place = at + static_cast<size_t>(d);
    MSA_REQUIRE(place < input.sizes().size() && mask.sizes()[d] == input.sizes()[place], Index,
                "The shape of the mask ", mask.sizes(), " at index ", d,
                " does not match the shape of the indexed tensor ", input.sizes(), " at index ",
                place);
  }
}

// A 0-d mask keeps all or nothing along a dimension of size 1 that its user put there.
Tensor mask_rows(const Tensor& mask) { return mask.dim() == 0 ? ops::reshape(mask, {1}) : mask; }

}  // namespace

TensorList without_masks(const Tensor& input, const TensorList& indices) {
  TensorList out;
  for (const Tensor& index : indices) {
    if (!index.defined() || !is_mask(index)) {
      MSA_REQUIRE(!index.defined() || is_index(index.dtype()), Index,
                  "tensors used as indices must be long, int, byte or bool tensors, not ",
                  index.dtype());
      out.push_back(index);
      continue;
    }
    if (index.dtype() == DType::U8)
      warn("index: a uint8 tensor as a mask is deprecated; convert it with .bool()");
    Tensor mask = mask_rows(index);
    check_mask(mask, input, out.size());
    Tensor places = ops::nonzero(mask);
    for (int64_t d = 0; d < mask.dim(); ++d) out.push_back(ops::select(places, 1, d));
  }
  MSA_REQUIRE(out.size() <= input.sizes().size(), Index,
              "too many indices for tensor of dimension ", input.dim(), " (got ", out.size(), ")");
  return out;
}

AdvancedIndex plan_index(const Tensor& input, const TensorList& indices) {
  AdvancedIndex plan;
  MSA_REQUIRE(indices.size() <= input.sizes().size(), Index,
              "too many indices for tensor of dimension ", input.dim());
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    if (!plan.indexed.empty()) {
      for (int64_t n = std::min(static_cast<int64_t>(plan.index_sizes.size()), indices[d].dim()),
                   i = 1;
           i <= n; ++i) {
        int64_t a = plan.index_sizes[plan.index_sizes.size() - i], b = indices[d].size(-i);
        MSA_REQUIRE(a == b || a == 1 || b == 1, Index,
                    "shape mismatch: indexing tensors could not be broadcast together ",
                    "with shapes ", plan.index_sizes, ", ", indices[d].sizes());
      }
    }
    plan.index_sizes = plan.indexed.empty()
                           ? indices[d].sizes()
                           : broadcast_sizes("index", plan.index_sizes, indices[d].sizes());
    plan.indexed.push_back(static_cast<int64_t>(d));
  }
  MSA_REQUIRE(!plan.indexed.empty(), Index, "index: at least one index must be a tensor");
  bool adjacent =
      plan.indexed.back() - plan.indexed[0] + 1 == static_cast<int64_t>(plan.indexed.size());
  plan.index_at = adjacent ? static_cast<size_t>(plan.indexed[0]) : 0;
  auto add_indices = [&] {
    for (int64_t n : plan.index_sizes) {
      plan.sizes.push_back(n);
      plan.strides.push_back(0);
    }
  };
  if (!adjacent) add_indices();
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    bool indexed = d < indices.size() && indices[d].defined();
    if (adjacent && d == plan.index_at) add_indices();
    if (indexed) continue;
    plan.sizes.push_back(input.sizes()[d]);
    plan.strides.push_back(input.strides()[d]);
  }
  for (int64_t d : plan.indexed)
    MSA_REQUIRE(input.sizes()[d] != 0 || product(plan.index_sizes) == 0, Index,
                "index is out of bounds for dimension ", d, " with size 0");
  return plan;
}

namespace rules {
namespace {

// The result's strides follow the input's order where indices leave it one.
Dims index_strides(const AdvancedIndex& plan, const TensorList& indices) {
  std::vector<Dims> all{plan.strides};
  for (int64_t d : plan.indexed) {
    Dims own = expanded_strides(indices[d].sizes(), indices[d].strides(), plan.index_sizes);
    Dims seen(plan.sizes.size(), 0);
    std::copy(own.begin(), own.end(), seen.begin() + static_cast<int64_t>(plan.index_at));
    all.push_back(seen);
  }
  std::vector<DimsView> views(all.begin(), all.end());
  Dims out(plan.sizes.size());
  int64_t step = 1;
  for (int64_t d : stride_order(plan.sizes, views)) {
    out[d] = step;
    step *= std::max<int64_t>(plan.sizes[d], 1);
  }
  return out;
}

void check_index_dtype(const char* op, const Tensor& index) {
  MSA_REQUIRE(is_index(index.dtype()), Runtime, op,
              "(): Expected dtype int32/int64 for index, got ", index.dtype());
}

// gather and scatter: `index` has the input's dimensions and stays within `bound` apart from `dim`.
void check_within(const char* op, const Tensor& index, DimsView bound, const char* name,
                  int64_t skipped_dim) {
  for (int64_t d = 0; d < index.dim(); ++d)
    MSA_REQUIRE(d == skipped_dim || index.sizes()[d] <= bound[d], Runtime, op,
                ": Size does not match at dimension ", d, ": expected index ", index.sizes(),
                " to be no larger than ", name, " ", bound,
                skipped_dim >= 0 ? " apart from dimension " : "",
                skipped_dim >= 0 ? msa::cat(skipped_dim) : "");
}

void check_index_like(const char* op, const Tensor& input, int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return;  // of any dtype, in PyTorch too
  check_index_dtype(op, index);
  MSA_REQUIRE(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(input.dim(), 1), Runtime, op,
              ": Index tensor must have the same number of dimensions as input tensor: ", index,
              ", ", input);
  if (index.dim() > 0 && input.dim() > 0)
    check_within(op, index, input.sizes(), "self", wrap_dim(dim, input.dim()));
}

OutSpec scattered(const char* op, const Tensor& input, int64_t dim, const Tensor& index,
                  const Tensor* src) {
  wrap_dim(dim, input.dim());
  check_index_like(op, input, dim, index);
  if (src) {
    MSA_REQUIRE(src->dtype() == input.dtype(), Runtime, op,
                "(): Expected self.dtype to be equal to src.dtype: ", input.dtype(), ", ",
                src->dtype(), "; convert src with .to() first");
    MSA_REQUIRE(
        index.numel() == 0 || std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(src->dim(), 1),
        Runtime, op,
        ": Index tensor must have the same number of dimensions as src tensor: ", index, ", ",
        *src);
    if (index.dim() > 0 && index.numel() > 0 && src->dim() > 0)
      check_within(op, index, src->sizes(), "src", -1);
  }
  return {input.sizes(), input.dtype(), preserved_strides(input.sizes(), input.strides())};
}

void check_vector_index(const char* op, const Tensor& index) {
  MSA_REQUIRE(index.dim() <= 1, Index, op, "(): Index is supposed to be a vector, got ", index);
  MSA_REQUIRE(is_index(index.dtype()), Runtime, op,
              "(): Expected dtype int32 or int64 for index, got ", index.dtype());
}

}  // namespace

OutSpec index(const Tensor& input, const TensorList& indices) {
  AdvancedIndex plan = plan_index(input, indices);
  return {plan.sizes, input.dtype(), index_strides(plan, indices)};
}

OutSpec index_put(const Tensor& input, const TensorList&, const Tensor& values, bool) {
  MSA_REQUIRE(values.dtype() == input.dtype() || values->wrapped_number, Runtime,
              "Index put requires the source and destination dtypes match, got ", input.dtype(),
              " for the destination and ", values.dtype(),
              " for the source; convert the source with .to() first");
  return {input.sizes(), input.dtype(), preserved_strides(input.sizes(), input.strides())};
}

OutSpec gather(const Tensor& input, int64_t dim, const Tensor& index, bool) {
  wrap_dim(dim, input.dim());
  check_index_like("gather", input, dim, index);
  return {index.sizes(), input.dtype()};
}

OutSpec scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src) {
  return scattered("scatter", input, dim, index, &src);
}

OutSpec scatter_value(const Tensor& input, int64_t dim, const Tensor& index, const Scalar&) {
  return scattered("scatter", input, dim, index, nullptr);
}

OutSpec index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  check_vector_index("index_select", index);
  int64_t d = wrap_dim(dim, input.dim());
  MSA_REQUIRE(input.dim() > 0 || index.numel() == 1, Runtime,
              "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
              " value(s)");
  Dims sizes = input.sizes();
  if (!sizes.empty()) sizes[d] = index.numel();
  return {sizes, input.dtype()};
}

OutSpec index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                  const Scalar&) {
  check_vector_index("index_add", index);
  int64_t d = wrap_dim(dim, input.dim());
  MSA_REQUIRE(source.dtype() == input.dtype(), Runtime,
              "index_add_(): self and source expected to have the same dtype, but got ",
              input.dtype(), " and ", source.dtype());
  MSA_REQUIRE(source.dim() == input.dim() || source.dim() == 0 || input.dim() == 0, Runtime,
              "index_add_(): source and self must have as many dimensions, got ", source, " and ",
              input);
  MSA_REQUIRE(index.numel() == (source.dim() == 0 ? 1 : source.size(d)), Runtime,
              "index_add_(): Number of indices (", index.numel(),
              ") should be equal to source.size(dim) of ", source);
  for (int64_t i = 0; i < std::min(source.dim(), input.dim()); ++i)
    MSA_REQUIRE(i == d || source.sizes()[i] == input.sizes()[i], Runtime,
                "index_add_(): apart from dimension ", d,
                " source must have the sizes of self, got ", source, " and ", input);
  return {input.sizes(), input.dtype(), preserved_strides(input.sizes(), input.strides())};
}

OutSpec cat(const TensorList& tensors, int64_t dim) {
  MSA_REQUIRE(!tensors.empty(), Value, "cat(): expected a non-empty list of Tensors");
  auto skipped = [](const Tensor& t) {
    return t.dim() == 1 && t.numel() == 0;
  };  // as PyTorch always allowed
  std::vector<const Tensor*> all;
  const Tensor* first = nullptr;
  int64_t length = 0;
  bool channels_last = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    MSA_REQUIRE(t.dim() > 0, Runtime, "cat: zero-dimensional tensor (at position ", i,
                ") cannot be concatenated; use stack");
    all.push_back(&t);
    channels_last &= t.is_contiguous(MemoryFormat::ChannelsLast) && !t.is_contiguous();
    if (skipped(t)) continue;
    if (!first) {
      first = &t;
      dim = wrap_dim(dim, t.dim());
    }
    MSA_REQUIRE(t.dim() == first->dim(), Runtime,
                "cat: Tensors must have same number of dimensions: got ", first->dim(), " and ",
                t.dim());
    for (int64_t d = 0; d < t.dim(); ++d)
      MSA_REQUIRE(d == dim || t.sizes()[d] == first->sizes()[d], Runtime,
                  "cat: Sizes of tensors must match except in dimension ", dim, ". Expected size ",
                  first->sizes()[d], " but got size ", t.sizes()[d], " for tensor number ", i,
                  " in the list.");
    MSA_REQUIRE(!__builtin_add_overflow(length, t.sizes()[dim], &length), Runtime,
                "cat: the result's dimension ", dim, " would not fit into 64 bits.");
  }
  DType dtype = result_type(all);
  if (!first) {
    wrap_dim(dim, 1);
    return {{0}, dtype};
  }
  Dims sizes = first->sizes();
  sizes[dim] = length;
  return {sizes, dtype, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes)};
}

}  // namespace rules
}  // namespace msa
