// Counting elements in bins: each thread counts its share, then the counts are added up.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/lock.h"
#include "generated/kernels_place.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa::kernels {
namespace {

// The sums of the weights (1 where there are none) of the elements in each bin; bin_of(x) is below
// 0 for an element in none. Weights add up in T, as PyTorch adds them; counts stay whole.
template <class T, class F>
void count_bins(const Tensor& input, const Tensor& weight, const Tensor& out, F bin_of) {
  const T* in = input.data<T>();
  const T* each = weight.defined() ? weight.data<T>() : nullptr;
  const auto bins = static_cast<size_t>(out.numel());
  std::vector<double> total(bins);
  std::mutex adding;
  {
    const Unlocked unlocked(input.numel() >= cpu::kGrain);
    cpu::parallel(input.numel(), cpu::kGrain / 4, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(bins);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t bin = bin_of(in[i]);
        if (bin < 0) continue;
        double& sum = sums[static_cast<size_t>(bin)];
        sum = each ? static_cast<double>(static_cast<T>(sum + static_cast<double>(each[i])))
                   : sum + 1;
      }
      const std::lock_guard<std::mutex> lock(adding);
      for (size_t b = 0; b < bins; ++b) total[b] += sums[b];
    });
  }
  std::transform(total.begin(), total.end(), out.data<T>(),
                 [](double v) { return static_cast<T>(v); });
}

// The bin of x between sorted edges; the last one holds its upper edge too.
template <class T>
struct Edges {
  const T* edges;
  int64_t bins;
  double per_unit;  // bins for each unit of even ones, 0 of others

  int64_t bin_of(T x) const {
    if (!(x >= edges[0] && x <= edges[bins])) return -1;
    if (per_unit == 0)
      return std::min(std::upper_bound(edges, edges + bins + 1, x) - edges - 1, bins - 1);
    auto at = static_cast<int64_t>(static_cast<double>(x - edges[0]) * per_unit);
    at = std::clamp<int64_t>(at, 0, bins - 1);
    while (at > 0 && x < edges[at]) --at;
    while (at + 1 < bins && x >= edges[at + 1]) ++at;
    return at;
  }
};

}  // namespace

void _histogram(const Tensor& input, const Tensor& edges, const Tensor& weight, bool even,
                Tensor& out) {
  cpu::with_real("histogram", input.dtype(), [&]<class T>() {
    const Tensor in = cpu::as<T>(input), between = cpu::as<T>(edges), each = cpu::as<T>(weight);
    const T* e = between.data<T>();
    const int64_t bins = between.numel() - 1;
    const double width = static_cast<double>(e[bins]) - static_cast<double>(e[0]);
    const Edges<T> places{e, bins, even && width > 0 ? static_cast<double>(bins) / width : 0};
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      count_bins<T>(in, each, to, [&](T x) { return places.bin_of(x); });
    });
  });
}

// Each step is rounded to the input's dtype, as PyTorch computes it.
void _histc(const Tensor& input, int64_t bins, double low, double high, Tensor& out) {
  cpu::with_real("histc", input.dtype(), [&]<class T>() {
    const DType dtype = input.dtype();
    const auto step = [dtype](T v) -> T {
      if (dtype == DType::F16)
        return static_cast<T>(static_cast<float>(f16(static_cast<float>(v))));
      if (dtype == DType::BF16)
        return static_cast<T>(static_cast<float>(bf16(static_cast<float>(v))));
      return v;
    };
    const Tensor in = cpu::as<T>(input);
    const T first = step(static_cast<T>(low)), last = static_cast<T>(high),
            count = static_cast<T>(bins), width = static_cast<T>(high - low);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      count_bins<T>(in, Tensor(), to, [&](T x) -> int64_t {
        if (!(x >= first && x <= last)) return -1;
        const T at = step(step(step(x - first) * count) / width);
        // What overflows has no place of its own; PyTorch counts it in the first bin.
        return std::isfinite(at) ? std::min(static_cast<int64_t>(at), bins - 1) : 0;
      });
    });
  });
}

}  // namespace msa::kernels
