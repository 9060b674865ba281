// Distances between all pairs of rows, and their gradient; p = 2, 1 and infinity without powers.
#ifndef MSA_ISA
#include <algorithm>
#include <cmath>

#include "core/base/lock.h"
#include "generated/kernels_loss.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {

enum class Norm { Count, Sum, Euclid, Largest, Power };

// n rows of m numbers; `turned` is m rows of n, so that neighbouring pairs lie side by side.
template <class T>
struct PairRows {
  int64_t n, m;
  const T *rows, *turned;
  Norm norm;
  double p;
  // Where the pairs (i, i + 1), (i, i + 2) ... begin.
  int64_t first_pair(int64_t i) const { return i * (2 * n - i - 1) / 2; }
};
template <class T>
struct PairLoops {
  void (*forward)(const PairRows<T>& r, int64_t i, T* out);
  void (*backward)(const PairRows<T>& r, const T* grad, const T* distances, int64_t begin,
                   int64_t end, T* out);
};

}  // namespace msa::cpu

#define MSA_KERNEL_FILE "kernels/cpu/loss/pdist.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
template <class T>
const PairLoops<T>& pair_loops() {
  static const PairLoops<T>* const chosen = MSA_CHOOSE(pair_loops_of<T>);
  return *chosen;
}
}  // namespace msa::cpu

namespace msa::kernels {
namespace {

using cpu::pair_loops;

cpu::Norm norm_of(double p) {
  return p == 0          ? cpu::Norm::Count
         : p == 1        ? cpu::Norm::Sum
         : p == 2        ? cpu::Norm::Euclid
         : std::isinf(p) ? cpu::Norm::Largest
                         : cpu::Norm::Power;
}

template <class T>
cpu::PairRows<T> pair_rows(const Tensor& rows, const Tensor& turned, double p) {
  return {rows.sizes()[0], rows.sizes()[1], rows.data<T>(), turned.data<T>(), norm_of(p), p};
}

template <class T>
Tensor turned(const Tensor& rows) {
  const int64_t n = rows.sizes()[0], m = rows.sizes()[1];
  return cpu::copied(alias(rows, {{m, n}, {1, m}, rows.offset()}));
}

}  // namespace

void _pdist(const Tensor& input, double p, Tensor& out) {
  if (out.numel() == 0) return;
  cpu::with_real("pdist", input.dtype(), [&]<class T>() {
    const Tensor rows = cpu::as<T>(input), columns = turned<T>(rows);
    const auto r = pair_rows<T>(rows, columns, p);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      T* distances = to.data<T>();
      const Unlocked unlocked(out.numel() * r.m >= cpu::kGrain);
      cpu::parallel(r.n, std::max<int64_t>(1, cpu::kGrain / (r.n * r.m + 1)),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        pair_loops<T>().forward(r, i, distances + r.first_pair(i));
                    });
    });
  });
}

void _pdist_backward(const Tensor& grad_output, const Tensor& input, double p,
                     const Tensor& distances, Tensor& out) {
  cpu::with_real("pdist", input.dtype(), [&]<class T>() {
    const Tensor rows = cpu::as<T>(input), grad = cpu::as<T>(grad_output),
                 far = cpu::as<T>(distances);
    const auto r = pair_rows<T>(rows, rows, p);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      std::fill_n(to.data<T>(), to.numel(), T(0));
      const Unlocked unlocked(far.numel() * r.m >= cpu::kGrain);
      cpu::parallel(r.m, std::max<int64_t>(8, cpu::kGrain / (far.numel() + 1)),
                    [&](int64_t begin, int64_t end) {
                      pair_loops<T>().backward(r, grad.data<T>(), far.data<T>(), begin, end,
                                               to.data<T>());
                    });
    });
  });
}

}  // namespace msa::kernels
#else

namespace pairs {

template <class T>
inline T power(T x, T p) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_powf(x, p);
  } else {
    return __builtin_pow(x, p);
  }
}

// out[j] = fold over the columns k of term(row i, row i + 1 + j).
template <class T, class F>
inline void fold_pairs(const PairRows<T>& r, int64_t i, T* out, F term) {
  const int64_t count = r.n - i - 1;
  for (int64_t j = 0; j < count; ++j) out[j] = T(0);
  for (int64_t k = 0; k < r.m; ++k) {
    const T mine = r.rows[i * r.m + k];
    const T* other = r.turned + k * r.n + i + 1;
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) out[j] = term(out[j], magnitude(mine - other[j]));
  }
}

template <class T>
void forward(const PairRows<T>& r, int64_t i, T* out) {
  const T p = static_cast<T>(r.p);
  switch (r.norm) {
    case Norm::Count:
      return fold_pairs(r, i, out, [](T sum, T d) { return sum + T(d != 0); });
    case Norm::Sum:
      return fold_pairs(r, i, out, [](T sum, T d) { return sum + d; });
    case Norm::Largest:
      return fold_pairs(r, i, out, [](T most, T d) { return (d > most) | (d != d) ? d : most; });
    case Norm::Euclid:
      fold_pairs(r, i, out, [](T sum, T d) { return sum + d * d; });
#pragma GCC ivdep
      for (int64_t j = 0; j < r.n - i - 1; ++j) out[j] = square_root(out[j]);
      return;
    case Norm::Power:
      fold_pairs(r, i, out, [p](T sum, T d) { return sum + power(d, p); });
      for (int64_t j = 0; j < r.n - i - 1; ++j) out[j] = power(out[j], 1 / p);
      return;
  }
}

// The slope of a distance against the first row's element, d being the signed difference.
template <class T, class F>
inline void add_slopes(const PairRows<T>& r, const T* grad, const T* distances, int64_t begin,
                       int64_t end, T* out, F slope) {
  for (int64_t i = 0; i < r.n; ++i)
    for (int64_t j = i + 1; j < r.n; ++j, ++grad, ++distances) {
      const T g = *grad, far = *distances;
      const T *a = r.rows + i * r.m, *b = r.rows + j * r.m;
      T *of_a = out + i * r.m, *of_b = out + j * r.m;
#pragma GCC ivdep
      for (int64_t k = begin; k < end; ++k) {
        const T part = slope(a[k] - b[k], g, far);
        of_a[k] += part;
        of_b[k] -= part;
      }
    }
}

template <class T>
inline T sign_of(T d) {
  return T(d > 0) - T(d < 0);
}

template <class T>
void backward(const PairRows<T>& r, const T* grad, const T* distances, int64_t begin, int64_t end,
              T* out) {
  const T p = static_cast<T>(r.p);
  const auto run = [&](auto slope) { add_slopes(r, grad, distances, begin, end, out, slope); };
  switch (r.norm) {
    case Norm::Count:
      return;
    case Norm::Sum:
      return run([](T d, T g, T) { return sign_of(d) * g; });
    case Norm::Euclid:
      return run([](T d, T g, T far) { return far == 0 ? T(0) : d * (g / far); });
    case Norm::Largest:
      return run([](T d, T g, T far) { return magnitude(d) == far ? sign_of(d) * g : T(0); });
    case Norm::Power:
      return run([p](T d, T g, T far) {
        return far == 0 || d == 0 ? T(0) : sign_of(d) * power(magnitude(d) / far, p - 1) * g;
      });
  }
}

}  // namespace pairs

template <class T>
inline constexpr PairLoops<T> pair_loops_of = {pairs::forward<T>, pairs::backward<T>};
#endif
