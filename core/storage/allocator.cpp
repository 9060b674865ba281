// The caching CPU allocator: a training step asks for the same sizes again and again, and fresh
// pages from the system cost more than most kernels that fill them.
#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/storage/storage.h"

namespace msa {
namespace {

constexpr size_t kAlignment = 64;
constexpr int kStepBits = 3;  // eight size classes for each doubling: at most 1/8 is wasted
constexpr int kClasses = 64 << kStepBits;

struct Block {
  Block* next;
};

struct Cache {
  Block* lists[kClasses] = {};
  size_t cached_bytes = 0, used_bytes = 0;
  size_t machine_bytes, cap_bytes;

  Cache() {
    struct sysinfo machine;
    sysinfo(&machine);
    machine_bytes = (machine.totalram + machine.totalswap) * machine.mem_unit;
    cap_bytes = machine.totalram * machine.mem_unit / 8;
  }
};

Cache& cache() {
  static Cache& instance = *new Cache;  // outlives every tensor of static life
  return instance;
}

struct SizeClass {
  int index;
  size_t bytes;
};

SizeClass size_class(size_t bytes) {
  size_t units = (bytes + kAlignment - 1) / kAlignment;
  int shift = std::max(0, static_cast<int>(std::bit_width(units - 1)) - kStepBits - 1);
  size_t steps = ((units - 1) >> shift) + 1;  // rounded up to a multiple of 2^shift units
  return {(shift << kStepBits) + static_cast<int>(steps), (steps << shift) * kAlignment};
}

[[noreturn]] void out_of_memory(size_t bytes) {
  fail(ErrorKind::OutOfMemory, "cannot allocate ", bytes, " bytes (",
       static_cast<double>(bytes) / (1 << 30), " GiB) on cpu: ", cache().used_bytes,
       " bytes are in use; free tensors or use smaller ones");
}

}  // namespace

void* allocate_bytes(size_t bytes) {
  if (bytes == 0) return nullptr;
  Cache& c = cache();
  if (bytes > c.machine_bytes) out_of_memory(bytes);
  SizeClass cls = size_class(bytes);
  void* data = c.lists[cls.index];
  if (data) {
    c.lists[cls.index] = static_cast<Block*>(data)->next;
    c.cached_bytes -= cls.bytes;
  } else {
    data = std::aligned_alloc(kAlignment, cls.bytes);
    if (!data) {
      release_cached_bytes();
      data = std::aligned_alloc(kAlignment, cls.bytes);
    }
    if (!data) out_of_memory(bytes);
  }
  c.used_bytes += cls.bytes;
  return data;
}

void free_bytes(void* data, size_t bytes) {
  if (!data) return;
  Cache& c = cache();
  SizeClass cls = size_class(bytes);
  c.used_bytes -= cls.bytes;
  // Sizes that are no longer asked for must not fill the cache for ever: when full, start anew.
  if (c.cached_bytes + cls.bytes > c.cap_bytes) release_cached_bytes();
  if (cls.bytes > c.cap_bytes) {
    std::free(data);
    return;
  }
  auto* block = static_cast<Block*>(data);
  block->next = c.lists[cls.index];
  c.lists[cls.index] = block;
  c.cached_bytes += cls.bytes;
}

size_t allocated_bytes() { return cache().used_bytes; }

void release_cached_bytes() {
  Cache& c = cache();
  for (Block*& list : c.lists) {
    while (Block* block = list) {
      list = block->next;
      std::free(block);
    }
  }
  c.cached_bytes = 0;
}

}  // namespace msa
