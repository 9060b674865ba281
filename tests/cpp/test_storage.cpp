// Storages, the caching allocator, devices, and what tensors make of them.
#include <doctest/doctest.h>

#include <cstring>

#include "core/tensor/tensor.h"

using namespace msa;

namespace {

template <class F>
std::string message_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.kind == kind);
    return e.text;
  }
  FAIL("no error was raised");
  return "";
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a big block is aligned, counted, and reused by size") {
  size_t before = allocated_bytes();
  void* first = allocate_bytes(100'000);
  CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
  CHECK(allocated_bytes() >= before + 100'000);
  CHECK(allocated_bytes() <= before + 100'000 * 9 / 8 + 64);
  std::memset(first, 1, 100'000);
  free_bytes(first, 100'000);
  CHECK(allocated_bytes() == before);
  void* second = allocate_bytes(99'990);
  CHECK(second == first);
  free_bytes(second, 99'990);
  release_cached_bytes();
  CHECK(allocated_bytes() == before);
}

TEST_CASE("every size gets at least what it asks for, at most an eighth more") {
  for (size_t bytes = 1; bytes < 70'000; bytes += 61) {
    size_t before = allocated_bytes();
    char* block = static_cast<char*>(allocate_bytes(bytes));
    size_t got = allocated_bytes() - before;
    CHECK(got >= bytes);
    CHECK(got <= bytes + bytes / 8 + 64);
    std::memset(block, 0xab, bytes);
    free_bytes(block, bytes);
  }
  release_cached_bytes();
}

TEST_CASE("memory that cannot be had is an error that names the size") {
  std::string text =
      message_of(ErrorKind::OutOfMemory, [] { empty(Dims{int64_t{1} << 50}, DType::F32); });
  CHECK(mentions(text, "4503599627370496 bytes"));
  CHECK(mentions(message_of(ErrorKind::Runtime,
                            [] {
                              empty(Dims{int64_t{1} << 40, int64_t{1} << 40}, DType::F32);
                            }),
                 "overflow"));
  CHECK(mentions(message_of(ErrorKind::Runtime,
                            [] {
                              empty(Dims{2, -1}, DType::F32);
                            }),
                 "negative dimension -1"));
  Tensor after =
      empty(Dims{4}, DType::F32);  // the next request is served as if nothing had happened
  CHECK(after.data() != nullptr);
}

TEST_CASE("few bytes live beside the storage, many outside; both may grow and shrink") {
  for (size_t bytes : {size_t{16}, size_t{4096}}) {
    Ref<Storage> s = Storage::make(bytes);
    CHECK((s->block_bytes >= sizeof(Storage) + bytes) == (bytes == 16));
    std::memset(s->data, 7, bytes);
    s->resize(100'000);
    CHECK(s->bytes == 100'000);
    CHECK(static_cast<char*>(s->data)[15] == 7);
    s->resize(3);
    CHECK(static_cast<char*>(s->data)[2] == 7);
    s->resize(0);
    CHECK(s->data == nullptr);
  }
}

TEST_CASE("memory of others is given back to them and never resized") {
  int freed = 0;
  char room[8];
  {
    Ref<Storage> s = Storage::wrap(
        room, 8, {}, [](void* count) { ++*static_cast<int*>(count); }, &freed);
    CHECK(mentions(message_of(ErrorKind::Runtime, [&] { s->resize(16); }), "not resizable"));
    Tensor t = from_storage(s, {{2}, {1}, 0}, DType::F32);
    s.reset();
    CHECK(t.data() == room);
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
}

TEST_CASE("meta tensors have sizes and no memory") {
  size_t before = allocated_bytes();
  Tensor t = empty(Dims{1 << 20, 1 << 20}, DType::F64, {DeviceKind::Meta});
  CHECK(allocated_bytes() == before);
  CHECK(t->storage->bytes == size_t{8} << 40);
  CHECK(t->storage->data == nullptr);
}

TEST_CASE("a layout may not leave its storage") {
  Tensor t = empty(Dims{3}, DType::F32);
  CHECK(mentions(message_of(ErrorKind::Runtime,
                            [&] {
                              alias(t, {{3}, {2}, 0});
                            }),
                 "storage size of 20"));
  message_of(ErrorKind::Runtime, [&] { alias(t, {{2}, {1}, -1}); });
  message_of(ErrorKind::Runtime, [&] { alias(t, {{2, 2}, {INT64_MAX, INT64_MAX}, 0}); });
  CHECK(alias(t, {{0, 9}, {1, 1}, 3}).numel() == 0);
}

TEST_CASE("aliases share storage and version") {
  Tensor t = empty(Dims{4}, DType::F32);
  Tensor view = alias(t, {{2}, {2}, 1});
  view.bump_version();
  CHECK(t.version() == 1);
  CHECK(view.data<float>() == t.data<float>() + 1);
  CHECK_FALSE(view.is_contiguous());
}

TEST_CASE("numbers become tensors in full precision and come back") {
  Tensor tenth = wrapped_number(0.1);
  CHECK(tenth.dtype() == DType::F64);
  CHECK(tenth->wrapped_number);
  CHECK(load_scalar(DType::F64, tenth.data()).to_double() == 0.1);
  for (int i = 0; !is_opaque(static_cast<DType>(i)); ++i) {
    Tensor one = scalar_tensor(1, static_cast<DType>(i));
    CHECK(load_scalar(one.dtype(), one.data()).to_double() == 1.0);
  }
}

TEST_CASE("a number that does not fit its dtype is refused") {
  char element[16];
  auto stores = [&](Scalar v, DType t) {
    try {
      store_checked(v, t, element);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  CHECK(stores(255, DType::U8));
  CHECK(stores(-1, DType::U8));
  CHECK_FALSE(stores(256, DType::U8));
  CHECK_FALSE(stores(-129, DType::I8));
  CHECK_FALSE(stores(1e300, DType::F32));
  CHECK(stores(HUGE_VAL, DType::F32));
  CHECK_FALSE(stores(HUGE_VAL, DType::I64));
  CHECK_FALSE(stores(70000.0, DType::F16));
  CHECK_FALSE(stores(c128(1, 2), DType::F64));
  CHECK(stores(c128(1, 0), DType::F64));
}

TEST_CASE("device names") {
  CHECK(parse_device("cpu") == Device{DeviceKind::Cpu, -1});
  CHECK(parse_device("mindspore:1") == Device{DeviceKind::MindSpore, 1});
  CHECK(cat(parse_device("npu:0")) == "npu:0");
  for (const char* wrong : {"", "tpu", "cpu:", "cpu:x", "cpu:-1", "cpu:01", "cpu:1000"})
    message_of(ErrorKind::Runtime, [&] { parse_device(wrong); });
}
