// The memory behind tensors. Several tensors (views) share one storage and its version.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/base/free_list.h"
#include "core/base/ref.h"
#include "core/storage/device.h"

namespace msa {

struct Storage : Counted {
  void* data = nullptr;
  size_t bytes = 0;
  uint32_t version = 0;  // bumped by every in-place change through any view
  Device device;
  bool resizable = true;
  uint16_t block_bytes =
      0;  // of the free-listed block that holds this object, and its bytes when few
  // Who frees `data`: null means the CPU allocator (or the block the storage itself sits in).
  void (*deleter)(void* context) = nullptr;
  void* context = nullptr;  // NumPy array, DLPack capsule, shared memory, MindSpore tensor ...
  void* python = nullptr;   // the UntypedStorage object while one exists (borrowed)

  static Ref<Storage> make(size_t bytes, Device device = {});
  static Ref<Storage> wrap(void* data, size_t bytes, Device device, void (*deleter)(void*),
                           void* context);
  static void destroy(Storage* s);
  void resize(size_t new_bytes);  // keeps the contents; raises for memory that is not ours
};

// Blocks of raw CPU memory, 64-byte aligned, reused by size; raises OutOfMemory with the size
// asked. Like all of the core these need the core lock. Zero bytes are a null pointer.
void* allocate_bytes(size_t bytes);
void free_bytes(void* data, size_t bytes);
size_t allocated_bytes();  // in use now
void release_cached_bytes();

}  // namespace msa
