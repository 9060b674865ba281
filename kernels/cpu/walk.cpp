// The walker: from operands of any shape to calls of a two-dimensional loop.
#include "kernels/cpu/walk.h"

#include <algorithm>
#include <cstring>

#include "core/base/lock.h"
#include "kernels/cpu/cast.h"
#include "kernels/cpu/loop_failure.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
namespace {

constexpr int kMaxDims = 64;                  // of more than one element: no tensor has as many
constexpr int64_t kBlockBytes = 8192;         // of scratch for each converted operand
constexpr int64_t kTile = 32;                 // square tiles where strides disagree
constexpr int64_t kUnlockElements = 1 << 15;  // shorter work does not pay for releasing the lock

// The iteration space: dimension 0 is the inner one; strides are in bytes.
struct Space {
  int dims = 0, operands = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  char* data[kMaxOperands];
};

struct Work {
  Loop loop;
  const Scalar* params;
  bool converts = false;
  bool tiles = false;
  Loop cast[kMaxOperands] = {};           // null: the operand is used as it is
  int64_t seen_bytes[kMaxOperands] = {};  // of one element as the loop sees it
};

// Whether dimension a should be inside dimension b: the output's strides decide, then the inputs'.
bool belongs_inside(const Space& s, int a, int b) {
  for (int k = 0; k < s.operands; ++k) {
    int64_t x = std::abs(s.strides[a][k]), y = std::abs(s.strides[b][k]);
    if (x == y || x == 0 || y == 0) continue;
    return x < y;
  }
  return false;
}

void sort_dims(Space& s) {
  for (int i = 1; i < s.dims; ++i)
    for (int j = i; j > 0 && belongs_inside(s, j, j - 1); --j) {
      std::swap(s.sizes[j], s.sizes[j - 1]);
      std::swap(s.strides[j], s.strides[j - 1]);
    }
}

// Joins neighbours that every operand steps through as one.
void collapse_dims(Space& s) {
  int last = 0;
  for (int d = 1; d < s.dims; ++d) {
    bool joins = true;
    for (int k = 0; k < s.operands; ++k)
      joins &= s.strides[d][k] == s.strides[last][k] * s.sizes[last];
    if (joins) {
      s.sizes[last] *= s.sizes[d];
    } else if (++last != d) {
      s.sizes[last] = s.sizes[d];
      std::memcpy(s.strides[last], s.strides[d], sizeof s.strides[d]);
    }
  }
  s.dims = last + 1;
}

// Fills `s` without dimensions of size 1; false when there is nothing to do. The last dimension of
// `sizes` is tried first as the inner one.
bool make_space(Space& s, DimsView sizes, std::span<const Operand> operands) {
  s.operands = static_cast<int>(operands.size());
  int64_t item[kMaxOperands];
  for (int k = 0; k < s.operands; ++k) {
    s.data[k] = static_cast<char*>(operands[k].data);
    item[k] = static_cast<int64_t>(size_bytes(operands[k].dtype));
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    s.sizes[s.dims] = sizes[d];
    for (int k = 0; k < s.operands; ++k) s.strides[s.dims][k] = operands[k].strides[d] * item[k];
    ++s.dims;
  }
  if (s.dims == 0) {
    s.sizes[0] = 1;
    for (int k = 0; k < s.operands; ++k) s.strides[0][k] = item[k];
    s.dims = 1;
  } else {
    sort_dims(s);
    collapse_dims(s);
  }
  return true;
}

// Whether some operand would rather have dimension 1 inside: then whole rows waste cache lines.
bool strides_disagree(const Space& s) {
  if (s.dims < 2 || s.sizes[0] <= 4 || s.sizes[1] <= 4) return false;
  for (int k = 0; k < s.operands; ++k) {
    int64_t x = std::abs(s.strides[0][k]), y = std::abs(s.strides[1][k]);
    if (y != 0 && x > y && x >= 64) return true;
  }
  return false;
}

// --- a two-dimensional piece
// ----------------------------------------------------------------------
struct Piece {
  char* data[kMaxOperands];
  int64_t strides[2 * kMaxOperands];  // inner ones, then outer ones, as loops take them
  int64_t inner, outer;
};

// Moves the operands of `work` that hold another dtype through scratch, one block of rows at a
// time.
void run_block(const Work& work, int n, Piece p, char (*scratch)[kBlockBytes]) {
  char* target = p.data[0];
  for (int k = 0; k < n; ++k) {
    if (!work.cast[k]) continue;
    int64_t item = work.seen_bytes[k];
    // A repeated input is converted once; the output has every element.
    int64_t inner = k > 0 && p.strides[k] == 0 ? 1 : p.inner,
            outer = k > 0 && p.strides[n + k] == 0 ? 1 : p.outer;
    if (k > 0) {
      char* both[] = {scratch[k], p.data[k]};
      int64_t strides[] = {item, p.strides[k], item * inner, p.strides[n + k]};
      work.cast[k](both, strides, inner, outer, nullptr);
    }
    p.data[k] = scratch[k];
    if (k > 0) {
      p.strides[k] = inner == 1 ? 0 : item;
      p.strides[n + k] = outer == 1 ? 0 : item * inner;
    }
  }
  if (!work.cast[0]) {
    work.loop(p.data, p.strides, p.inner, p.outer, work.params);
    return;
  }
  int64_t item = work.seen_bytes[0], inner_stride = p.strides[0], outer_stride = p.strides[n];
  p.strides[0] = item;
  p.strides[n] = item * p.inner;
  work.loop(p.data, p.strides, p.inner, p.outer, work.params);
  char* both[] = {target, scratch[0]};
  int64_t strides[] = {inner_stride, item, outer_stride, item * p.inner};
  work.cast[0](both, strides, p.inner, p.outer, nullptr);
}

void run_converted(const Work& work, int n, const Piece& whole) {
  alignas(64) char scratch[kMaxOperands][kBlockBytes];
  int64_t widest = 1;
  for (int k = 0; k < n; ++k) widest = std::max(widest, work.seen_bytes[k]);
  int64_t block = kBlockBytes / widest;
  int64_t columns = std::min(whole.inner, block), rows = std::max<int64_t>(1, block / columns);
  for (int64_t j = 0; j < whole.outer; j += rows)
    for (int64_t i = 0; i < whole.inner; i += columns) {
      Piece p = whole;
      p.inner = std::min(columns, whole.inner - i);
      p.outer = std::min(rows, whole.outer - j);
      for (int k = 0; k < n; ++k) p.data[k] += i * p.strides[k] + j * p.strides[n + k];
      run_block(work, n, p, scratch);
    }
}

void run_tiled(const Work& work, int n, const Piece& whole) {
  for (int64_t j = 0; j < whole.outer; j += kTile)
    for (int64_t i = 0; i < whole.inner; i += kTile) {
      char* data[kMaxOperands];
      for (int k = 0; k < n; ++k)
        data[k] = whole.data[k] + i * whole.strides[k] + j * whole.strides[n + k];
      work.loop(data, whole.strides, std::min(kTile, whole.inner - i),
                std::min(kTile, whole.outer - j), work.params);
    }
}

// --- all pieces of a space
// ------------------------------------------------------------------------
void run_space(const Work& work, const Space& s) {
  const int n = s.operands;
  Piece p;
  p.inner = s.sizes[0];
  p.outer = s.dims > 1 ? s.sizes[1] : 1;
  for (int k = 0; k < n; ++k) {
    p.data[k] = s.data[k];
    p.strides[k] = s.strides[0][k];
    p.strides[n + k] = s.dims > 1 ? s.strides[1][k] : 0;
  }
  int64_t index[kMaxDims] = {};
  for (;;) {
    if (work.converts) {
      run_converted(work, n, p);
    } else if (work.tiles) {
      run_tiled(work, n, p);
    } else {
      work.loop(p.data, p.strides, p.inner, p.outer, work.params);
    }
    int d = 2;
    for (; d < s.dims; ++d) {
      for (int k = 0; k < n; ++k) p.data[k] += s.strides[d][k];
      if (++index[d] < s.sizes[d]) break;
      index[d] = 0;
      for (int k = 0; k < n; ++k) p.data[k] -= s.strides[d][k] * s.sizes[d];
    }
    if (d >= s.dims) return;
  }
}

// The dimension to split over threads: the outermost that gives each enough, else the largest.
int split_dim(const Space& s) {
  int largest = 0;
  for (int d = s.dims - 1; d >= 0; --d) {
    if (s.sizes[d] >= 8 * get_num_threads()) return d;
    if (s.sizes[d] > s.sizes[largest]) largest = d;
  }
  return largest;
}

void run_parallel(const Work& work, const Space& s, int64_t numel) {
  if (numel < 2 * kGrain || get_num_threads() == 1) {
    run_space(work, s);
    return;
  }
  int d = split_dim(s);
  int64_t rest = numel / s.sizes[d];
  parallel(s.sizes[d], std::max<int64_t>(1, kGrain / rest), [&](int64_t begin, int64_t end) {
    Space part = s;
    part.sizes[d] = end - begin;
    for (int k = 0; k < s.operands; ++k) part.data[k] += begin * s.strides[d][k];
    run_space(work, part);
  });
}

}  // namespace

std::atomic<bool> divided_by_zero{false};
void note_division_by_zero() { divided_by_zero.store(true, std::memory_order_relaxed); }
void raise_division_by_zero() {
  divided_by_zero.store(false, std::memory_order_relaxed);
  fail(ErrorKind::Runtime,
       "ZeroDivisionError: an integer was divided by zero; check the divisor, or divide as float");
}

void walk(DimsView sizes, std::span<const Operand> operands, Loop loop, const DType* seen,
          const Scalar* params) {
  Space space;
  if (!make_space(space, sizes, operands)) return;
  Work work{loop, params};
  for (int k = 0; k < space.operands; ++k) {
    work.seen_bytes[k] = static_cast<int64_t>(size_bytes(seen[k]));
    if (operands[k].dtype == seen[k]) continue;
    work.converts = true;
    work.cast[k] =
        k == 0 ? cast_loop(operands[k].dtype, seen[k]) : cast_loop(seen[k], operands[k].dtype);
  }
  work.tiles = strides_disagree(space);
  int64_t numel = product({space.sizes, static_cast<size_t>(space.dims)});
  {
    Unlocked unlocked(numel >= kUnlockElements);
    run_parallel(work, space, numel);
  }
  check_loops();
}

void walk(DimsView sizes, std::span<const Operand> operands, Loop loop, DType compute, DType result,
          const Scalar* params) {
  DType seen[kMaxOperands];
  seen[0] = result;
  for (size_t k = 1; k < operands.size(); ++k) seen[k] = compute;
  walk(sizes, operands, loop, seen, params);
}

void walk_flat(char* const* data, const int64_t* steps, int n, int64_t numel, Loop loop,
               const Scalar* params) {
  int64_t strides[2 * kMaxOperands];
  for (int k = 0; k < n; ++k) {
    strides[k] = steps[k];
    strides[n + k] = 0;
  }
  if (numel < kUnlockElements) {
    if (numel > 0) loop(data, strides, numel, 1, params);
  } else {
    Unlocked unlocked(true);
    parallel(numel, kGrain, [&](int64_t begin, int64_t end) {
      char* part[kMaxOperands];
      for (int k = 0; k < n; ++k) part[k] = data[k] + begin * steps[k];
      loop(part, strides, end - begin, 1, params);
    });
  }
  check_loops();
}

void copy_elements(DimsView sizes, const Operand& dst, const Operand& src) {
  Operand operands[] = {dst, src};
  DType seen[] = {dst.dtype, src.dtype};
  walk(sizes, operands, cast_loop(dst.dtype, src.dtype), seen);
}

}  // namespace msa::cpu
