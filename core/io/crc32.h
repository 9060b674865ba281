// CRC-32 as zip archives use it, at the speed of memory: every byte of a checkpoint goes through
// it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace msa::io {

// The checksum of what `crc` covers (0: nothing) followed by these bytes.
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);

// The checksum of two runs of bytes, from theirs and the second one's length.
uint32_t crc32_join(uint32_t first, uint32_t second, uint64_t second_bytes);

}  // namespace msa::io
