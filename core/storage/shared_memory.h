// Memory that several processes map. Each region is an anonymous file (memfd): it has no name that
// could stay behind, and the kernel frees it with the last process that holds it, even after kill.
#pragma once
#include <atomic>

#include "core/storage/storage.h"

namespace msa {

struct SharedMemory : Counted {
  // Lies in front of the payload and is seen by all processes.
  struct alignas(64) Header {
    std::atomic<int32_t> held;     // pieces that receivers still use: the sender must not write
    std::atomic<int32_t> retired;  // never to be written again
  };

  Header* header = nullptr;
  size_t bytes = 0;      // of the payload
  int fd = -1;           // -1 once closed: the mapping stays, but can be sent no further
  uint64_t key = 0;      // the file's inode: the same in all processes
  uint32_t pieces = 0;   // storages of this process inside the payload
  uint32_t counted = 0;  // those of them that `held` counts
  uint32_t fork_generation = 0;
  Storage* whole = nullptr;  // the storage over all of the payload while one lives (borrowed)
  // What a storage pointed at before it moved here, where NumPy arrays may still point at it.
  Ref<Storage> replaced;

  char* payload() const { return reinterpret_cast<char*>(header + 1); }

  static Ref<SharedMemory> create(size_t bytes);
  // Takes the descriptor over. A region that this process maps already is found again.
  static Ref<SharedMemory> attach(int fd);
  static void destroy(SharedMemory* memory);
  void close_descriptor();
};

// Points a storage at other memory, with who frees it; in storage.cpp. What it pointed at is freed,
// unless NumPy arrays or another owner may know it: then it is returned, to be kept.
Ref<Storage> replace_memory(Storage& storage, void* data, void (*deleter)(void*), void* context);

// The one storage over the whole payload.
Ref<Storage> whole_storage(const Ref<SharedMemory>& memory);
// A storage over a part of the payload. With `counted` its end lowers `held`, except in a process
// forked since, whose copy is not the one that the sender counted.
Ref<Storage> piece_storage(const Ref<SharedMemory>& memory, size_t offset, size_t bytes,
                           bool counted);
// The region that a storage lies in, or null.
SharedMemory* shared_memory_of(const Storage& storage);
// Moves the bytes of a storage to a region of their own; its views follow. Does nothing where they
// are shared already.
void move_to_shared_memory(Storage& storage);

}  // namespace msa
