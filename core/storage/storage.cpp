// Storages: a header and few bytes share one free-listed block, more bytes come from the allocator.
#include "core/storage/storage.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/error.h"
#include "core/capture/watcher.h"
#include "core/storage/host_memory.h"
#include "core/storage/shared_memory.h"

namespace msa {
namespace {

constexpr size_t kHeaderBytes = (sizeof(Storage) + 15) / 16 * 16;
constexpr size_t kInBlockBytes = 512 - kHeaderBytes;

char* block_data(Storage* s) { return reinterpret_cast<char*>(s) + kHeaderBytes; }

Storage* new_block(size_t data_bytes) {
  size_t block_bytes = kHeaderBytes + data_bytes;
  auto* s = new (FreeLists::take(block_bytes)) Storage;
  s->block_bytes = static_cast<uint16_t>(block_bytes);
  return s;
}

void free_data(Storage* s) {
  if (s->deleter) {
    s->deleter(s->context);
  } else if (s->data != block_data(s)) {
    free_bytes(s->data, s->bytes);
  }
}

bool host_memory[static_cast<int>(DeviceKind::Count) + 3] = {true};  // cpu; not: opaque

}  // namespace

void set_host_memory(DeviceKind kind, bool in_host_memory) {
  host_memory[static_cast<int>(kind)] = in_host_memory;
}
bool in_host_memory(Device device) { return host_memory[static_cast<int>(device.kind)]; }

Ref<Storage> Storage::make(size_t bytes, Device device) {
  device = placed(device);
  const bool host = in_host_memory(device);
  MSA_REQUIRE(device.kind != DeviceKind::Count, NotImplemented,
              "this operator is not implemented for sparse tensors; use to_dense() first");
  MSA_REQUIRE(device.kind < DeviceKind::Count, NotImplemented,
              "this operator cannot make a tensor of a class with __torch_dispatch__ by itself");
  MSA_REQUIRE(host || device.is_meta(), Runtime, "a storage of ", bytes, " bytes on ", device,
              " is made by that device's backend");
  bool in_block = host && bytes != 0 && bytes <= kInBlockBytes;
  void* data = host && !in_block ? allocate_bytes(bytes) : nullptr;
  Storage* s = new_block(in_block ? bytes : 0);
  s->data = in_block ? block_data(s) : data;
  s->bytes = bytes;
  s->device = {device.kind};  // "cpu:0" is "cpu"
  capture::tell_made(s);
  return Ref<Storage>(s);
}

Ref<Storage> Storage::wrap(void* data, size_t bytes, Device device, void (*deleter)(void*),
                           void* context) {
  Storage* s = new_block(0);
  s->data = data;
  s->bytes = bytes;
  s->device = device;
  s->resizable = false;
  s->deleter = deleter;
  s->context = context;
  capture::tell_made(s);
  return Ref<Storage>(s);
}

void Storage::destroy(Storage* s) {
  free_data(s);
  size_t block_bytes = s->block_bytes;
  s->~Storage();
  FreeLists::give(s, block_bytes);
}

void Storage::resize(size_t new_bytes) {
  MSA_REQUIRE(
      resizable, Runtime, "Trying to resize storage that is not resizable: its ", bytes,
      " bytes belong to someone else (NumPy, DLPack, shared memory); clone() the tensor first");
  if (new_bytes == bytes) return;
  if (in_host_memory(device)) {
    void* bigger = allocate_bytes(new_bytes);
    if (size_t kept = std::min(bytes, new_bytes)) std::memcpy(bigger, data, kept);
    free_data(this);
    data = bigger;
    deleter = nullptr;  // whoever lent the first memory has it back
    context = nullptr;
  }
  bytes = new_bytes;
}

Ref<Storage> replace_memory(Storage& storage, void* data, void (*deleter)(void*), void* context) {
  Ref<Storage> old;
  const bool in_block = !storage.deleter && storage.data == block_data(&storage);
  if (storage.resizable) {
    free_data(&storage);
  } else if (!in_block) {
    old = Storage::wrap(storage.data, storage.bytes, {}, storage.deleter, storage.context);
  }
  storage.data = data;
  storage.deleter = deleter;
  storage.context = context;
  storage.resizable = false;
  return old;
}

}  // namespace msa
