// Random integers by remainder, as PyTorch draws them, and permutations.
#include "core/random/integers.h"

#include <algorithm>
#include <utility>

namespace msa::random {
namespace {

constexpr int64_t kChunk = 512;

// x % divisor with two multiplications (Lemire, Kaser and Kurz, 2019).
class Remainder {
 public:
  explicit Remainder(uint32_t divisor) : divisor_(divisor), inverse_(~uint64_t{0} / divisor + 1) {}
  uint32_t operator()(uint32_t x) const {
    __extension__ using u128 = unsigned __int128;
    return static_cast<uint32_t>(u128{inverse_ * x} * divisor_ >> 64);
  }

 private:
  uint32_t divisor_;
  uint64_t inverse_;
};

template <class T>
T from_integer(uint64_t value) {
  return static_cast<T>(static_cast<int64_t>(value));
}

template <class T>
void fill_narrow(Generator& gen, T* out, int64_t count, uint32_t range, int64_t base) {
  const Remainder remainder(range);
  uint32_t bits[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t some = std::min(kChunk, count - done);
    gen.draw(bits, static_cast<size_t>(some));
    for (int64_t i = 0; i < some; ++i) {
      out[done + i] = from_integer<T>(remainder(bits[i]) + static_cast<uint64_t>(base));
    }
  }
}

template <class T>
void fill_wide(Generator& gen, T* out, int64_t count, uint64_t range, int64_t base) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = gen.random64();
    out[i] = from_integer<T>(range == 0 ? bits : bits % range + static_cast<uint64_t>(base));
  }
}

}  // namespace

template <class T>
void fill_integers(Generator& gen, T* out, int64_t count, uint64_t range, int64_t base) {
  if (range == 0 || range >= kWideRange) {
    fill_wide(gen, out, count, range, base);
  } else {
    fill_narrow(gen, out, count, static_cast<uint32_t>(range), base);
  }
}

template <class T>
void fill_random(Generator& gen, T* out, int64_t count) {
  const uint64_t range = static_cast<uint64_t>(random_max<T>()) + 1;
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
    fill_wide(gen, out, count, range, 0);
  } else {
    fill_narrow(gen, out, count, static_cast<uint32_t>(range), 0);
  }
}

template <class T>
void fill_permutation(Generator& gen, T* out, int64_t count) {
  // From this length on 32 bits would skew the remainder, and PyTorch shuffles the other way round.
  constexpr int64_t kLong = std::numeric_limits<uint32_t>::max() / 20;
  if (count < kLong) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i);
    for (int64_t i = 0; i < count - 1; ++i) {
      std::swap(out[i], out[i + gen.random() % static_cast<uint32_t>(count - i)]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other = static_cast<int64_t>(gen.random64() % static_cast<uint64_t>(i + 1));
    out[i] = out[other];
    out[other] = static_cast<T>(i);
  }
}

#define MSA_INSTANTIATE(T)                                                    \
  template void fill_integers<T>(Generator&, T*, int64_t, uint64_t, int64_t); \
  template void fill_permutation<T>(Generator&, T*, int64_t);
MSA_INSTANTIATE(bool)
MSA_INSTANTIATE(uint8_t)
MSA_INSTANTIATE(int8_t)
MSA_INSTANTIATE(uint16_t)
MSA_INSTANTIATE(int16_t)
MSA_INSTANTIATE(uint32_t)
MSA_INSTANTIATE(int32_t)
MSA_INSTANTIATE(uint64_t)
MSA_INSTANTIATE(int64_t)
MSA_INSTANTIATE(f16)
MSA_INSTANTIATE(bf16)
MSA_INSTANTIATE(float)
MSA_INSTANTIATE(double)
#undef MSA_INSTANTIATE

#define MSA_INSTANTIATE(T) template void fill_random<T>(Generator&, T*, int64_t);
MSA_INSTANTIATE(bool)
MSA_INSTANTIATE(uint8_t)
MSA_INSTANTIATE(int8_t)
MSA_INSTANTIATE(int16_t)
MSA_INSTANTIATE(int32_t)
MSA_INSTANTIATE(int64_t)
MSA_INSTANTIATE(f16)
MSA_INSTANTIATE(bf16)
MSA_INSTANTIATE(float)
MSA_INSTANTIATE(double)
#undef MSA_INSTANTIATE

}  // namespace msa::random
