// Scans along a dimension: running sums, products, largest and smallest.
#ifndef MSA_ISA
#include "core/base/lock.h"
#include "generated/kernels_order.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {

// Dense memory as (lines, n, inner): the scan runs over n.
struct ScanShape {
  int64_t n, inner;
};
// Scans lines [begin, end); `index` is null where positions are not wanted.
using ScanLoop = void (*)(const void* in, void* out, int64_t* index, ScanShape shape, int64_t begin,
                          int64_t end);
struct ScanTable {
  ScanLoop loops[kLoopDTypes] = {};
};

}  // namespace msa::cpu

#define MSA_KERNEL_FILE "kernels/cpu/scan.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
namespace {
const ScanTable* const sums = MSA_CHOOSE(scan_sums);
const ScanTable* const products = MSA_CHOOSE(scan_products);
const ScanTable* const largest = MSA_CHOOSE(scan_largest);
const ScanTable* const smallest = MSA_CHOOSE(scan_smallest);
}  // namespace
}  // namespace msa::cpu

namespace msa::kernels {
namespace {

// Runs over dense copies where input or output is not dense already, or holds a half type.
void scan(const char* op, const cpu::ScanTable& table, DType compute, const Tensor& input,
          int64_t dim, Tensor& out, Tensor* index) {
  if (input.numel() == 0) return;
  cpu::ScanLoop loop = compute < DType::C32 ? table.loops[static_cast<int>(compute)] : nullptr;
  if (!loop) refuse_dtype(op, input.dtype());
  Tensor in = cpu::contiguous(input, compute);
  bool direct = out.dtype() == compute && out.is_contiguous(),
       direct_index = !index || index->is_contiguous();
  Tensor result = direct ? out : empty(out.sizes(), compute);
  Tensor where = direct_index ? (index ? *index : Tensor()) : empty(index->sizes(), DType::I64);
  cpu::ScanShape shape{1, 1};
  int64_t lines = 1, d = wrap_dim(dim, input.dim());
  for (int64_t i = 0; i < input.dim(); ++i)
    (i < d ? lines : i == d ? shape.n : shape.inner) *= input.sizes()[i];
  {
    Unlocked unlocked(input.numel() >= cpu::kGrain);
    auto* positions = where.defined() ? where.data<int64_t>() : nullptr;
    const void* from = in.data();
    void* to = result.data();
    cpu::parallel(
        lines, std::max<int64_t>(1, cpu::kGrain / (shape.n * shape.inner)),
        [&](int64_t begin, int64_t end) { loop(from, to, positions, shape, begin, end); });
  }
  if (!direct) cpu::copy_into(out, result);
  if (!direct_index) cpu::copy_into(*index, where);
}

DType summed(const Tensor& out) {
  return is_integral(out.dtype()) ? DType::I64 : opmath(out.dtype());
}

}  // namespace

void cumsum(const Tensor& input, int64_t dim, OptDType, Tensor& out0) {
  scan("cumsum", *cpu::sums, summed(out0), input, dim, out0, nullptr);
}
void cumprod(const Tensor& input, int64_t dim, OptDType, Tensor& out0) {
  scan("cumprod", *cpu::products, summed(out0), input, dim, out0, nullptr);
}
void cummax(const Tensor& input, int64_t dim, Tensor& out0, Tensor& out1) {
  scan("cummax", *cpu::largest, opmath(input.dtype()), input, dim, out0, &out1);
}
void cummin(const Tensor& input, int64_t dim, Tensor& out0, Tensor& out1) {
  scan("cummin", *cpu::smallest, opmath(input.dtype()), input, dim, out0, &out1);
}

}  // namespace msa::kernels
#else

// Running values are kept wider than they are written.
template <class T>
struct RunningOf {
  using type = T;
};
template <>
struct RunningOf<float> {
  using type = double;
};
template <>
struct RunningOf<Cx<float> > {
  using type = Cx<double>;
};

struct AddUp {
  template <class A>
  static A of(A a, A b) {
    return a + b;
  }
};
struct MultiplyUp {
  template <class A>
  static A of(A a, A b) {
    return a * b;
  }
};

// Four lines advance together: each addition waits for the one before it in its own line only.
template <class T, class Combine>
inline void accumulate_lines(const T* in, T* out, int64_t n, int64_t lines) {
  using A = typename RunningOf<T>::type;
  int64_t line = 0;
  for (; line + 4 <= lines; line += 4, in += 4 * n, out += 4 * n) {
    A running[4];
    for (int k = 0; k < 4; ++k) out[k * n] = T(running[k] = A(in[k * n]));
    for (int64_t i = 1; i < n; ++i)
      for (int k = 0; k < 4; ++k)
        out[k * n + i] = T(running[k] = Combine::of(running[k], A(in[k * n + i])));
  }
  for (; line < lines; ++line, in += n, out += n) {
    A running = A(in[0]);
    out[0] = in[0];
    for (int64_t i = 1; i < n; ++i) out[i] = T(running = Combine::of(running, A(in[i])));
  }
}

template <class T, class Combine>
void accumulate(const void* from, void* to, int64_t*, ScanShape s, int64_t begin, int64_t end) {
  using A = typename RunningOf<T>::type;
  const T* in = static_cast<const T*>(from) + begin * s.n * s.inner;
  T* out = static_cast<T*>(to) + begin * s.n * s.inner;
  if (s.inner == 1) return accumulate_lines<T, Combine>(in, out, s.n, end - begin);
  constexpr int64_t width = 256;
  for (int64_t line = begin; line < end; ++line, in += s.n * s.inner, out += s.n * s.inner)
    for (int64_t at = 0; at < s.inner; at += width) {
      int64_t columns = s.inner - at < width ? s.inner - at : width;
      A running[width];
      for (int64_t c = 0; c < columns; ++c) out[at + c] = T(running[c] = A(in[at + c]));
      for (int64_t i = 1; i < s.n; ++i)
        for (int64_t c = 0; c < columns; ++c) {
          int64_t place = i * s.inner + at + c;
          out[place] = T(running[c] = Combine::of(running[c], A(in[place])));
        }
    }
}

// The best so far and where it stands: of equals the last, and NaN stays once it came.
template <class T, bool Max>
void running_best(const void* from, void* to, int64_t* index, ScanShape s, int64_t begin,
                  int64_t end) {
  for (int64_t line = begin; line < end; ++line)
    for (int64_t c = 0; c < s.inner; ++c) {
      int64_t base = line * s.n * s.inner + c, best_at = 0;
      const T* in = static_cast<const T*>(from) + base;
      T* out = static_cast<T*>(to) + base;
      T best = in[0];
      for (int64_t i = 0; i < s.n; ++i) {
        T v = in[i * s.inner];
        if (v != v || (best == best && (Max ? v >= best : v <= best))) {
          best = v;
          best_at = i;
        }
        out[i * s.inner] = best;
        index[base + i * s.inner] = best_at;
      }
    }
}

template <class... T, class F>
constexpr ScanTable make_scans(Types<T...>, F loop_of) {
  ScanTable table;
  ((table.loops[index_of<T>()] = loop_of.template operator()<T>()), ...);
  return table;
}
using Accumulated = Join<Types<int64_t>, Inexact>;
using Compared = Join<Bool, SmallInts, Floats>;
constexpr ScanTable scan_sums =
    make_scans(Accumulated{}, []<class T>() -> ScanLoop { return &accumulate<T, AddUp>; });
constexpr ScanTable scan_products =
    make_scans(Accumulated{}, []<class T>() -> ScanLoop { return &accumulate<T, MultiplyUp>; });
constexpr ScanTable scan_largest =
    make_scans(Compared{}, []<class T>() -> ScanLoop { return &running_best<T, true>; });
constexpr ScanTable scan_smallest =
    make_scans(Compared{}, []<class T>() -> ScanLoop { return &running_best<T, false>; });
#endif
