// Attention block by block: a few queries' scores, their softmax and their sums of values stay in
// cache.
#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/matmul/small_product.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/softmax/loops.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

constexpr int64_t kQueries = 32;  // of one block

// One head: (queries, width), (keys, width), (keys, value_width), all contiguous.
struct Head {
  int64_t queries, keys, width, value_width;
  bool is_causal;
  double scale;
};

template <class T>
void turn(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t kBlock = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
        to[c * rows + r] = from[r * columns + c];
}

// Softmax of each row over the keys its query may see, zeros behind them.
template <class T>
void weigh(const Head& h, int64_t first, int64_t count, int64_t seen, T* scores) {
  for (int64_t i = 0; i < count; ++i) {
    T* row = scores + i * h.keys;
    const int64_t keys = h.is_causal ? std::min(h.keys, first + i + 1) : h.keys;
    cpu::softmax_loops<T>().softmax({1, keys, 1, row, nullptr, row});
    std::fill(row + keys, row + seen, T(0));
  }
}

template <class T>
void attend(const Head& h, const T* query, const T* keys_turned, const T* value, T* scores,
            T* out) {
  const auto& products = cpu::small_kernels<T>();
  for (int64_t first = 0; first < h.queries; first += kQueries) {
    const int64_t count = std::min(kQueries, h.queries - first);
    const int64_t seen = h.is_causal ? std::min(h.keys, first + count) : h.keys;
    products.product({count, seen, h.width, query + first * h.width, h.width, 1, keys_turned,
                      h.keys, scores, h.keys, static_cast<T>(h.scale), T(0)});
    weigh(h, first, count, seen, scores);
    products.product({count, h.value_width, seen, scores, h.keys, 1, value, h.value_width,
                      out + first * h.value_width, h.value_width});
  }
}

}  // namespace

namespace kernels {

void _attention(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal,
                double scale, Tensor& out) {
  if (out.numel() == 0) return;
  const Head h{query.size(-2), key.size(-2), query.size(-1), value.size(-1), is_causal, scale};
  const int64_t heads = out.numel() / (h.queries * h.value_width);
  cpu::with_real("scaled_dot_product_attention", query.dtype(), [&]<class T>() {
    const Tensor q = cpu::as<T>(query), k = cpu::as<T>(key), v = cpu::as<T>(value);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      const T *const qs = q.data<T>(), *const ks = k.data<T>(), *const vs = v.data<T>();
      T* const to = target.data<T>();
      const int64_t work = h.queries * h.keys * (h.width + h.value_width);
      const Unlocked unlocked(heads * work >= cpu::kGrain);
      cpu::parallel(heads, std::max<int64_t>(1, 16 * cpu::kGrain / (work + 1)),
                    [&](int64_t begin, int64_t end) {
                      cpu::Scratch<T> turned(h.keys * h.width), scores(kQueries * h.keys);
                      for (int64_t i = begin; i < end; ++i) {
                        turn(ks + i * h.keys * h.width, h.keys, h.width, turned.data());
                        attend(h, qs + i * h.queries * h.width, turned.data(),
                               vs + i * h.keys * h.value_width, scores.data(),
                               to + i * h.queries * h.value_width);
                      }
                    });
    });
  });
}

}  // namespace kernels
}  // namespace msa
