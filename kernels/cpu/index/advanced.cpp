// Indexing with tensors, reading and writing: index, index_put, index_select, index_add.
#include <algorithm>
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
  const T* const data = index.data<T>();
  const auto add = [&](size_t i, T v) {
    MSA_REQUIRE(v >= least && v < n, Index, "index ", static_cast<int64_t>(v),
                " is out of bounds for dimension ", dim, " with size ", n);
    offsets[i] += (v < 0 ? v + n : v) * step;
  };
  if (index.is_contiguous() && index.sizes() == Dims(sizes)) {
    for (size_t i = 0; i < offsets.size(); ++i) add(i, data[i]);
    return;
  }
  const Dims strides = expanded_strides(index.sizes(), index.strides(), sizes);
  const std::vector<int64_t> at = byte_offsets(sizes, strides, 1);
  for (size_t i = 0; i < at.size(); ++i) add(i, data[at[i]]);
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
    for (int64_t row = begin; row < end;) {
      const auto b = static_cast<size_t>(row / columns), first = static_cast<size_t>(row % columns);
      const size_t last = std::min(first + static_cast<size_t>(end - row), p.index[0].size());
      char *x = indexed + p.before[kIndexed][b], *y = other + p.before[kOther][b];
      for (size_t m = first; m < last; ++m) f(x + p.index[kIndexed][m], y + p.index[kOther][m]);
      row += static_cast<int64_t>(last - first);
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
    if (p.after[0].size() == 1)
      return for_rows(p, a, b, parallel, [=](char* x, char* y) {
        to == kOther ? std::memcpy(y, x, sizeof(T)) : std::memcpy(x, y, sizeof(T));
      });
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
  Loop add = cpu::loops_add->of(indexed.dtype());
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
  cpu::for_dtype("index_put_", indexed.dtype(), [&]<class T>(T) {
    T factor = alpha.to<T>();
    if (width == 1 && factor == T(1))
      return for_rows(p, static_cast<char*>(indexed.data()), static_cast<char*>(other.data()),
                      false, [](char* x, char* y) {
                        auto* sum = reinterpret_cast<T*>(x);
                        *sum = cpu::add_element(*sum, *reinterpret_cast<T*>(y));
                      });
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

// One long index is followed in pieces, whose offsets stay in the cache: body(the indices, their
// plan, their part of `other`), which has the plan's sizes.
template <class F>
void in_pieces(const Tensor& indexed, const TensorList& indices, const Tensor& other, F&& body) {
  constexpr int64_t kPiece = 4096;  // offsets that the C library keeps on its heap
  const AdvancedIndex plan = plan_index(indexed, indices);
  const int64_t n = product(plan.index_sizes);
  Layout flat = other.layout();  // its dimensions of the index joined
  bool one_run = plan.indexed.size() == 1 && n > kPiece;
  for (size_t d = plan.index_at; one_run && d + 1 < plan.index_at + plan.index_sizes.size(); ++d)
    one_run = flat.strides[d] == flat.strides[d + 1] * flat.sizes[d + 1];
  if (!one_run || !indices[static_cast<size_t>(plan.indexed[0])].is_contiguous())
    return body(indices, plan, other);
  for (size_t d = 1; d < plan.index_sizes.size(); ++d) {
    flat.sizes.erase(plan.index_at);
    flat.strides.erase(plan.index_at);
  }
  TensorList piece = indices;
  Tensor& index = piece[static_cast<size_t>(plan.indexed[0])];
  const Tensor whole = index;
  const int64_t start = flat.offset;
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    index = alias(whole, {{count}, {1}, whole.offset() + i});
    flat.sizes[plan.index_at] = count;
    flat.offset = start + i * flat.strides[plan.index_at];
    body(piece, plan_index(indexed, piece), alias(other, flat));
  }
}

void read(const Tensor& input, const TensorList& indices, const Tensor& out, Negative negative) {
  if (out.numel() == 0) return;
  in_pieces(input, indices, out,
            [&](const TensorList& some, const AdvancedIndex& plan, const Tensor& part) {
              copy_places(find_places(input, some, plan, part.strides(), negative), input, part,
                          kOther);
            });
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
  const Layout wide{plan.sizes, expanded_strides(sizes, own, plan.sizes), source.offset()};
  in_pieces(out0, places, alias(source, wide),
            [&](const TensorList& some, const AdvancedIndex& part_plan, const Tensor& part) {
              const Places p = find_places(out0, some, part_plan, part.strides());
              accumulate ? add_places(p, out0, part, 1) : copy_places(p, out0, part, kIndexed);
            });
}

namespace {

// Slices picked along one dimension of dense memory, (outer, n, inner) to (outer, picked, inner).
struct Slices {
  int64_t outer, n, picked, inner;
};

Slices slices_along(const Tensor& t, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, t.dim());
  Slices s{1, t.sizes()[d], index.numel(), 1};
  for (int64_t i = 0; i < t.dim(); ++i)
    if (i != d) (i < d ? s.outer : s.inner) *= t.sizes()[i];
  return s;
}

// PyTorch's kind of error differs with the dimension.
void check_places(const int64_t* at, const Slices& s, ErrorKind kind) {
  for (int64_t j = 0; j < s.picked; ++j)
    if (at[j] < 0 || at[j] >= s.n)
      fail(kind, "index ", at[j], " is out of bounds for a dimension of size ", s.n);
}

// f(from, to) for each picked slice; the indices have been checked.
template <class F>
void each_slice(const Slices& s, const int64_t* index, const char* in, char* out, int64_t item,
                F f) {
  const int64_t bytes = s.inner * item;
  const Unlocked unlocked(s.outer * s.picked * s.inner >= cpu::kGrain);
  cpu::parallel(s.outer * s.picked, std::max<int64_t>(1, cpu::kGrain / 2 / s.inner),
                [&](int64_t begin, int64_t end) {
                  for (int64_t at = begin; at < end;) {
                    const int64_t o = at / s.picked, first = at % s.picked;
                    const int64_t last = std::min(first + end - at, s.picked);
                    const char* from = in + o * s.n * bytes;
                    char* to = out + at * bytes;
                    for (int64_t j = first; j < last; ++j, to += bytes)
                      f(from + index[j] * bytes, to);
                    at += last - first;
                  }
                });
}

void pick_slices(const Slices& s, const Tensor& index, const Tensor& in, const Tensor& out,
                 ErrorKind kind) {
  const auto* at = index.data<int64_t>();
  check_places(at, s, kind);
  const auto item = static_cast<int64_t>(in.item_bytes());
  const auto bytes = static_cast<size_t>(s.inner * item);
  const char* from = in.data<char>();
  char* to = out.data<char>();
  if (s.inner > 1)
    return each_slice(s, at, from, to, item,
                      [=](const char* x, char* y) { std::memcpy(y, x, bytes); });
  cpu::for_item_type(in.item_bytes(), [&]<class T>(T) {
    each_slice(s, at, from, to, sizeof(T),
               [](const char* x, char* y) { std::memcpy(y, x, sizeof(T)); });
  });
}

// Adds dense slices of one or few elements in order; false where this does not fit, or the slices
// are wide, which whole rows at a time serve better.
bool add_slices(const Tensor& out, int64_t dim, const Tensor& given, const Tensor& source,
                const Scalar& alpha) {
  if (out.dim() == 0 || given.dim() > 1 || source.dtype() != out.dtype() || !out.is_contiguous() ||
      !source.is_contiguous() || is_complex(out.dtype()) || alpha.to_double() != 1)
    return false;
  const Slices s = slices_along(out, dim, given);
  Dims fitting = out.sizes();
  fitting[wrap_dim(dim, out.dim())] = s.picked;
  if (s.inner >= 8 || source.sizes() != fitting) return false;
  const Tensor index = cpu::contiguous(given, DType::I64);
  const auto* at = index.data<int64_t>();
  check_places(at, s, out.dim() == 1 ? ErrorKind::Index : ErrorKind::Runtime);
  cpu::for_dtype("index_add_", out.dtype(), [&]<class T>(T) {
    const T* from = source.data<T>();
    T* to = out.data<T>();
    const Unlocked unlocked(source.numel() >= cpu::kGrain);
    cpu::parallel(s.outer, std::max<int64_t>(1, cpu::kGrain / 2 / (s.picked * s.inner + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t o = begin; o < end; ++o)
                      for (int64_t j = 0; j < s.picked; ++j)
                        for (int64_t i = 0; i < s.inner; ++i) {
                          T& sum = to[(o * s.n + at[j]) * s.inner + i];
                          sum = cpu::add_element(sum, from[(o * s.picked + j) * s.inner + i]);
                        }
                  });
  });
  return true;
}

}  // namespace

void index_select(const Tensor& input, int64_t dim, const Tensor& index, Tensor& out0) {
  if (input.dim() > 0 && input.is_contiguous() && out0.is_contiguous() && out0.numel() > 0 &&
      out0.dtype() == input.dtype()) {
    return pick_slices(slices_along(input, dim, index), cpu::contiguous(index, DType::I64), input,
                       out0, wrap_dim(dim, input.dim()) ? ErrorKind::Runtime : ErrorKind::Index);
  }
  read(as_vector(input), along(wrap_dim(dim, input.dim()), as_vector(index)), as_vector(out0),
       Negative::Refused);
}

void index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, Tensor& out0) {
  check_no_repeats("index_add_", out0);
  check_no_overlap("index_add_", out0, source);
  if (is_reduced(input.dtype()))
    return cpu::add_in_opmath(input, source, out0, [&](const Tensor& from, Tensor& to) {
      index_add(to, dim, index, from, alpha, to);
    });
  if (input.impl() != out0.impl()) cpu::copy_into(out0, input);
  if (add_slices(out0, dim, index, source, alpha)) return;
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
