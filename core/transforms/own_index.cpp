// Indexing batched tensors by tensors: the examples become one more index.
#include "core/transforms/own.h"
#include "generated/batched_compare.h"
#include "generated/batched_index.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::batched {
namespace {

// Where the indices stand: together, so that the result has their dimensions in that place, or
// apart, so that it has them in front.
struct Places {
  int64_t first = -1, last = -1, n = 0, rank = 0;
  explicit Places(const TensorList& indices) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!indices[i].defined()) continue;
      if (first < 0) first = static_cast<int64_t>(i);
      last = static_cast<int64_t>(i);
      ++n;
      rank = std::max(rank, indices[i].dim());
    }
  }
  bool together() const { return last - first + 1 == n; }
  int64_t at() const { return together() ? first : 0; }  // of the result
};

bool any_has(const Batch& batch, const TensorList& indices) {
  return std::ranges::any_of(indices, [&](const Tensor& t) { return batch.has(t); });
}

// Indices that all have the batch in front, and before them the example's own number.
TensorList numbered(const Batch& batch, const TensorList& indices, int64_t rank) {
  Dims sizes(static_cast<size_t>(rank) + 1, 1);
  sizes[0] = batch.size;
  TensorList list{ops::reshape(ops::arange(batch.size, DType::I64), sizes)};
  for (const Tensor& t : indices) list.push_back(t.defined() ? batch.front(t, rank) : t);
  return list;
}

// The indices' dimensions, which stand after the batch, go where they would be without it.
Tensor put_in_place(const Tensor& result, int64_t rank, int64_t at) {
  Dims from, to;
  for (int64_t d = 0; d < rank; ++d) {
    from.push_back(1 + d);
    to.push_back(1 + at + d);
  }
  return at ? ops::movedim(result, from, to) : result;
}

TensorList shifted(const TensorList& indices) {
  TensorList list{Tensor()};
  list.insert(list.end(), indices.begin(), indices.end());
  return list;
}

}  // namespace

Tensor _index(const Tensor& input, const TensorList& indices) {
  const Batch batch(input, indices);
  const Places places(indices);
  if (!any_has(batch, indices)) {  // the batch dimension stays whole
    const Tensor result = ops::_index(batch.front(input), shifted(indices));
    return batch.made(result, places.together() ? 0 : places.rank);
  }
  if (!batch.has(input)) {
    TensorList fronts;
    for (const Tensor& t : indices) fronts.push_back(t.defined() ? batch.front(t, places.rank) : t);
    return batch.made(ops::_index(batch.front(input), fronts), places.at());
  }
  const Tensor result = ops::_index(batch.front(input), numbered(batch, indices, places.rank));
  return batch.made(put_in_place(result, places.rank, places.at()));
}

Tensor index_put(const Tensor& input, const TensorList& indices, const Tensor& values,
                 bool accumulate) {
  const Batch batch(input, indices, values);
  const Places places(indices);
  const int64_t rank = places.rank + input.dim() - places.n;  // of what is written
  if (places.at() != 0 || values.dim() > rank) throw NotTogether();
  const TensorList all = numbered(batch, indices, places.rank);
  return batch.made(ops::index_put(batch.over(input), all, batch.front(values, rank), accumulate));
}

// The kernel takes one value; another for each example is chosen by `where`.
Tensor masked_fill(const Tensor& input, const Tensor& mask, const Tensor& value) {
  const Batch batch(input, mask, value);
  const int64_t rank = std::max(input.dim(), mask.dim());
  const Tensor filled = batch.front(input, rank), at = batch.front(mask, rank);
  if (!batch.has(value)) return batch.made(ops::masked_fill(filled, at, batch.of(value).value));
  return batch.made(ops::where(at, ops::to_dtype(batch.front(value, rank), input.dtype()), filled));
}

}  // namespace msa::batched
