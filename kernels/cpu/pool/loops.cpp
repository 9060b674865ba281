// Pooling row by row: whole windows are taken one tap at a time over the row, which vectorizes; the
// windows at the edges one by one.
#ifndef MSA_ISA
#include "kernels/cpu/pool/loops.h"
#define MSA_KERNEL_FILE "kernels/cpu/pool/loops.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_POOL_LOOPS(T)                                                   \
  template <>                                                               \
  const PoolLoops<T>& pool_loops<T>() {                                     \
    static const PoolLoops<T>* const chosen = MSA_CHOOSE(pool_loops_of<T>); \
    return *chosen;                                                         \
  }
#define MSA_POOL_LOOPS_BASE(T)          \
  template <>                           \
  const PoolLoops<T>& pool_loops<T>() { \
    return base::pool_loops_of<T>;      \
  }
MSA_POOL_LOOPS_BASE(f16)
MSA_POOL_LOOPS_BASE(bf16)
MSA_POOL_LOOPS(float)
MSA_POOL_LOOPS(double)
MSA_POOL_LOOPS(uint8_t)
MSA_POOL_LOOPS(int8_t)
MSA_POOL_LOOPS(int16_t)
MSA_POOL_LOOPS(int32_t)
MSA_POOL_LOOPS(int64_t)
}  // namespace msa::cpu
#else

namespace pool {

// Calls on_row(input row's offset) for every input row that the windows (oz, oy) cover.
template <class F>
inline void each_row(const PoolShape& s, int64_t oz, int64_t oy, F&& on_row) {
  const PoolAxis &az = s.axes[0], &ay = s.axes[1];
  const int64_t *zb = &az.begin[0], *ze = &az.end[0], *yb = &ay.begin[0], *ye = &ay.end[0];
  for (int64_t z = zb[oz]; z < ze[oz]; z += az.step)
    for (int64_t y = yb[oy]; y < ye[oy]; y += ay.step) on_row((z * ay.in + y) * s.axes[2].in);
}

template <class T>
inline void take_larger(T value, int64_t at, T& best, int64_t& index) {
  const bool better = value > best || value != value || index < 0;
  best = better ? value : best;
  index = better ? at : index;
}

template <class T>
void max(const PoolShape& s, const T* in, T* out, int64_t* indices) {
  const PoolAxis& ax = s.axes[2];
  const int64_t *xb = &ax.begin[0], *xe = &ax.end[0];
  for (int64_t oz = 0; oz < s.axes[0].out; ++oz) {
    for (int64_t oy = 0; oy < s.axes[1].out; ++oy, out += ax.out, indices += ax.out) {
      for (int64_t ox = 0; ox < ax.out; ++ox) {
        out[ox] = T(0);
        indices[ox] = -1;
      }
      each_row(s, oz, oy, [&](int64_t row) {
        const auto edge = [&](int64_t from, int64_t to) {
          for (int64_t ox = from; ox < to; ++ox)
            for (int64_t x = xb[ox]; x < xe[ox]; x += ax.step)
              take_larger(in[row + x], row + x, out[ox], indices[ox]);
        };
        edge(0, ax.whole_begin);
        for (int64_t k = 0; k < ax.kernel && ax.whole_begin < ax.whole_end; ++k) {
          const int64_t first = row + xb[ax.whole_begin] + k * ax.step,
                        n = ax.whole_end - ax.whole_begin;
          const int64_t stride = ax.stride;
          T* best = out + ax.whole_begin;
          int64_t* index = indices + ax.whole_begin;
          if (stride == 2) {
#pragma GCC ivdep
            for (int64_t i = 0; i < n; ++i)
              take_larger(in[first + 2 * i], first + 2 * i, best[i], index[i]);
          } else {
#pragma GCC ivdep
            for (int64_t i = 0; i < n; ++i)
              take_larger(in[first + stride * i], first + stride * i, best[i], index[i]);
          }
        }
        edge(ax.whole_end, ax.out);
      });
    }
  }
}

template <class T>
inline T divided(T sum, int64_t by) {
  return static_cast<T>(sum / static_cast<T>(by));
}
template <class T>
inline T averaged(const PoolShape& s, T sum, int64_t oz, int64_t oy, int64_t ox) {
  if (s.divisor) return divided(sum, s.divisor);
  const int64_t z = (&s.axes[0].count[0])[oz], y = (&s.axes[1].count[0])[oy],
                x = (&s.axes[2].count[0])[ox];
  return s.divides_by_axis ? divided(divided(divided(sum, z), y), x) : divided(sum, z * y * x);
}

template <class T>
void average(const PoolShape& s, const T* in, T* out) {
  const PoolAxis& ax = s.axes[2];
  const int64_t *xb = &ax.begin[0], *xe = &ax.end[0];
  for (int64_t oz = 0; oz < s.axes[0].out; ++oz) {
    for (int64_t oy = 0; oy < s.axes[1].out; ++oy, out += ax.out) {
      for (int64_t ox = 0; ox < ax.out; ++ox) out[ox] = T(0);
      each_row(s, oz, oy, [&](int64_t row) {
        const auto edge = [&](int64_t from, int64_t to) {
          for (int64_t ox = from; ox < to; ++ox)
            for (int64_t x = xb[ox]; x < xe[ox]; ++x)
              out[ox] = static_cast<T>(out[ox] + in[row + x]);
        };
        edge(0, ax.whole_begin);
        for (int64_t k = 0; k < ax.kernel && ax.whole_begin < ax.whole_end; ++k) {
          const T* from = in + row + xb[ax.whole_begin] + k;
          T* to = out + ax.whole_begin;
          const int64_t n = ax.whole_end - ax.whole_begin, stride = ax.stride;
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + from[i * stride]);
        }
        edge(ax.whole_end, ax.out);
      });
      for (int64_t ox = 0; ox < ax.out; ++ox) out[ox] = averaged(s, out[ox], oz, oy, ox);
    }
  }
}

template <class T>
void average_backward(const PoolShape& s, const T* grad, T* out) {
  const PoolAxis& ax = s.axes[2];
  const int64_t *xb = &ax.begin[0], *xe = &ax.end[0];
  for (int64_t oz = 0; oz < s.axes[0].out; ++oz) {
    for (int64_t oy = 0; oy < s.axes[1].out; ++oy, grad += ax.out) {
      for (int64_t ox = 0; ox < ax.out; ++ox) {
        const T share = averaged(s, grad[ox], oz, oy, ox);
        each_row(s, oz, oy, [&](int64_t row) {
          for (int64_t x = xb[ox]; x < xe[ox]; ++x)
            out[row + x] = static_cast<T>(out[row + x] + share);
        });
      }
    }
  }
}

}  // namespace pool

template <class T>
inline constexpr PoolLoops<T> pool_loops_of = {pool::max<T>, pool::average<T>,
                                               pool::average_backward<T>};
#endif
