// gather and scatter: one index for each element, along one dimension.
#include <atomic>

#include "core/base/lock.h"
#include "core/dispatch/overlap.h"
#include "generated/kernels_index.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/index/offsets.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

// What is walked: rows along `dim` of the index tensor, with the rows of the two tensors beside it.
struct Rows {
  std::vector<int64_t> index, indexed, other;  // byte offset of each row
  int64_t length, index_step, indexed_step, other_step, n;
  bool shared = false;  // all rows read the same indices and stand side by side

  void find_shared(int64_t item) {
    shared = index.size() > 1;
    for (size_t r = 1; shared && r < index.size(); ++r) {
      const int64_t step = static_cast<int64_t>(r) * item;
      shared =
          index[r] == index[0] && indexed[r] == indexed[0] + step && other[r] == other[0] + step;
    }
  }
};

// Of a tensor as if it had at least one dimension.
Layout with_a_dim(const Tensor& t) { return t.dim() ? t.layout() : Layout{{1}, {1}, t.offset()}; }

Dims without(Dims dims, int64_t d) {
  dims.erase(static_cast<size_t>(d));
  return dims;
}

Rows find_rows(const Tensor& indexed, const Tensor& index, const Tensor& other, int64_t dim) {
  int64_t d = wrap_dim(dim, indexed.dim());
  Layout i = with_a_dim(index), x = with_a_dim(indexed), o = with_a_dim(other);
  size_t item = indexed.item_bytes();
  Dims sizes = without(i.sizes, d);
  auto bytes = static_cast<int64_t>(item);
  return {cpu::byte_offsets(sizes, without(i.strides, d), sizeof(int64_t)),
          cpu::byte_offsets(sizes, without(x.strides, d), item),
          cpu::byte_offsets(sizes, without(o.strides, d), item),
          i.sizes[d],
          i.strides[d],
          x.strides[d] * bytes,
          o.strides[d] * bytes,
          x.sizes[d]};
}

// Whether threads may share out a row too: reading may go in any order, writing may not.
enum class Order { Kept, Free };

// One thread's part: rows [begin, end), places [from, to) in each.
struct Part {
  int64_t begin, end, from, to;
};

// f for n pairs, `steps` apart in bytes: those of the index, of each index in the indexed tensor,
// of the other. Returns false, with the index in `wrong`, at the first one that is out of bounds.
template <class T, class F>
bool run_line(const char* index, char* indexed, char* other, int64_t n, const int64_t* steps,
              int64_t size, int64_t& wrong, const F& f) {
  for (int64_t j = 0; j < n; ++j, index += steps[0], other += steps[2]) {
    const int64_t i = *reinterpret_cast<const int64_t*>(index);
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(size)) {
      wrong = i;
      return false;
    }
    f(*reinterpret_cast<T*>(indexed + i * steps[1]), *reinterpret_cast<T*>(other));
  }
  return true;
}

// One index for whole slices, which lie dense.
template <class T, class F>
bool run_slices(const Rows& rows, const char* all, char* x, char* o, const Part& p, int64_t& wrong,
                const F& f) {
  const auto* index = reinterpret_cast<const int64_t*>(all + rows.index[0]);
  for (int64_t j = p.from; j < p.to; ++j) {
    const int64_t i = index[j * rows.index_step];
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(rows.n)) {
      wrong = i;
      return false;
    }
    T* left = reinterpret_cast<T*>(x + rows.indexed[0] + i * rows.indexed_step);
    T* right = reinterpret_cast<T*>(o + rows.other[0] + j * rows.other_step);
    for (int64_t r = p.begin; r < p.end; ++r) f(left[r], right[r]);
  }
  return true;
}

// Where the index is not dense along `dim` its neighbours belong to other rows: blocks of rows then
// go side by side.
template <class T, class F>
bool run_rows(const Rows& rows, const char* all, char* x, char* o, const Part& p, int64_t& wrong,
              const F& f) {
  if (rows.shared) return run_slices<T>(rows, all, x, o, p, wrong, f);
  constexpr int64_t kItem = sizeof(int64_t), kBlock = 512;
  const int64_t steps[] = {rows.index_step * kItem, rows.indexed_step, rows.other_step};
  const auto line = [&](int64_t r, int64_t j, int64_t n) {
    const auto row = static_cast<size_t>(r);
    return run_line<T>(all + rows.index[row] + j * steps[0], x + rows.indexed[row],
                       o + rows.other[row] + j * steps[2], n, steps, rows.n, wrong, f);
  };
  if (rows.index_step == 1) {
    for (int64_t r = p.begin; r < p.end; ++r)
      if (!line(r, p.from, p.to - p.from)) return false;
    return true;
  }
  for (int64_t first = p.begin; first < p.end; first += kBlock)
    for (int64_t j = p.from; j < p.to; ++j)
      for (int64_t r = first; r < std::min(first + kBlock, p.end); ++r)
        if (!line(r, j, 1)) return false;
  return true;
}

// f(element at the index, element of the other tensor) everywhere. Rows are independent of each
// other, so threads share them out; the order within a row is kept where it counts.
template <class T, class F>
void for_elements(const char* op, const Tensor& indexed, int64_t dim, const Tensor& given_index,
                  const Tensor& other, F f, Order order = Order::Kept) {
  Tensor index =
      given_index.dtype() == DType::I64 ? given_index : cpu::copied(given_index, DType::I64);
  Rows rows = find_rows(indexed, index, other, dim);
  rows.find_shared(sizeof(T));
  auto* x = static_cast<char*>(indexed.data());
  auto* o = static_cast<char*>(other.data());
  auto* all = static_cast<const char*>(index.data());
  const auto n_rows = static_cast<int64_t>(rows.index.size());
  const bool along = order == Order::Free && n_rows < cpu::get_num_threads();
  std::atomic<bool> outside = false;
  std::atomic<int64_t> wrong = 0;
  auto run = [&](int64_t begin, int64_t end) {
    int64_t at = 0;
    const Part part = along ? Part{0, n_rows, begin, end} : Part{begin, end, 0, rows.length};
    if (run_rows<T>(rows, all, x, o, part, at, f)) return;
    wrong = at;
    outside = true;
  };
  {
    Unlocked unlocked(index.numel() > cpu::kGrain);
    int64_t each = along ? n_rows : rows.length;
    cpu::parallel(along ? rows.length : n_rows,
                  std::max<int64_t>(cpu::kGrain / 4 / std::max<int64_t>(each, 1), 1), run);
  }
  MSA_REQUIRE(!outside, Runtime, op, "(): index ", wrong.load(), " is out of bounds for dimension ",
              dim, " with size ", rows.n);
}

void start_from(const Tensor& input, Tensor& out) {
  if (input.impl() != out.impl()) cpu::copy_into(out, input);
}

// A value as something that compares: halves as float.
template <class T>
auto compared(T value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

}  // namespace

void gather(const Tensor& input, int64_t dim, const Tensor& index, bool, Tensor& out0) {
  if (index.numel() == 0) return;
  cpu::for_item_type(input.item_bytes(), [&]<class T>(T) {
    for_elements<T>(
        "gather", input, dim, index, out0, [](T& from, T& to) { to = from; }, Order::Free);
  });
}

void scatter_src(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out0) {
  check_no_repeats("scatter_", out0);
  check_no_overlap("scatter_", out0, src);
  start_from(input, out0);
  if (index.numel() == 0) return;
  cpu::for_item_type(input.item_bytes(), [&]<class T>(T) {
    for_elements<T>("scatter", out0, dim, index, src, [](T& to, T& from) { to = from; });
  });
}

void scatter_value(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value,
                   Tensor& out0) {
  Tensor number = scalar_tensor(value, input.dtype());
  Tensor repeated = alias(number, {index.sizes(), Dims(index.sizes().size(), 0), 0});
  scatter_src(input, dim, index, repeated, out0);
}

void scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out0) {
  check_no_repeats("scatter_add_", out0);
  check_no_overlap("scatter_add_", out0, src);
  if (is_reduced(input.dtype()))
    return cpu::add_in_opmath(input, src, out0, [&](const Tensor& from, Tensor& to) {
      scatter_add(to, dim, index, from, to);
    });
  start_from(input, out0);
  if (index.numel() == 0) return;
  cpu::for_dtype("scatter_add_", input.dtype(), [&]<class T>(T) {
    for_elements<T>("scatter_add", out0, dim, index, src,
                    [](T& to, T& from) { to = cpu::add_element(to, from); });
  });
}

void _scatter_fold(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                   std::string_view reduce, bool include_self, Tensor& out0) {
  check_no_repeats("scatter_reduce_", out0);
  check_no_overlap("scatter_reduce_", out0, src);
  start_from(input, out0);
  if (index.numel() == 0) return;
  cpu::for_dtype("scatter_reduce_", input.dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
      refuse_dtype("scatter_reduce_", input.dtype());
    } else {
      auto fold = [&](auto f) { for_elements<T>("scatter_reduce", out0, dim, index, src, f); };
      if (reduce == "sum") {
        if (!include_self) scatter_value(out0, dim, index, Scalar(int64_t{0}), out0);
        fold([](T& to, T& from) { to = cpu::add_element(to, from); });
        return;
      }
      if (reduce == "prod") {
        if (!include_self) scatter_value(out0, dim, index, Scalar(int64_t{1}), out0);
        fold([](T& to, T& from) { to = cpu::mul_element(to, from); });
        return;
      }
      bool largest = reduce == "amax";
      // Any of the elements that arrive may stand for an input that does not count.
      if (!include_self) scatter_src(out0, dim, index, src, out0);
      fold([largest](T& to, T& from) {
        auto old = compared(to), value = compared(from);
        if (value != value || (old == old && (largest ? old < value : value < old))) to = from;
      });
    }
  });
}

}  // namespace msa::kernels
