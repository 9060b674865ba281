// Large reads and writes, in chunks that stay in the cache for their checksum.
#include "core/io/bulk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "core/io/crc32.h"
#include "core/io/fresh_pages.h"
#include "kernels/cpu/threads.h"

namespace msa::io {
namespace {

constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kBytesPerThread = 512 << 10;  // below, a second thread costs more than it brings
constexpr uintptr_t kPage = 4096, kHugePage = 2 << 20;
constexpr size_t kDiskBytes = 4 << 20;
constexpr int kMaxPieces = 64;

// Calls move(done, at_most) until all bytes are moved: it returns what read() and write() do.
template <class Move>
Transfer in_chunks(const char* memory, size_t bytes, bool checksum, Move&& move) {
  Transfer t;
  while (t.bytes < bytes) {
    ssize_t moved = move(t.bytes, std::min(kChunkBytes, bytes - t.bytes));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) t.error = errno;
    if (moved <= 0) return t;
    if (checksum) t.crc32 = crc32(t.crc32, memory + t.bytes, static_cast<size_t>(moved));
    t.bytes += static_cast<size_t>(moved);
  }
  return t;
}

Transfer read_piece(int file, int64_t offset, char* to, size_t bytes, bool checksum) {
  size_t backed = 0;
  return in_chunks(to, bytes, checksum, [=](size_t done, size_t at_most) mutable {
    while (backed < done + at_most) backed += back_with_pages(to + backed, bytes - backed);
    return pread(file, to + done, at_most, offset + static_cast<int64_t>(done));
  });
}

// body(0) to body(count - 1), all but the first in threads of their own: those of OpenMP spin while
// they wait for each other, and here all wait for the system.
template <class F>
void in_threads(int64_t count, F&& body) {
  std::thread others[kMaxPieces];
  for (int64_t i = 1; i < count; ++i) {
    try {
      others[i] = std::thread(body, i);
    } catch (const std::system_error&) {  // no more threads: then without
      body(i);
    }
  }
  body(0);
  for (std::thread& other : others)
    if (other.joinable()) other.join();
}

}  // namespace

Transfer read_at(int file, int64_t offset, void* to, size_t bytes, bool checksum) {
  auto* memory = static_cast<char*>(to);
  const auto count = static_cast<int64_t>(
      std::clamp<size_t>(bytes / kBytesPerThread, 1, std::min(kMaxPieces, cpu::get_num_threads())));
  Transfer pieces[kMaxPieces];
  const size_t share = bytes / static_cast<size_t>(count);
  const uintptr_t page = share < kHugePage ? kPage : kHugePage;
  auto start = [&](int64_t i) {  // of a piece: no two write to one page
    if (i == 0 || i == count) return i ? bytes : 0;
    auto near = reinterpret_cast<uintptr_t>(memory) + share * static_cast<size_t>(i);
    return (near & ~(page - 1)) - reinterpret_cast<uintptr_t>(memory);
  };
  auto read_one = [&](int64_t i) {
    size_t from = start(i);
    pieces[i] = read_piece(file, offset + static_cast<int64_t>(from), memory + from,
                           start(i + 1) - from, checksum);
  };
  in_threads(count, read_one);
  Transfer all;
  for (int64_t i = 0; i < count; ++i) {
    if (checksum) all.crc32 = crc32_join(all.crc32, pieces[i].crc32, pieces[i].bytes);
    all.bytes += pieces[i].bytes;
    all.error = pieces[i].error;
    if (pieces[i].bytes < start(i + 1) - start(i)) break;
  }
  return all;
}

// One thread writes: file systems let only one write to a file at a time. The disk starts on each
// part while the next is copied, so that the fsync at the end has little left to wait for.
Transfer write_at(int file, int64_t offset, const void* from, size_t bytes, bool checksum) {
  auto* memory = static_cast<const char*>(from);
  size_t sent = 0;
  return in_chunks(memory, bytes, checksum, [=](size_t done, size_t at_most) mutable {
    ssize_t moved = pwrite(file, memory + done, at_most, offset + static_cast<int64_t>(done));
    if (size_t end = done + at_most; end - sent >= kDiskBytes) {
      (void)sync_file_range(file, offset + static_cast<int64_t>(sent),
                            static_cast<int64_t>(end - sent), SYNC_FILE_RANGE_WRITE);
      sent = end;
    }
    return moved;
  });
}

int reserve(int file, size_t bytes) {
  if (fallocate(file, 0, 0, static_cast<int64_t>(bytes)) == 0) return 0;
  bool cannot = errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EINTR;
  return cannot ? 0 : errno;
}

}  // namespace msa::io
