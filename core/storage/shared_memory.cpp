// Regions of shared memory: memfd_create, mmap, and what a fork means for them.
#include "core/storage/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "core/base/error.h"

namespace msa {
namespace {

constexpr size_t kHeaderBytes = sizeof(SharedMemory::Header);

using Regions = std::unordered_map<uint64_t, SharedMemory*>;
Regions& regions() {  // outlives every tensor of static life
  static Regions& all = *new Regions;
  return all;
}

uint32_t fork_generation = 0;

// A forked child goes on reading what its parent has received, while the parent may give it back to
// the sender at any time: so what is in use at a fork is never written again.
void before_fork() {
  for (auto& [key, memory] : regions())
    if (memory->counted) memory->header->retired.store(1, std::memory_order_release);
}
void after_fork_in_child() { ++fork_generation; }

[[maybe_unused]] const int registered = pthread_atfork(before_fork, nullptr, after_fork_in_child);

[[noreturn]] void fail_system(const char* what, size_t bytes) {
  const int error = errno;
  const bool descriptors = error == EMFILE || error == ENFILE;
  fail(error == ENOMEM ? ErrorKind::OutOfMemory : ErrorKind::Runtime, "shared memory: ", what,
       " of ", bytes, " bytes failed: ", std::strerror(error),
       descriptors ? ". Raise the limit (`ulimit -n`), call torch.multiprocessing."
                     "set_sharing_strategy('file_system'), or share fewer tensors"
                   : "");
}

Ref<SharedMemory> map_region(int fd, size_t file_bytes, uint64_t key) {
  void* data = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    close(fd);
    errno = error;
    fail_system("mapping", file_bytes);
  }
  auto* memory = new SharedMemory;
  memory->header = static_cast<SharedMemory::Header*>(data);
  memory->bytes = file_bytes - kHeaderBytes;
  memory->fd = fd;
  memory->key = key;
  memory->fork_generation = fork_generation;
  regions()[key] = memory;
  return Ref<SharedMemory>(memory);
}

struct stat status_of(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) fail_system("asking for the size", 0);
  return status;
}

void release_piece(void* context) {
  auto memory = Ref<SharedMemory>::adopt(static_cast<SharedMemory*>(context));
  --memory->pieces;
}

void release_counted(void* context) {
  auto memory = Ref<SharedMemory>::adopt(static_cast<SharedMemory*>(context));
  --memory->pieces;
  --memory->counted;
  if (memory->fork_generation == fork_generation)
    memory->header->held.fetch_sub(1, std::memory_order_release);
}

void release_whole(void* context) {
  auto memory = Ref<SharedMemory>::adopt(static_cast<SharedMemory*>(context));
  --memory->pieces;
  memory->whole = nullptr;
}

}  // namespace

Ref<SharedMemory> SharedMemory::create(size_t bytes) {
  const int fd = memfd_create("ms_adapter", MFD_CLOEXEC);
  if (fd < 0) fail_system("creating a region", bytes);
  const size_t file_bytes = kHeaderBytes + bytes;
  if (ftruncate(fd, static_cast<off_t>(file_bytes)) != 0) {
    close(fd);
    fail_system("setting the size", bytes);
  }
  return map_region(fd, file_bytes, status_of(fd).st_ino);
}

Ref<SharedMemory> SharedMemory::attach(int fd) {
  const struct stat status = status_of(fd);
  const auto known = regions().find(status.st_ino);
  if (known != regions().end()) {
    close(fd);
    return Ref<SharedMemory>(known->second);
  }
  const auto file_bytes = static_cast<size_t>(status.st_size);
  if (file_bytes < kHeaderBytes) {
    close(fd);
    fail(ErrorKind::Runtime, "shared memory: the descriptor's file has ", file_bytes,
         " bytes, fewer than the ", kHeaderBytes, " of a region's header");
  }
  return map_region(fd, file_bytes, status.st_ino);
}

void SharedMemory::destroy(SharedMemory* memory) {
  regions().erase(memory->key);
  munmap(memory->header, kHeaderBytes + memory->bytes);
  memory->close_descriptor();
  delete memory;
}

void SharedMemory::close_descriptor() {
  if (fd >= 0) close(fd);
  fd = -1;
}

Ref<Storage> whole_storage(const Ref<SharedMemory>& memory) {
  if (memory->whole) return Ref<Storage>(memory->whole);
  Ref<Storage> storage = Storage::wrap(memory->payload(), memory->bytes, {}, release_whole,
                                       Ref<SharedMemory>(memory).release());
  ++memory->pieces;
  memory->whole = storage.get();
  return storage;
}

Ref<Storage> piece_storage(const Ref<SharedMemory>& memory, size_t offset, size_t bytes,
                           bool counted) {
  MSA_REQUIRE(offset <= memory->bytes && bytes <= memory->bytes - offset, Value,
              "shared memory: bytes ", offset, " to ", offset + bytes, " are outside a region of ",
              memory->bytes);
  ++memory->pieces;
  memory->counted += counted;
  return Storage::wrap(memory->payload() + offset, bytes, {},
                       counted ? release_counted : release_piece,
                       Ref<SharedMemory>(memory).release());
}

SharedMemory* shared_memory_of(const Storage& storage) {
  const auto deleter = storage.deleter;
  if (deleter != release_whole && deleter != release_counted && deleter != release_piece)
    return nullptr;
  return static_cast<SharedMemory*>(storage.context);
}

void move_to_shared_memory(Storage& storage) {
  const SharedMemory* current = shared_memory_of(storage);
  if (current && current->whole == &storage && current->fd >= 0) return;
  MSA_REQUIRE(storage.device.is_cpu(), NotImplemented, "share_memory_: the storage is on ",
              storage.device, "; only memory of the cpu can be shared between processes");
  Ref<SharedMemory> memory = SharedMemory::create(storage.bytes);
  if (storage.bytes) std::memcpy(memory->payload(), storage.data, storage.bytes);
  memory->replaced = replace_memory(storage, memory->payload(), release_whole,
                                    Ref<SharedMemory>(memory).release());
  ++memory->pieces;
  memory->whole = &storage;
}

}  // namespace msa
