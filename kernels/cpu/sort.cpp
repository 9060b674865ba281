// Sorting along a dimension and choosing from its lines, by keys whose order as unsigned integers
// is the elements'. Where no stable order is asked for, equal elements stand as the standard
// library's algorithms leave them, which is what PyTorch gives.
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

template <class K>
bool before(const Item<K>& a, const Item<K>& b) {
  return a.key < b.key;
}

template <class K>
bool has_equal_neighbours(const Item<K>* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i)
    if (items[i].key == items[i - 1].key) return true;
  return false;
}

struct Job {
  int64_t n, k;  // length of a line; how many are wanted, or which one
  bool descending;
  bool ordered = true;  // sort: equal elements keep their order; topk: the k are sorted
};

// A line as items, in the order of its elements.
template <class T>
void fill_items(const T* in, const Job& job, Item<Key<T>>* items) {
  using K = Key<T>;
  const K flip = job.descending ? static_cast<K>(~K{0}) : K{0};
  for (int64_t i = 0; i < job.n; ++i)
    items[i] = {static_cast<K>(key_of(in[i]) ^ flip), static_cast<uint32_t>(i)};
}

// The n items of a line sorted. Without `ordered`, those of equal keys as std::sort leaves them: it
// keeps the order of up to 16.
template <class T>
Item<Key<T>>* sorted(const T* in, const Job& job, Item<Key<T>>* items, Item<Key<T>>* spare) {
  fill_items(in, job, items);
  Item<Key<T>>* out = items;
  if (job.n > 48) {
    out = radix_sort(items, spare, job.n);
  } else {
    insertion_sort(items, job.n);
  }
  if (job.ordered || job.n <= 16 || !has_equal_neighbours(out, job.n)) return out;
  fill_items(in, job, items);
  std::sort(items, items + job.n, before<Key<T>>);
  return items;
}

// The k first in order without sorting the rest: a short list of the best so far. False where equal
// elements leave a choice.
template <class T>
bool select_first(const T* in, const Job& job, Item<Key<T>>* best) {
  using K = Key<T>;
  const K flip = job.descending ? static_cast<K>(~K{0}) : K{0};
  const int64_t last = job.k - 1;
  int64_t have = 0;
  for (int64_t i = 0; i < job.n; ++i) {
    const K key = static_cast<K>(key_of(in[i]) ^ flip);
    if (have == job.k) {
      if (key > best[last].key) continue;
      if (key == best[last].key || (last && best[last - 1].key == best[last].key)) return false;
    }
    int64_t j = have < job.k ? have++ : last;
    for (; j > 0 && best[j - 1].key > key; --j) best[j] = best[j - 1];
    best[j] = {key, static_cast<uint32_t>(i)};
  }
  return !has_equal_neighbours(best, job.k);
}

// The k first of the items, in place.
template <class K>
void select_first_as_std(Item<K>* items, const Job& job) {
  Item<K>* const end = items + job.n;
  if (job.k * 64 <= job.n) {
    std::partial_sort(items, items + job.k, end, before<K>);
    return;
  }
  std::nth_element(items, items + job.k - 1, end, before<K>);
  if (job.ordered) std::sort(items, items + job.k - 1, before<K>);
}

// Brings the item that is k-th in order to place k: quickselect around the median of three, with
// the exchanges that decide which of equal elements PyTorch finds.
template <class K>
void quickselect(Item<K>* items, const Job& job) {
  int64_t low = 0, high = job.n - 1;
  const auto order = [&](int64_t a, int64_t b) {
    if (items[a].key > items[b].key) std::swap(items[a], items[b]);
  };
  while (high > low + 1) {
    std::swap(items[low + (high - low) / 2], items[low + 1]);
    order(low + 1, high);
    order(low, high);
    order(low + 1, low);
    const K pivot = items[low].key;
    int64_t left = low + 1, right = high;
    while (true) {
      while (items[++left].key < pivot) continue;
      while (items[--right].key > pivot) continue;
      if (right < left) break;
      std::swap(items[left], items[right]);
    }
    std::swap(items[low], items[right]);
    if (right <= job.k) low = left;
    if (right >= job.k) high = right - 1;
  }
  if (high == low + 1) order(low, high);
}

// --- all lines
// ---------------------------------------------------------------------------------------
// Calls each(the line's elements, its number, room for 2n items) for the lines [begin, end).
template <class T, class F>
void each_line(const void* from, const Job& job, int64_t begin, int64_t end, const F& each) {
  auto room = std::make_unique_for_overwrite<Item<Key<T>>[]>(static_cast<size_t>(2 * job.n));
  for (int64_t line = begin; line < end; ++line)
    each(static_cast<const T*>(from) + line * job.n, line, room.get());
}

template <class T>
void write_line(const T* in, const Item<Key<T>>* items, int64_t n, void* values, int64_t* indices,
                int64_t line) {
  T* out = static_cast<T*>(values) + line * n;
  for (int64_t i = 0; i < n; ++i) {
    indices[line * n + i] = items[i].index;
    out[i] = in[items[i].index];
  }
}

template <class T>
void sort_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
                int64_t end) {
  each_line<T>(from, job, begin, end, [&](const T* in, int64_t line, Item<Key<T>>* items) {
    write_line(in, sorted(in, job, items, items + job.n), job.n, values, indices, line);
  });
}

template <class T>
void topk_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
                int64_t end) {
  const bool few = job.k <= 32 && job.k * 4 < job.n;
  each_line<T>(from, job, begin, end, [&](const T* in, int64_t line, Item<Key<T>>* items) {
    if (!few || !select_first(in, job, items)) {
      fill_items(in, job, items);
      select_first_as_std(items, job);
    }
    write_line(in, items, job.k, values, indices, line);
  });
}

template <class T>
void kth_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
               int64_t end) {
  each_line<T>(from, job, begin, end, [&](const T* in, int64_t line, Item<Key<T>>* items) {
    fill_items(in, job, items);
    quickselect(items, job);
    write_line(in, items + job.k, 1, values, indices, line);
  });
}

template <class T>
constexpr bool is_nan(T v) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return static_cast<double>(v) != static_cast<double>(v);
  }
}

// A short line in the order in which PyTorch looks for the mode: by `<`, under which NaN is neither
// before nor after anything, so that the insertion sort stops at it.
template <class T>
void sort_around_nan(const T* in, Item<Key<T>>* items, int64_t n) {
  const auto less = [in](const Item<Key<T>>& a, const Item<Key<T>>& b) {
    return a.key < b.key && !is_nan(in[a.index]) && !is_nan(in[b.index]);
  };
  for (int64_t i = 1; i < n; ++i) {
    const Item<Key<T>> v = items[i];
    int64_t j = i;
    if (less(v, items[0])) {
      for (; j > 0; --j) items[j] = items[j - 1];
    } else {
      for (; less(v, items[j - 1]); --j) items[j] = items[j - 1];
    }
    items[j] = v;
  }
}

// Of equal elements, side by side once sorted, the longest run; of equal runs the first, its last
// element. NaN equals nothing. Longer lines with NaN are sorted with it last: what std::sort makes
// of them by `<` is undefined.
template <class T>
void mode_lines(const void* from, void* values, int64_t* indices, const Job& job, int64_t begin,
                int64_t end) {
  each_line<T>(from, job, begin, end, [&](const T* in, int64_t line, Item<Key<T>>* room) {
    const Item<Key<T>>* items = room;
    if (job.n <= 16 && std::any_of(in, in + job.n, is_nan<T>)) {
      fill_items(in, job, room);
      sort_around_nan(in, room, job.n);
    } else {
      items = sorted(in, job, room, room + job.n);
    }
    int64_t longest = 0, run = 0, last = 0;
    for (int64_t i = 0; i < job.n; ++i) {
      run = i > 0 && items[i].key == items[i - 1].key && !is_nan(in[items[i].index]) ? run + 1 : 1;
      if (run > longest) longest = run, last = i;
    }
    write_line(in, items + last, 1, values, indices, line);
  });
}

struct LineLoops {
  using Loop = void (*)(const void*, void*, int64_t*, const Job&, int64_t, int64_t);
  Loop sort = nullptr, topk = nullptr, kth = nullptr, mode = nullptr;
};
LineLoops line_loops(DType t) {
#define MSA_SORT_CASE(E, T) \
  case DType::E:            \
    return {sort_lines<T>, topk_lines<T>, kth_lines<T>, mode_lines<T>};
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

// `values` and `indices` have `dim` too; the job says what is wanted of each line.
void run(const char* op, LineLoops::Loop LineLoops::*which, const Tensor& input, int64_t dim,
         Job job, const Tensor& values, const Tensor& indices) {
  LineLoops::Loop loop = line_loops(input.dtype()).*which;
  if (!loop) refuse_dtype(op, input.dtype());
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
  job.n = in.sizes().back();
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

// The same for one element of each line: `dim` may be missing in the results.
void run_one(const char* op, LineLoops::Loop LineLoops::*which, const Tensor& input, int64_t dim,
             bool keepdim, const Job& job, const Tensor& values, const Tensor& indices) {
  const bool dropped = !keepdim && input.dim() > 0;
  const int64_t d = wrap_dim(dim, input.dim());
  const auto restored = [&](const Tensor& out) {
    return dropped ? alias(out, layouts::unsqueeze(out.layout(), d)) : out;
  };
  run(op, which, input, dim, job, restored(values), restored(indices));
}

}  // namespace

void sort_stable(const Tensor& input, OptBool stable, int64_t dim, bool descending, Tensor& out0,
                 Tensor& out1) {
  run("sort", &LineLoops::sort, input, dim, {0, 0, descending, stable.value_or(false)}, out0, out1);
}

void topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool sorted, Tensor& out0,
          Tensor& out1) {
  run("topk", &LineLoops::topk, input, dim, {0, k, largest, sorted}, out0, out1);
}

void kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim, Tensor& out0,
              Tensor& out1) {
  run_one("kthvalue", &LineLoops::kth, input, dim, keepdim, {0, k - 1, false}, out0, out1);
}

void mode(const Tensor& input, int64_t dim, bool keepdim, Tensor& out0, Tensor& out1) {
  run_one("mode", &LineLoops::mode, input, dim, keepdim, {0, 0, false, false}, out0, out1);
}

}  // namespace msa::kernels
