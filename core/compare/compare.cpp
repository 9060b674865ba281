// Reads both sides chunk by chunk and gathers the figures, several chunks at a time.
#include "core/compare/compare.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/cpu/threads.h"

namespace msa::compare {
namespace {

constexpr int64_t kChunk = 64 * kBlock;  // elements read at once: 1 MiB of doubles
constexpr int kMaxThreads = 64;

// How many doubles an element makes, and how many bytes each comes from.
int64_t parts(DType t) { return is_complex(t) ? 2 : 1; }
int64_t part_bytes(DType t) { return static_cast<int64_t>(size_bytes(t)) / parts(t); }

enum class Read { Done, Failed, EndsEarly };

Read read_fully(int file, int64_t offset, char* to, int64_t bytes) {
  while (bytes > 0) {
    ssize_t got = pread(file, to, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Read::Failed;
    if (got == 0) return Read::EndsEarly;
    to += got;
    offset += got;
    bytes -= got;
  }
  return Read::Done;
}

// The bytes [begin, begin + bytes) of a source: where they lie, or brought to `buffer`.
const char* fetch(const Source& s, int64_t begin, int64_t bytes, char* buffer, Figures& f) {
  if (s.memory) return s.memory + begin;
  char* to = buffer;
  for (const Piece& p : s.pieces) {
    if (begin >= p.bytes) {
      begin -= p.bytes;
      continue;
    }
    const int64_t here = std::min(bytes, p.bytes - begin);
    const Read result = read_fully(p.file, p.offset + begin, to, here);
    if (result == Read::Failed) f.error = errno;
    if (result == Read::EndsEarly) f.ends_early = true;
    if (result != Read::Done) return nullptr;
    to += here;
    bytes -= here;
    begin = 0;
    if (bytes == 0) return buffer;
  }
  f.ends_early = true;
  return nullptr;
}

// What a thread needs for one chunk.
struct Scratch {
  std::unique_ptr<char[]> a, b;
  alignas(64) double block_a[kBlock];
  alignas(64) double block_b[kBlock];
};

// Whole numbers of 64 bits, of which a double does not hold all.
bool is_wide(DType t) { return t == DType::I64 || t == DType::U64; }
bool beyond_doubles(DType t, const double* values, int64_t n) {
  return is_wide(t) &&
         std::any_of(values, values + n, [](double v) { return std::abs(v) >= 0x1p53; });
}

// An element as it is: `rounded` is what the double of it is.
long double exactly(DType t, const char* at, int64_t i, double rounded) {
  if (!is_wide(t)) return rounded;
  uint64_t bits;
  std::memcpy(&bits, at + i * 8, sizeof bits);  // files' pieces lie anywhere
  return t == DType::U64 ? static_cast<long double>(bits)
                         : static_cast<long double>(static_cast<int64_t>(bits));
}

// What Loops.block finds, one pair at a time; its long doubles hold every element of either side.
void exact_block(DType type_a, const char* at_a, DType type_b, const char* at_b, int64_t n,
                 int64_t first, const Tolerance& near, const Scratch& s, Figures& f) {
  for (int64_t i = 0; i < n; ++i) {
    const long double a = exactly(type_a, at_a, i, s.block_a[i]);
    const long double b = exactly(type_b, at_b, i, s.block_b[i]);
    Figures one;
    one.count = 1;
    one.nan_a = std::isnan(a);
    one.nan_b = std::isnan(b);
    one.inf_a = std::isinf(a);
    one.inf_b = std::isinf(b);
    one.equal = a == b;
    one.worst = first + i;
    one.worst_a = static_cast<double>(a);
    one.worst_b = static_cast<double>(b);
    if (std::isfinite(a) && std::isfinite(b)) {
      const long double apart = std::abs(b - a);
      one.near = one.equal || apart <= near.absolute + near.relative * std::abs(a);
      one.max_abs = one.sum_abs = one.worst_distance = static_cast<double>(apart);
      if (apart > 0)
        one.max_rel = one.sum_rel = static_cast<double>(apart / std::max(std::abs(a), std::abs(b)));
      one.dot = static_cast<double>(a * b);
      one.norm_a = static_cast<double>(a * a);
      one.norm_b = static_cast<double>(b * b);
    } else {
      one.worst_distance = HUGE_VAL;
      if (!one.nan_a && !one.nan_b)
        one.max_abs = one.sum_abs = HUGE_VAL, one.max_rel = one.sum_rel = 1;
    }
    f.add(one);
  }
}

// The parts [begin, end).
Figures compare_chunk(const Source& a, const Source& b, int64_t begin, int64_t end,
                      const Tolerance& near, Scratch& scratch) {
  Figures f;
  const int64_t step_a = part_bytes(a.dtype), step_b = part_bytes(b.dtype);
  const char* at_a = fetch(a, begin * step_a, (end - begin) * step_a, scratch.a.get(), f);
  const char* at_b =
      at_a ? fetch(b, begin * step_b, (end - begin) * step_b, scratch.b.get(), f) : nullptr;
  if (!at_b) return f;
  const Loops& use = loops();
  const UlpLoop ulp = a.dtype == b.dtype ? use.ulp[static_cast<int>(a.dtype)] : nullptr;
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t n = std::min(kBlock, end - i);
    use.convert[static_cast<int>(a.dtype)](at_a, scratch.block_a, n);
    use.convert[static_cast<int>(b.dtype)](at_b, scratch.block_b, n);
    if (beyond_doubles(a.dtype, scratch.block_a, n) || beyond_doubles(b.dtype, scratch.block_b, n))
      exact_block(a.dtype, at_a, b.dtype, at_b, n, i, near, scratch, f);
    else
      use.block(scratch.block_a, scratch.block_b, n, i, near, f);
    if (ulp) ulp(at_a, at_b, n, f);
    at_a += n * step_a;
    at_b += n * step_b;
  }
  f.has_ulp = ulp != nullptr;
  return f;
}

void start_others(std::vector<std::thread>& others, int64_t count, auto&& body) {
  for (int64_t i = 1; i < count; ++i) {
    try {
      others.emplace_back(body);
    } catch (const std::system_error&) {  // no more threads: those that we have do it
      return;
    }
  }
}

}  // namespace

void Figures::add(const Figures& next) {
  count += next.count;
  near += next.near;
  equal += next.equal;
  nan_a += next.nan_a;
  nan_b += next.nan_b;
  inf_a += next.inf_a;
  inf_b += next.inf_b;
  max_abs = std::max(max_abs, next.max_abs);
  sum_abs += next.sum_abs;
  max_rel = std::max(max_rel, next.max_rel);
  sum_rel += next.sum_rel;
  dot += next.dot;
  norm_a += next.norm_a;
  norm_b += next.norm_b;
  max_ulp = std::max(max_ulp, next.max_ulp);
  sum_ulp += next.sum_ulp;
  has_ulp |= next.has_ulp;
  if (next.worst >= 0 && (worst < 0 || next.worst_distance > worst_distance)) {
    worst = next.worst;
    worst_distance = next.worst_distance;
    worst_a = next.worst_a;
    worst_b = next.worst_b;
  }
  if (!error) error = next.error;
  ends_early |= next.ends_early;
}

Figures compare(const Source& a, const Source& b, int64_t count, const Tolerance& near) {
  const int64_t n = count * parts(a.dtype);
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<Figures> found(static_cast<size_t>(chunks));
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    auto scratch = std::make_unique<Scratch>();
    if (!a.memory) scratch->a.reset(new char[static_cast<size_t>(kChunk * part_bytes(a.dtype))]);
    if (!b.memory) scratch->b.reset(new char[static_cast<size_t>(kChunk * part_bytes(b.dtype))]);
    for (int64_t i; (i = next.fetch_add(1)) < chunks;)
      found[static_cast<size_t>(i)] =
          compare_chunk(a, b, i * kChunk, std::min(n, (i + 1) * kChunk), near, *scratch);
  };
  std::vector<std::thread> others;
  start_others(others, std::min<int64_t>({chunks, kMaxThreads, cpu::get_num_threads()}), work);
  work();
  for (std::thread& other : others) other.join();
  Figures all;
  for (const Figures& f : found) all.add(f);
  all.has_ulp |= a.dtype == b.dtype && loops().ulp[static_cast<int>(a.dtype)] != nullptr;
  return all;
}

}  // namespace msa::compare
