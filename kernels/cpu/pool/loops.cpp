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

// NaN is taken as the largest.
template <class T, class I>
inline void take_larger(T value, I at, T& best, I& index) {
  const bool better = (value > best) | (value != value);
  best = better ? value : best;
  index = better ? at : index;
}

template <class T>
inline T least() {
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<T>(T(1) << (8 * sizeof(T) - 1)) : T(0);
  } else {
    return T(-__builtin_inff());
  }
}

// The whole windows of a row meet one tap: best[i] against from[i * stride].
template <class T, class I>
inline void meet_tap(const T* from, I first, int64_t stride, int64_t n, T* best, I* index) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      take_larger(from[i], static_cast<I>(first + I(i)), best[i], index[i]);
  } else if (stride == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      take_larger(from[2 * i], static_cast<I>(first + 2 * I(i)), best[i], index[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      take_larger(from[stride * i], static_cast<I>(first + I(stride * i)), best[i], index[i]);
  }
}

// One row of results; `index` counts elements of the plane.
template <class T, class I>
inline void max_row(const PoolShape& s, int64_t oz, int64_t oy, const T* in, T* out, I* index) {
  const PoolAxis &az = s.axes[0], &ay = s.axes[1], &ax = s.axes[2];
  const int64_t *xb = &ax.begin[0], *xe = &ax.end[0];
  const int64_t corner = ((&az.begin[0])[oz] * ay.in + (&ay.begin[0])[oy]) * ax.in;
  for (int64_t ox = 0; ox < ax.out; ++ox) {
    out[ox] = least<T>();
    index[ox] = static_cast<I>(corner + xb[ox]);
  }
  each_row(s, oz, oy, [&](int64_t row) {
    const auto edge = [&](int64_t from, int64_t to) {
      for (int64_t ox = from; ox < to; ++ox)
        for (int64_t x = xb[ox]; x < xe[ox]; x += ax.step)
          take_larger(in[row + x], static_cast<I>(row + x), out[ox], index[ox]);
    };
    edge(0, ax.whole_begin);
    const int64_t whole = ax.whole_end - ax.whole_begin;
    for (int64_t k = 0; k < ax.kernel && whole > 0; ++k) {
      const int64_t first = row + xb[ax.whole_begin] + k * ax.step;
      meet_tap(in + first, static_cast<I>(first), ax.stride, whole, out + ax.whole_begin,
               index + ax.whole_begin);
    }
    edge(ax.whole_end, ax.out);
  });
}

// Indices are counted in as many bytes as an element where they fit, which keeps vectors full.
template <class T>
void max(const PoolShape& s, const T* in, T* out, int64_t* indices) {
  constexpr int64_t kWidest = 4096;
  const int64_t width = s.axes[2].out;
  const bool narrow = sizeof(T) <= 4 && width <= kWidest && s.in_plane() < INT32_MAX;
  int32_t room[kWidest];
  for (int64_t oz = 0; oz < s.axes[0].out; ++oz)
    for (int64_t oy = 0; oy < s.axes[1].out; ++oy, out += width, indices += width) {
      if (!narrow) {
        max_row(s, oz, oy, in, out, indices);
        continue;
      }
      max_row(s, oz, oy, in, out, room);
      for (int64_t ox = 0; ox < width; ++ox) indices[ox] = room[ox];
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
