// Regions of shared memory: what moves into them, who is counted, and what a fork changes.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/storage/shared_memory.h"

using namespace msa;

namespace {

char* bytes_of(const Ref<Storage>& s) { return static_cast<char*>(s->data); }

// Runs `body` in a forked child and tells whether it returned true there.
template <class F>
bool in_child(F&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a storage moves into shared memory in place, small or large") {
  for (size_t bytes : {8, 400, 100'000}) {
    Ref<Storage> s = Storage::make(bytes);
    std::memset(s->data, 7, bytes);
    CHECK(shared_memory_of(*s) == nullptr);
    move_to_shared_memory(*s);
    void* moved = s->data;
    move_to_shared_memory(*s);  // nothing more to do
    CHECK(s->data == moved);
    CHECK(bytes_of(s)[bytes - 1] == 7);
    CHECK_FALSE(s->resizable);
    CHECK(in_child([&] {
      bytes_of(s)[0] = 9;
      return bytes_of(s)[1] == 7;
    }));
    CHECK(bytes_of(s)[0] == 9);
  }
}

TEST_CASE("memory that others may point at is kept until the storage ends") {
  const size_t before = allocated_bytes();
  Ref<Storage> s = Storage::make(100'000);
  char* old = bytes_of(s);
  old[5] = 3;
  s->resizable = false;  // as numpy() leaves it
  move_to_shared_memory(*s);
  CHECK(bytes_of(s) != old);
  CHECK(old[5] == 3);
  CHECK(allocated_bytes() > before);
  s.reset();
  CHECK(allocated_bytes() == before);
}

TEST_CASE("a region that is attached twice is one, and has one whole storage") {
  Ref<SharedMemory> made = SharedMemory::create(1000);
  CHECK(made->bytes == 1000);
  Ref<SharedMemory> found = SharedMemory::attach(dup(made->fd));
  CHECK(found.get() == made.get());
  Ref<Storage> whole = whole_storage(made);
  CHECK(whole_storage(found).get() == whole.get());
  whole.reset();
  CHECK(made->whole == nullptr);
  CHECK(made->pieces == 0);
}

TEST_CASE("the end of a counted piece lowers the count, in this process only") {
  Ref<SharedMemory> memory = SharedMemory::create(1000);
  Ref<Storage> piece = piece_storage(memory, 64, 128, true);
  CHECK(bytes_of(piece) == memory->payload() + 64);
  memory->header->held = 1;
  CHECK(memory->header->retired == 0);
  CHECK(in_child([&] {
    piece.reset();
    return memory->header->held == 1;
  }));
  CHECK(memory->header->held == 1);
  CHECK(memory->header->retired == 1);  // the child might still read it
  piece.reset();
  CHECK(memory->header->held == 0);
  CHECK_THROWS(piece_storage(memory, 900, 101, false));
}
