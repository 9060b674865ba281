// Sorting along a dimension: stable, by radix on keys whose order as unsigned integers is the
// elements'.
#include <algorithm>
#include <bit>
#include <memory>

#include "core/base/lock.h"
#include "generated/kernels_order.h"
#include "generated/layouts_view.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

// --- keys
// ------------------------------------------------------------------------------------------
// Floats: both zeros are equal, NaN is above all.
inline uint32_t key_of(float v) {
  if (v != v) return 0xffffffffu;
  uint32_t u = std::bit_cast<uint32_t>(v + 0.0f);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}
inline uint64_t key_of(double v) {
  if (v != v) return ~uint64_t{0};
  auto u = std::bit_cast<uint64_t>(v + 0.0);
  return u >> 63 ? ~u : u | uint64_t{1} << 63;
}
inline uint32_t key_of(f16 v) { return key_of(static_cast<float>(v)); }
inline uint32_t key_of(bf16 v) { return key_of(static_cast<float>(v)); }
inline uint32_t key_of(bool v) { return v; }
inline uint64_t key_of(int64_t v) {
  return static_cast<uint64_t>(v) ^ uint64_t { 1 } << 63;
}
inline uint64_t key_of(uint64_t v) { return v; }
template <class T>
requires(std::is_integral_v<T> && sizeof(T) <= 4) inline uint32_t key_of(T v) {
  return std::is_signed_v<T> ? static_cast<uint32_t>(v) ^ 0x80000000u : static_cast<uint32_t>(v);
}
template <class T>
using Key = decltype(key_of(T()));

template <class K>
struct Item {
  K key;
  uint32_t index;
};

// --- one line
// ----------------------------------------------------------------------------------------
template <class K>
void insertion_sort(Item<K>* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Item<K> v = a[i];
    int64_t j = i;
    for (; j > 0 && a[j - 1].key > v.key; --j) a[j] = a[j - 1];
    a[j] = v;
  }
}

// Byte by byte from the lowest; bytes in which all keys agree are passed over. Returns where the
// sorted items are: `a` or `spare`.
template <class K>
Item<K>* radix_sort(Item<K>* a, Item<K>* spare, int64_t n) {
  uint32_t counts[sizeof(K)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (size_t b = 0; b < sizeof(K); ++b) ++counts[b][a[i].key >> (8 * b) & 255];
  for (size_t b = 0; b < sizeof(K); ++b) {
    uint32_t* count = counts[b];
    if (count[a[0].key >> (8 * b) & 255] == n) continue;
    uint32_t at = 0;
    for (int v = 0; v < 256; ++v) at += std::exchange(count[v], at);
    for (int64_t i = 0; i < n; ++i) spare[count[a[i].key >> (8 * b) & 255]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

// The n items of a line in order; `descending` keeps equal elements in their order too.
template <class T>
Item<Key<T>>* sorted(const T* in, int64_t n, bool descending, Item<Key<T>>* items,
                     Item<Key<T>>* spare) {
  using K = Key<T>;
  const K flip = descending ? static_cast<K>(~K{0}) : K{0};
  for (int64_t i = 0; i < n; ++i)
    items[i] = {static_cast<K>(key_of(in[i]) ^ flip), static_cast<uint32_t>(i)};
  if (n > 48) return radix_sort(items, spare, n);
  insertion_sort(items, n);
  return items;
}

// The k first in order without sorting the rest: a short list of the best so far.
template <class T>
void select_first(const T* in, int64_t n, int64_t k, bool largest, Item<Key<T>>* best) {
  using K = Key<T>;
  const K flip = largest ? static_cast<K>(~K{0}) : K{0};
  int64_t have = 0;
  for (int64_t i = 0; i < n; ++i) {
    K key = static_cast<K>(key_of(in[i]) ^ flip);
    if (have == k && key >= best[k - 1].key) continue;
    int64_t j = have < k ? have++ : k - 1;
    for (; j > 0 && best[j - 1].key > key; --j) best[j] = best[j - 1];
    best[j] = {key, static_cast<uint32_t>(i)};
  }
}

// --- all lines
// ---------------------------------------------------------------------------------------
struct Job {
  int64_t n, k;  // length of a line, how many are written
  bool descending;
};

template <class T>
void sort_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
                int64_t end) {
  using I = Item<Key<T>>;
  auto room = std::make_unique_for_overwrite<I[]>(static_cast<size_t>(2 * job.n));
  bool few = job.k <= 32 && job.k * 4 < job.n;
  for (int64_t line = begin; line < end; ++line) {
    const T* in = static_cast<const T*>(from) + line * job.n;
    I* items = room.get();
    if (few) {
      select_first(in, job.n, job.k, job.descending, items);
    } else {
      items = sorted(in, job.n, job.descending, items, items + job.n);
    }
    T* out = static_cast<T*>(values) + line * job.k;
    int64_t* index = indices + line * job.k;
    for (int64_t i = 0; i < job.k; ++i) {
      index[i] = items[i].index;
      out[i] = in[items[i].index];
    }
  }
}

// Of equal elements, side by side once sorted, the longest run; of equal runs the first, its last
// element.
template <class T>
void mode_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
                int64_t end) {
  using I = Item<Key<T>>;
  auto room = std::make_unique_for_overwrite<I[]>(static_cast<size_t>(2 * job.n));
  for (int64_t line = begin; line < end; ++line) {
    const T* in = static_cast<const T*>(from) + line * job.n;
    const I* items = sorted(in, job.n, false, room.get(), room.get() + job.n);
    int64_t longest = 0, run = 0, last = 0;
    for (int64_t i = 0; i < job.n; ++i) {
      run = i > 0 && items[i].key == items[i - 1].key ? run + 1 : 1;
      if (run > longest) longest = run, last = items[i].index;
    }
    indices[line] = last;
    static_cast<T*>(values)[line] = in[last];
  }
}

struct LineLoops {
  using Loop = void (*)(const void*, void*, int64_t*, const Job&, int64_t, int64_t);
  Loop sort = nullptr, mode = nullptr;
};
LineLoops line_loops(DType t) {
#define MSA_SORT_CASE(E, T) \
  case DType::E:            \
    return {sort_lines<T>, mode_lines<T>};
  switch (t) {
    MSA_SORT_CASE(Bool, bool)
    MSA_SORT_CASE(U8, uint8_t)
    MSA_SORT_CASE(I8, int8_t)
    MSA_SORT_CASE(U16, uint16_t)
    MSA_SORT_CASE(I16, int16_t)
    MSA_SORT_CASE(U32, uint32_t)
    MSA_SORT_CASE(I32, int32_t)
    MSA_SORT_CASE(U64, uint64_t)
    MSA_SORT_CASE(I64, int64_t)
    MSA_SORT_CASE(F16, f16)
    MSA_SORT_CASE(BF16, bf16)
    MSA_SORT_CASE(F32, float)
    MSA_SORT_CASE(F64, double)
    default:
      return {};
  }
#undef MSA_SORT_CASE
}

// The tensor with `dim` moved last.
Tensor with_last(const Tensor& t, int64_t dim) {
  Layout l = t.layout();
  int64_t size = l.sizes[dim], stride = l.strides[dim];
  l.sizes.erase(dim);
  l.strides.erase(dim);
  l.sizes.push_back(size);
  l.strides.push_back(stride);
  return alias(t, l);
}

// `values` and `indices` have `dim` too.
void run(const char* op, LineLoops::Loop LineLoops::*which, const Tensor& input, int64_t dim,
         bool descending, const Tensor& values, const Tensor& indices) {
  LineLoops::Loop loop = line_loops(input.dtype()).*which;
  MSA_REQUIRE(loop, NotImplemented, op, ": not implemented for ", input.dtype(),
              "; sort .real or .abs()");
  if (values.numel() == 0) return;
  if (input.dim() == 0) {
    cpu::copy_into(values, input);
    *indices.data<int64_t>() = 0;
    return;
  }
  int64_t d = wrap_dim(dim, input.dim());
  Tensor in = cpu::contiguous(with_last(input, d)), v = with_last(values, d),
         x = with_last(indices, d);
  Tensor value_room = v.is_contiguous() ? v : empty(v.sizes(), v.dtype());
  Tensor index_room = x.is_contiguous() ? x : empty(x.sizes(), DType::I64);
  Job job{in.sizes().back(), v.sizes().back(), descending};
  MSA_REQUIRE(job.n <= INT32_MAX, Runtime, op, ": dim ", d, " has ", job.n,
              " elements; at most 2147483647 can be sorted");
  {
    Unlocked unlocked(in.numel() >= cpu::kGrain / 4);
    cpu::parallel(in.numel() / job.n, std::max<int64_t>(1, cpu::kGrain / 4 / job.n),
                  [&](int64_t begin, int64_t end) {
                    loop(in.data(), value_room.data(), index_room.data<int64_t>(), job, begin, end);
                  });
  }
  if (!v.is_contiguous()) cpu::copy_into(v, value_room);
  if (!x.is_contiguous()) cpu::copy_into(x, index_room);
}

}  // namespace

void sort_stable(const Tensor& input, OptBool, int64_t dim, bool descending, Tensor& out0,
                 Tensor& out1) {
  run("sort", &LineLoops::sort, input, dim, descending, out0, out1);
}

void topk(const Tensor& input, int64_t, int64_t dim, bool largest, bool, Tensor& out0,
          Tensor& out1) {
  run("topk", &LineLoops::sort, input, dim, largest, out0, out1);
}

void mode(const Tensor& input, int64_t dim, bool keepdim, Tensor& out0, Tensor& out1) {
  bool dropped = !keepdim && input.dim() > 0;
  auto restored = [&](const Tensor& out) {
    return dropped ? alias(out, layouts::unsqueeze(out.layout(), dim)) : out;
  };
  if (dropped) dim = wrap_dim(dim, input.dim());
  run("mode", &LineLoops::mode, input, dim, false, restored(out0), restored(out1));
}

}  // namespace msa::kernels
