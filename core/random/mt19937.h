// The Mersenne Twister engine behind PyTorch's CPU stream, producing whole blocks at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace msa::random {

// Words are tempered when a block is made, so drawing is a copy. `raw`, `left` and `next` are what
// PyTorch serialises; the tempered copy follows from them.
class Mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit Mt19937(uint64_t seed) { reseed(seed); }

  void reseed(uint64_t seed);

  uint32_t next_u32() {
    if (--left_ == 0) refill();
    return tempered_[next_++];
  }

  uint64_t next_u64() {
    uint64_t high = next_u32();
    return high << 32 | next_u32();
  }

  // The next `count` 32-bit outputs, in order.
  void draw(uint32_t* out, size_t count);

  uint64_t seed() const { return seed_; }
  int left() const { return left_; }
  uint32_t next() const { return next_; }
  const std::array<uint32_t, kWords>& raw() const { return raw_; }

  // Continues from a serialised position; false when it is not a possible one.
  bool restore(uint64_t seed, int left, uint32_t next, const std::array<uint32_t, kWords>& raw);

 private:
  void refill();

  std::array<uint32_t, kWords> raw_;
  std::array<uint32_t, kWords> tempered_;
  uint64_t seed_ = 0;
  uint32_t next_ = 0;  // index of the next word in the block
  int left_ = 1;       // words left in the block, plus one
};

}  // namespace msa::random
