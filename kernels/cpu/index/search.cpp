// Searching in sorted rows, mantissas and exponents, the running log(sum(exp)).
#include <algorithm>
#include <cmath>

#include "core/base/lock.h"
#include "generated/kernels_search.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/index/offsets.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

// NaN counts as larger than every number, as in sort.
template <class T>
bool before(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class T>
int64_t place(const T* row, const int64_t* order, int64_t n, T value, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    T at = row[order ? order[middle] : middle];
    (right ? !before(value, at) : before(at, value)) ? low = middle + 1 : high = middle;
  }
  return low;
}

template <class T>
void search_rows(const Tensor& sorted, const Tensor& input, const Tensor& sorter, bool right,
                 const Tensor& out) {
  Tensor rows = cpu::contiguous(sorted, dtype_of<T>::value),
         values = cpu::contiguous(input, dtype_of<T>::value);
  Tensor order = sorter.defined() ? cpu::contiguous(sorter) : Tensor();
  int64_t n = sorted.size(-1),
          each = sorted.dim() == 1 ? values.numel() : (values.dim() ? values.size(-1) : 1);
  const T *row = rows.data<T>(), *value = values.data<T>();
  const int64_t* orders = order.defined() ? order.data<int64_t>() : nullptr;
  auto* to = out.data<int64_t>();
  Unlocked unlocked(values.numel() >= cpu::kGrain);
  cpu::parallel(values.numel(), cpu::kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t start = sorted.dim() == 1 ? 0 : i / each * n;
      to[i] = place(row + start, orders ? orders + start : nullptr, n, value[i], right);
    }
  });
}

}  // namespace

// Integers are compared as int64, all floating types exactly as float64.
void _searchsorted(const Tensor& sorted_sequence, const Tensor& input, const Tensor& sorter,
                   bool right, bool, Tensor& out0) {
  if (input.numel() == 0) return;
  bool integral = is_integral(sorted_sequence.dtype()) && is_integral(input.dtype());
  cpu::fill_contiguous(out0, DType::I64, [&](const Tensor& out) {
    if (integral) return search_rows<int64_t>(sorted_sequence, input, sorter, right, out);
    search_rows<double>(sorted_sequence, input, sorter, right, out);
  });
}

namespace {

template <class T>
void split_floats(const Tensor& input, const Tensor& mantissas, const Tensor& exponents) {
  const T* in = input.data<T>();
  T* mantissa = mantissas.data<T>();
  int32_t* exponent = exponents.data<int32_t>();
  const Unlocked unlocked(input.numel() >= cpu::kGrain);
  cpu::parallel(input.numel(), cpu::kGrain / 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) mantissa[i] = std::frexp(in[i], &exponent[i]);
  });
}

}  // namespace

void frexp(const Tensor& input, Tensor& out0, Tensor& out1) {
  cpu::with_real("frexp", input.dtype(), [&]<class T>() {
    const Tensor in = cpu::contiguous(input, dtype_of<T>::value);
    cpu::fill_contiguous(out1, DType::I32, [&](const Tensor& exponents) {
      cpu::fill_contiguous(out0, dtype_of<T>::value, [&](const Tensor& mantissas) {
        split_floats<T>(in, mantissas, exponents);
      });
    });
  });
}

namespace {

// The largest value so far, and the sum of exponentials relative to it.
struct RealLogSum {
  double top = -HUGE_VAL, sum = 0;
  double add(double v) {
    if (v > top) {
      sum = sum == 0 ? 1 : sum * std::exp(top - v) + 1;
      top = v;
    } else if (v != -HUGE_VAL || top != top) {
      sum += v == top ? 1 : std::exp(v - top);
    }
    return sum == 0 ? -HUGE_VAL : top + std::log(sum);
  }
};

// From value to value, so that angles go on past pi as PyTorch's do.
struct ComplexLogSum {
  c128 total{-HUGE_VAL, 0};
  c128 add(c128 v) {
    const bool later = total.real() < v.real();
    const c128 low = later ? total : v, high = later ? v : total;
    if (std::isnan(std::abs(v)) || std::isnan(std::abs(total))) return total = {NAN, NAN};
    if (std::isinf(high.real()) && low.real() == high.real())
      return total = high.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
    const c128 e = std::exp(low - high);
    return total = high + c128(0.5 * std::log1p(e.real() * (2 + e.real()) + e.imag() * e.imag()),
                               std::atan2(e.imag(), 1 + e.real()));
  }
};

template <class T, class LogSum>
void running_log_sum(const Tensor& input, int64_t dim, const Tensor& result) {
  int64_t d = wrap_dim(dim, input.dim()), n = input.dim() ? input.sizes()[d] : 1, inner = 1;
  for (int64_t i = d + 1; i < input.dim(); ++i) inner *= input.sizes()[i];
  const Tensor in = cpu::contiguous(input, dtype_of<T>::value);
  cpu::fill_contiguous(result, dtype_of<T>::value, [&](const Tensor& out) {
    for (int64_t line = 0; line < in.numel() / n; ++line) {
      const int64_t start = line / inner * inner * n + line % inner;
      LogSum sum;
      for (int64_t i = start; i < start + n * inner; i += inner)
        out.data<T>()[i] = sum.add(in.data<T>()[i]);
    }
  });
}

}  // namespace

void logcumsumexp(const Tensor& input, int64_t dim, Tensor& out0) {
  if (input.numel() == 0) return;
  is_complex(input.dtype()) ? running_log_sum<c128, ComplexLogSum>(input, dim, out0)
                            : running_log_sum<double, RealLogSum>(input, dim, out0);
}

}  // namespace msa::kernels
