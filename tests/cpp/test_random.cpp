// The random stream against answers stored from PyTorch 2.13 (seed 2026), so that it is checked
// without it.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "core/dtype/dtype.h"
#include "core/random/distributions.h"
#include "core/random/fill.h"
#include "core/random/generator.h"
#include "core/random/integers.h"
#include "core/random/loops.h"

namespace msa::random {
namespace {

constexpr uint64_t kSeed = 2026;

// FNV-1a of a result's bytes: long results are stored as this.
template <class T>
uint64_t hash(const std::vector<T>& values) {
  uint64_t h = 0xcbf29ce484222325u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) h = (h ^ bytes[i]) * 0x100000001b3u;
  return h;
}

struct Bit {  // std::vector<bool> has no bytes to hash
  bool value;
};

template <class T, class Fill>
std::vector<T> drawn(size_t count, Fill fill) {
  Generator gen(kSeed);
  std::vector<T> out(count);
  fill(gen, out.data(), static_cast<int64_t>(count));
  return out;
}

template <class T, class One>
std::vector<T> each(size_t count, One one) {
  return drawn<T>(count, [&](Generator& gen, T* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(one(gen));
  });
}

template <class T>
std::vector<T> uniform(size_t count, double from, double to) {
  return drawn<T>(count,
                  [&](Generator& gen, T* out, int64_t n) { fill_uniform(gen, out, n, from, to); });
}

std::vector<uint8_t> state_of(const Generator& gen) {
  std::vector<uint8_t> bytes(Generator::kStateBytes);
  gen.get_state(bytes.data());
  return bytes;
}

// First three and last two values, where logarithms and sines may differ in the last bits by libm.
template <class T>
void check_ends(const std::vector<T>& got, std::initializer_list<double> want, double tolerance) {
  const size_t n = got.size();
  const double ends[] = {got[0], got[1], got[2], got[n - 2], got[n - 1]};
  size_t i = 0;
  for (double w : want) CHECK(ends[i++] == doctest::Approx(w).epsilon(tolerance));
}

}  // namespace

TEST_CASE("uniform") {
  CHECK(hash(uniform<float>(1003, -2, 5)) == 0x11a075761cfde05au);
  CHECK(hash(uniform<double>(100, -2, 5)) == 0xa23db1d6b1de3416u);
  CHECK(hash(uniform<f16>(100, 0, 1)) == 0x5c02ab33da82314au);
  CHECK(hash(uniform<bf16>(100, 0, 1)) == 0x4cda398816583059u);
}

TEST_CASE("integers") {
  auto between = [](Generator& gen, int64_t* out, int64_t n, int64_t from, int64_t to) {
    fill_integers(gen, out, n, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), from);
  };
  auto ints = [&](size_t count, int64_t from, int64_t to) {
    return drawn<int64_t>(
        count, [&](Generator& gen, int64_t* out, int64_t n) { between(gen, out, n, from, to); });
  };
  CHECK(hash(ints(700, -3, 900)) == 0x000edba12570fba3u);
  CHECK(hash(ints(100, -(int64_t{1} << 40), int64_t{1} << 40)) == 0xae937c5757fdd868u);
  CHECK(hash(ints(100, 0, 0)) == 0x9d2ee73e26473969u);  // range 0: all 64 bits
  CHECK(hash(drawn<float>(100, fill_random<float>)) == 0x5260d424e50b9b46u);
  CHECK(hash(drawn<int64_t>(100, fill_random<int64_t>)) == 0xfc63aec971c47ae9u);
  CHECK(hash(drawn<uint8_t>(100, fill_random<uint8_t>)) == 0x4c742595d1805afbu);
  CHECK(hash(drawn<f16>(100, fill_random<f16>)) == 0xa1acb78718e76188u);
  CHECK(hash(drawn<int64_t>(1000, fill_permutation<int64_t>)) == 0x54543e88e5dcb3d1u);
  auto bits = drawn<Bit>(
      100, [](Generator& gen, Bit* out, int64_t n) { fill_random(gen, &out->value, n); });
  CHECK(hash(bits) == 0xb2551c28850084fdu);
}

TEST_CASE("discrete distributions") {
  auto flips = drawn<float>(
      700, [](Generator& gen, float* out, int64_t n) { fill_bernoulli(gen, out, n, 0.3); });
  CHECK(hash(flips) == 0x9c4567f5a8e64025u);
  auto counts = [](auto one) { return hash(each<int64_t>(200, one)); };
  CHECK(counts([](Generator& g) { return poisson(g, 4); }) == 0xa9fab523bf1f6a40u);
  CHECK(counts([](Generator& g) { return poisson(g, 40); }) == 0x8cc2e55c4211a304u);
  CHECK(counts([](Generator& g) { return binomial(g, 10.0f, 0.7f); }) == 0xcfbfba3fc3c80d0eu);
  CHECK(counts([](Generator& g) { return binomial(g, 100.0f, 0.3f); }) == 0x4ab66727c12de531u);
  CHECK(counts([](Generator& g) { return geometric(g, 0.3); }) == 0x41663f79f24d41b5u);
}

TEST_CASE_TEMPLATE("normal in blocks, with a tail drawn anew", T, f16, bf16, float, double) {
  auto got = drawn<T>(
      50, [](Generator& gen, T* out, int64_t n) { fill_normal_blocks(gen, out, n, 1, 2); });
  if constexpr (std::is_same_v<T, double>) {
    check_ends(got,
               {0.5962805893218763, 4.661530866858492, -0.12047204954269031, -0.8451293415481207,
                1.8184859147962276},
               1e-14);
  } else if constexpr (std::is_same_v<T, float>) {
    check_ends(got,
               {0.6321791410446167, 2.4592795372009277, 2.2483339309692383, 3.0048489570617676,
                0.2951793670654297},
               2e-6);
  } else if constexpr (std::is_same_v<T, f16>) {
    check_ends(got, {0.63232421875, 2.458984375, 2.248046875, 0.814453125, 2.669921875}, 1e-3);
  } else {
    check_ends(got, {0.6328125, 2.453125, 2.25, 0.81640625, 2.671875}, 8e-3);
  }
}

TEST_CASE("every build of the normal loop agrees as closely as PyTorch's own builds do") {
  auto uniforms = uniform<float>(4096, 0, 1), plain = uniforms;
  loops().normal(uniforms.data(), 4096 / kBlock, 0, 1);
  baseline_loops.normal(plain.data(), 4096 / kBlock, 0, 1);
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(std::abs(uniforms[i] - plain[i]) <= 2e-6f);
  }
}

TEST_CASE("continuous distributions, one value at a time") {
  auto values = [](auto one) { return each<double>(5, one); };
  check_ends(values([](Generator& g) { return normal(g, 1, 2); }),
             {1.7310915405447023, 4.812920433430628, 1.4337298140099521, 1.5926697198171031,
              -1.031992629934917},
             1e-14);
  check_ends(values([](Generator& g) { return exponential(g, 2); }),
             {0.12413419870030434, 0.9420535670205522, 0.08093676778287004, 0.033711184271824436,
              0.4405169189911675},
             1e-14);
  check_ends(values([](Generator& g) { return cauchy(g, 1, 2); }),
             {-1.4199137544135962, 4.866043735298662, -2.9420068348061825, -8.627212585633913,
              1.5515010950740038},
             1e-13);
  check_ends(values([](Generator& g) { return log_normal(g, 1, 2); }),
             {5.646814272399873, 123.09057093070798, 4.194314064896442, 4.916858055080245,
              0.35629628610329966},
             1e-13);
  check_ends(values([](Generator& g) { return gamma(g, 0.3); }),
             {0.5801536612731685, 0.03066443225193453, 0.0067593973277584665, 0.23326441094575287,
              1.6552424858315333},
             1e-13);
  check_ends(values([](Generator& g) { return gamma(g, 3.0); }),
             {3.309249475842466, 7.148590834131615, 1.3278480869482272, 1.7938914021135641,
              2.513896834797982},
             1e-13);
}

TEST_CASE("state bytes are PyTorch's, and a restored state continues") {
  Generator gen(kSeed);
  CHECK(hash(state_of(gen)) == 0xf24f7c9501e5f989u);
  std::vector<float> some(1500);
  fill_uniform(gen, some.data(), 1500, 0, 1);
  CHECK(hash(state_of(gen)) == 0x24547a000d5489a6u);

  standard_normal(gen);  // leaves a value waiting
  Generator copy;
  REQUIRE(copy.set_state(state_of(gen).data()));
  CHECK(state_of(copy) == state_of(gen));
  CHECK(standard_normal(copy) == standard_normal(gen));
  CHECK(copy.random64() == gen.random64());
  CHECK(copy.initial_seed() == kSeed);
}

TEST_CASE("an impossible state is refused and changes nothing") {
  Generator gen(kSeed);
  const auto before = state_of(gen);
  auto broken = before;
  const int32_t left = 700;
  std::memcpy(broken.data() + 8, &left, sizeof(left));
  CHECK_FALSE(gen.set_state(broken.data()));
  CHECK(state_of(gen) == before);
}

TEST_CASE("seeding forgets the waiting normal") {
  Generator gen(kSeed);
  const double first = standard_normal(gen);
  gen.manual_seed(kSeed);
  CHECK(standard_normal(gen) == first);
}

TEST_CASE("words drawn in bulk and one by one are the same stream") {
  Generator one(kSeed), bulk(kSeed);
  std::vector<uint32_t> words(3000);
  for (size_t start = 0, some = 1; start < words.size(); start += some, some = some * 3 % 701) {
    bulk.draw(words.data() + start, std::min(some, words.size() - start));
  }
  for (uint32_t word : words) CHECK(word == one.random());
}

}  // namespace msa::random
