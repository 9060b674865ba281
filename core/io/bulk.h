// Moving whole storages between memory and files: the system's calls on raw memory, with several
// threads where that helps, and the checksum taken while the bytes are in the cache.
#pragma once
#include <cstddef>
#include <cstdint>

namespace msa::io {

struct Transfer {
  size_t bytes = 0;    // moved; fewer than asked at the file's end or after an error
  uint32_t crc32 = 0;  // of the bytes moved, where it was asked for
  int error = 0;       // errno of a call that failed
};

// Both move the bytes at `offset` of the file, whatever its position. They neither raise nor touch
// counted objects, so that they can run without the core lock.
Transfer read_at(int file, int64_t offset, void* to, size_t bytes, bool checksum);
Transfer write_at(int file, int64_t offset, const void* from, size_t bytes, bool checksum);

// Takes the disk's blocks for a file of at least so many bytes at once, which makes writing them
// cheaper, and a full disk known before. The errno of what went wrong; file systems that cannot do
// it are no error.
int reserve(int file, size_t bytes);

}  // namespace msa::io
