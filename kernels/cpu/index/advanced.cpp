// Indexing with tensors, reading and writing: index, index_put, index_select, index_add.
#include <cstring>

#include "core/base/lock.h"
#include "core/dispatch/elementwise.h"
#include "core/dispatch/overlap.h"
#include "core/rules/index.h"
#include "generated/kernels_index.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/index/offsets.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
extern const LoopTable* loops_add;
}

namespace msa::kernels {
namespace {

using cpu::byte_offsets;

// Where the three parts of the result (dimensions before, of, and after the indices) lie in memory,
// in the indexed tensor and in the other one.
struct Places {
  std::vector<int64_t> before[2], index[2], after[2];
  bool run = false;  // the last part is one run in both
  int64_t rows() const { return static_cast<int64_t>(before[0].size() * index[0].size()); }
};
enum Side { kIndexed, kOther };

// Between brackets a negative index counts from the end; index_select and index_add refuse it.
enum class Negative { FromEnd, Refused };

template <class T>
void add_index_offsets(std::vector<int64_t>& offsets, const Tensor& index, DimsView sizes,
                       int64_t dim, int64_t n, int64_t step, Negative negative) {
  const int64_t least = negative == Negative::FromEnd ? -n : 0;
  std::vector<int64_t> at =
      byte_offsets(sizes, expanded_strides(index.sizes(), index.strides(), sizes), sizeof(T));
  const char* data = static_cast<const char*>(index.data());
  for (size_t i = 0; i < at.size(); ++i) {
    T v;
    std::memcpy(&v, data + at[i], sizeof v);
    MSA_REQUIRE(v >= least && v < n, Index, "index ", static_cast<int64_t>(v),
                " is out of bounds for dimension ", dim, " with size ", n);
    offsets[i] += (v < 0 ? v + n : v) * step;
  }
}

Places find_places(const Tensor& indexed, const TensorList& indices, const AdvancedIndex& plan,
                   DimsView other_strides, Negative negative = Negative::FromEnd) {
  Places p;
  size_t item = indexed.item_bytes(), first = plan.index_at, last = first + plan.index_sizes.size();
  DimsView sizes = plan.sizes, strides = plan.strides;
  for (auto [side, s] : {std::pair(kIndexed, strides), std::pair(kOther, other_strides)}) {
    p.before[side] = byte_offsets(sizes.first(first), s.first(first), item);
    p.index[side] = byte_offsets(plan.index_sizes, s.subspan(first, last - first), item);
    p.after[side] = byte_offsets(sizes.subspan(last), s.subspan(last), item);
  }
  for (int64_t d : plan.indexed) {
    const Tensor& index = indices[static_cast<size_t>(d)];
    int64_t n = indexed.sizes()[d], step = indexed.strides()[d] * static_cast<int64_t>(item);
    if (index.dtype() == DType::I64) {
      add_index_offsets<int64_t>(p.index[kIndexed], index, plan.index_sizes, d, n, step, negative);
    } else {
      add_index_offsets<int32_t>(p.index[kIndexed], index, plan.index_sizes, d, n, step, negative);
    }
  }
  p.run = is_contiguous(sizes.subspan(last), strides.subspan(last)) &&
          is_contiguous(sizes.subspan(last), other_strides.subspan(last));
  return p;
}

// f(row in the indexed tensor, row in the other) for every place of the first two parts.
template <class F>
void for_rows(const Places& p, char* indexed, char* other, bool parallel, F f) {
  auto columns = static_cast<int64_t>(p.index[0].size()),
       width = static_cast<int64_t>(p.after[0].size());
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      size_t b = static_cast<size_t>(row / columns), m = static_cast<size_t>(row % columns);
      f(indexed + p.before[kIndexed][b] + p.index[kIndexed][m],
        other + p.before[kOther][b] + p.index[kOther][m]);
    }
  };
  Unlocked unlocked(p.rows() * width > cpu::kGrain);
  if (parallel) {
    cpu::parallel(p.rows(), std::max<int64_t>(cpu::kGrain / std::max<int64_t>(width, 1), 1), run);
  } else {
    run(0, p.rows());
  }
}

// Copies between the places; `to` says which side is written. Writing to indexed places stays on
// one thread: where an index occurs twice the last one counts.
void copy_places(const Places& p, const Tensor& indexed, const Tensor& other, Side to) {
  size_t item = indexed.item_bytes();
  auto* a = static_cast<char*>(indexed.data());
  auto* b = static_cast<char*>(other.data());
  bool parallel = to == kOther;
  size_t run_bytes = p.after[0].size() * item;
  if (p.run && run_bytes >= 32) {
    for_rows(p, a, b, parallel, [=](char* x, char* y) {
      to == kOther ? std::memcpy(y, x, run_bytes) : std::memcpy(x, y, run_bytes);
    });
    return;
  }
  cpu::for_item_type(item, [&]<class T>(T) {
    for_rows(p, a, b, parallel, [&](char* x, char* y) {
      for (size_t i = 0; i < p.after[0].size(); ++i) {
        auto* left = reinterpret_cast<T*>(x + p.after[kIndexed][i]);
        auto* right = reinterpret_cast<T*>(y + p.after[kOther][i]);
        to == kOther ? * right = *left : * left = *right;
      }
    });
  });
}

// indexed += alpha * other, in order and on one thread, since places may repeat.
void add_places(const Places& p, const Tensor& indexed, const Tensor& other, const Scalar& alpha) {
  auto width = static_cast<int64_t>(p.after[0].size());
  Loop add = cpu::loops_add->loops[static_cast<int>(indexed.dtype())];
  if (p.run && add && width >= 8) {  // whole rows by the loops of `add`
    auto item = static_cast<int64_t>(indexed.item_bytes());
    for_rows(p, static_cast<char*>(indexed.data()), static_cast<char*>(other.data()), false,
             [&](char* x, char* y) {
               char* data[] = {x, x, y};
               const int64_t strides[] = {item, item, item, 0, 0, 0};
               add(data, strides, width, 1, &alpha);
             });
    return;
  }
  cpu::for_dtype(indexed.dtype(), [&]<class T>(T) {
    T factor = alpha.to<T>();
    for_rows(p, static_cast<char*>(indexed.data()), static_cast<char*>(other.data()), false,
             [&](char* x, char* y) {
               for (size_t i = 0; i < p.after[0].size(); ++i) {
                 auto* sum = reinterpret_cast<T*>(x + p.after[kIndexed][i]);
                 *sum = cpu::add_element(
                     *sum, cpu::mul_element(factor, *reinterpret_cast<T*>(y + p.after[kOther][i])));
               }
             });
  });
}

// `index` along `dim` as a list of indices.
TensorList along(int64_t dim, const Tensor& index) {
  TensorList indices(static_cast<size_t>(dim) + 1);
  indices.back() = index;
  return indices;
}

// A vector for each of the 0-d tensors that index_select and its kin take for one.
Tensor as_vector(const Tensor& t) { return t.dim() ? t : alias(t, {{1}, {1}, t.offset()}); }

void read(const Tensor& input, const TensorList& indices, const Tensor& out, Negative negative) {
  AdvancedIndex plan = plan_index(input, indices);
  if (out.numel() == 0) return;
  copy_places(find_places(input, indices, plan, out.strides(), negative), input, out, kOther);
}

}  // namespace

void _index(const Tensor& input, const TensorList& indices, Tensor& out0) {
  read(input, indices, out0, Negative::FromEnd);
}

void index_put(const Tensor& input, const TensorList& indices, const Tensor& values,
               bool accumulate, Tensor& out0) {
  if (input.impl() != out0.impl()) cpu::copy_into(out0, input);
  TensorList places = without_masks(input, indices);
  AdvancedIndex plan = plan_index(out0, places);
  Tensor source = values.dtype() == out0.dtype() ? values : cpu::copied(values, out0.dtype());
  if (source.same_storage(out0)) source = cpu::copied(source);
  Dims sizes = source.sizes();
  while (sizes.size() > plan.sizes.size() && sizes[0] == 1) sizes.erase(0);
  bool fits = sizes.size() <= plan.sizes.size();
  for (size_t i = 1; fits && i <= sizes.size(); ++i) {
    int64_t have = sizes[sizes.size() - i];
    fits = have == 1 || have == plan.sizes[plan.sizes.size() - i];
  }
  MSA_REQUIRE(fits, Runtime, "shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", plan.sizes);
  if (product(plan.sizes) == 0) return;
  Dims own = Dims(DimsView(source.strides()).last(sizes.size()));
  Places p = find_places(out0, places, plan, expanded_strides(sizes, own, plan.sizes));
  accumulate ? add_places(p, out0, source, 1) : copy_places(p, out0, source, kIndexed);
}

void index_select(const Tensor& input, int64_t dim, const Tensor& index, Tensor& out0) {
  read(as_vector(input), along(wrap_dim(dim, input.dim()), as_vector(index)), as_vector(out0),
       Negative::Refused);
}

void index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, Tensor& out0) {
  check_no_repeats("index_add_", out0);
  check_no_overlap("index_add_", out0, source);
  if (is_half(input.dtype()))
    return cpu::add_in_float(input, source, out0, [&](const Tensor& from, Tensor& to) {
      index_add(to, dim, index, from, alpha, to);
    });
  if (input.impl() != out0.impl()) cpu::copy_into(out0, input);
  Tensor target = as_vector(out0), from = as_vector(source);
  TensorList indices = along(wrap_dim(dim, input.dim()), as_vector(index));
  AdvancedIndex plan = plan_index(target, indices);
  MSA_REQUIRE(plan.sizes == from.sizes(), Runtime, "index_add_(): source of shape ", source.sizes(),
              " does not fit the selected slices of shape ", plan.sizes);
  if (from.numel())
    add_places(find_places(target, indices, plan, from.strides(), Negative::Refused), target, from,
               alpha);
}

}  // namespace msa::kernels
