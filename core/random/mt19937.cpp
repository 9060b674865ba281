// Seeding and drawing from the Mersenne Twister (Matsumoto and Nishimura, 1998).
#include "core/random/mt19937.h"

#include <algorithm>
#include <cstring>

#include "core/random/loops.h"

namespace msa::random {

void Mt19937::reseed(uint64_t seed) {
  seed_ = seed;
  raw_[0] = static_cast<uint32_t>(seed);
  for (uint32_t j = 1; j < kWords; ++j) {
    raw_[j] = 1812433253u * (raw_[j - 1] ^ (raw_[j - 1] >> 30)) + j;
  }
  left_ = 1;
  next_ = 0;
}

void Mt19937::refill() {
  loops().next_block(raw_.data());
  loops().temper(raw_.data(), tempered_.data());
  left_ = kWords;
  next_ = 0;
}

void Mt19937::draw(uint32_t* out, size_t count) {
  while (count > 0) {
    if (left_ == 1) {
      refill();
      left_ = kWords + 1;  // unlike next_u32, no word has been taken yet
    }
    size_t some = std::min(count, static_cast<size_t>(left_ - 1));
    std::memcpy(out, tempered_.data() + next_, some * sizeof(uint32_t));
    out += some;
    count -= some;
    next_ += static_cast<uint32_t>(some);
    left_ -= static_cast<int>(some);
  }
}

bool Mt19937::restore(uint64_t seed, int left, uint32_t next,
                      const std::array<uint32_t, kWords>& raw) {
  if (left < 1 || left > kWords || next + static_cast<uint32_t>(left) > kWords + 1u) return false;
  seed_ = seed;
  left_ = left;
  next_ = next;
  raw_ = raw;
  loops().temper(raw_.data(), tempered_.data());
  return true;
}

}  // namespace msa::random
