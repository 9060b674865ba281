// Statistics of whole tensors: blocks become doubles, chunks go to threads and come back in order.
#include "core/dump/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/compare/compare.h"
#include "core/dispatch/host.h"
#include "core/io/crc32.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/threads.h"

namespace msa::dump {
namespace {

constexpr int64_t kBlock = 1024;         // elements converted at once: 8 KiB of doubles
constexpr int64_t kChunk = 32 * kBlock;  // elements of one sum

struct Part {
  Sums sums;
  uint32_t crc32 = 0;
  size_t bytes = 0;
};

Part chunk_of(const char* data, int64_t n, int64_t part_bytes, compare::ConvertLoop convert) {
  alignas(64) double block[kBlock];
  const SumLoop sum = sum_loop();
  Part p;
  p.bytes = static_cast<size_t>(n * part_bytes);
  p.crc32 = io::crc32(0, data, p.bytes);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t here = std::min(kBlock, n - i);
    convert(data + i * part_bytes, block, here);
    sum(block, here, p.sums);
  }
  return p;
}

Statistics gather(const std::vector<Part>& parts, int64_t count) {
  Sums all;
  Statistics s;
  for (const Part& p : parts) {
    all.nan += p.sums.nan;
    all.positive_inf += p.sums.positive_inf;
    all.negative_inf += p.sums.negative_inf;
    all.zero += p.sums.zero;
    all.sum += p.sums.sum;
    all.squares += p.sums.squares;
    all.minimum = std::min(all.minimum, p.sums.minimum);
    all.maximum = std::max(all.maximum, p.sums.maximum);
    s.crc32 = io::crc32_join(s.crc32, p.crc32, p.bytes);
  }
  s.count = count;
  s.nan = all.nan;
  s.positive_inf = all.positive_inf;
  s.negative_inf = all.negative_inf;
  s.zero = all.zero;
  const int64_t finite = count - all.nan - all.positive_inf - all.negative_inf;
  if (finite == 0) return s;
  s.minimum = all.minimum;
  s.maximum = all.maximum;
  s.mean = all.sum / static_cast<double>(finite);
  s.l2 = std::sqrt(all.squares);
  return s;
}

}  // namespace

Statistics statistics(const Tensor& given) {
  const Tensor t = cpu::contiguous(in_host(given));
  const int64_t parts_each = is_complex(t.dtype()) ? 2 : 1;
  const int64_t n = t.numel() * parts_each;
  const int64_t part_bytes = static_cast<int64_t>(t.item_bytes()) / parts_each;
  const compare::ConvertLoop convert = compare::reader_of(t.dtype());
  MSA_REQUIRE(convert, NotImplemented, "dump: no statistics of ", t,
              ": convert it to float32 first");
  const char* data = t.data<char>();
  std::vector<Part> parts(static_cast<size_t>((n + kChunk - 1) / kChunk));
  cpu::parallel(static_cast<int64_t>(parts.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parts[static_cast<size_t>(i)] = chunk_of(
          data + i * kChunk * part_bytes, std::min(kChunk, n - i * kChunk), part_bytes, convert);
  });
  return gather(parts, n);
}

}  // namespace msa::dump
