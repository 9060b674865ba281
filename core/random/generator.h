// The random generator that every sampling operator draws from: PyTorch's CPU stream, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/base/ref.h"
#include "core/random/fwd.h"
#include "core/random/mt19937.h"

namespace msa {

// A kernel holds `mutex()` for as long as it draws, so that two threads never split one result's
// numbers between them.
struct Generator : Counted {
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // of a Generator nobody has seeded
  static constexpr size_t kStateBytes = 5056;

  static void destroy(Generator* gen) { delete gen; }

  explicit Generator(uint64_t seed = kDefaultSeed) : engine_(seed) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  void manual_seed(uint64_t seed);
  uint64_t initial_seed() const { return engine_.seed(); }
  // Seeds from the operating system and returns the seed.
  uint64_t seed();

  // The state as bytes, laid out as in torch.get_rng_state().
  void get_state(uint8_t* out) const;
  // False, with the generator unchanged, when the bytes cannot be a state.
  bool set_state(const uint8_t* in);
  void copy_from(const Generator& other);

  uint32_t random() { return engine_.next_u32(); }
  uint64_t random64() { return engine_.next_u64(); }
  void draw(uint32_t* out, size_t count) { engine_.draw(out, count); }

  // Box-Muller gives two values at a time; the second waits here.
  std::optional<double>& waiting_normal() { return waiting_normal_; }

  std::mutex& mutex() { return mutex_; }

 private:
  random::Mt19937 engine_;
  std::optional<double> waiting_normal_;
  std::optional<float> waiting_float_normal_;  // only ever set by a state that carries it
  std::mutex mutex_;
};

// The generator used where none is given; seeded from the operating system at first use.
Generator& default_generator();

inline Generator& generator_or_default(OptGenerator given) {
  return given != nullptr ? *given : default_generator();
}

}  // namespace msa
