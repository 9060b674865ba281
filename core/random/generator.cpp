// Seeding a generator and carrying its state in and out.
#include "core/random/generator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace msa {
namespace {

// The layout of PyTorch's serialised state. Its words are 64 bits wide for the sake of checkpoints
// written when the engine's were.
struct StateBytes {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[random::Mt19937::kWords];
  double unused_x;
  double normal;
  double unused_rho;
  int32_t has_normal;
  int32_t padding;
  float float_normal;
  uint8_t has_float_normal;
  uint8_t padding_end[3];
};
static_assert(sizeof(StateBytes) == Generator::kStateBytes);

uint64_t seed_from_os() {
  std::random_device device;
  uint64_t high = device();
  return (high << 32 | device()) & ((uint64_t{1} << 53) - 1);  // exact as a double, as in PyTorch
}

}  // namespace

void Generator::manual_seed(uint64_t seed) {
  engine_.reseed(seed);
  waiting_normal_.reset();
  waiting_float_normal_.reset();
}

uint64_t Generator::seed() {
  uint64_t fresh = seed_from_os();
  manual_seed(fresh);
  return fresh;
}

void Generator::get_state(uint8_t* out) const {
  StateBytes state{};
  state.seed = engine_.seed();
  state.left = engine_.left();
  state.seeded = 1;
  state.next = engine_.next();
  std::copy(engine_.raw().begin(), engine_.raw().end(), state.words);
  state.normal = waiting_normal_.value_or(0.0);
  state.has_normal = waiting_normal_.has_value();
  state.float_normal = waiting_float_normal_.value_or(0.0f);
  state.has_float_normal = waiting_float_normal_.has_value();
  std::memcpy(out, &state, sizeof(state));
}

bool Generator::set_state(const uint8_t* in) {
  StateBytes state;
  std::memcpy(&state, in, sizeof(state));
  if (!state.seeded || state.next > random::Mt19937::kWords) return false;
  std::array<uint32_t, random::Mt19937::kWords> words;
  std::transform(std::begin(state.words), std::end(state.words), words.begin(),
                 [](uint64_t word) { return static_cast<uint32_t>(word); });
  if (!engine_.restore(state.seed, state.left, static_cast<uint32_t>(state.next), words)) {
    return false;
  }
  waiting_normal_ = state.has_normal ? std::optional<double>(state.normal) : std::nullopt;
  waiting_float_normal_ =
      state.has_float_normal ? std::optional<float>(state.float_normal) : std::nullopt;
  return true;
}

void Generator::copy_from(const Generator& other) {
  engine_ = other.engine_;
  waiting_normal_ = other.waiting_normal_;
  waiting_float_normal_ = other.waiting_float_normal_;
}

Generator& default_generator() {
  static Generator generator(seed_from_os());
  return generator;
}

}  // namespace msa
