// bernoulli, geometric_, poisson and binomial: distributions over whole numbers.
#include "core/random/distributions.h"
#include "core/random/fill.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"

namespace msa::kernels {
namespace {

using cpu::Drawing;
using cpu::Target;

void require_probability(double p) {
  MSA_REQUIRE(p >= 0 && p <= 1, Runtime, "bernoulli expects p to be in [0, 1], but got p=", p, ".");
}

// Half probabilities are compared in float; double ones take 53 random bits instead of 24.
template <class T>
using Unit = std::conditional_t<std::is_same_v<T, double>, double, float>;

void draw_bernoulli(const Tensor& probabilities, OptGenerator generator, const Tensor& result) {
  if (result.numel() == 0) return;
  cpu::for_common_and_bool("bernoulli", result.dtype(), [&]<class T> {
    cpu::for_floating("bernoulli: p", probabilities.dtype(), [&]<class P> {
      const Target out("bernoulli", result);
      Drawing drawing(generator, out.numel);
      auto one = [&](Unit<P> p) {
        require_probability(p);
        return random::unit<Unit<P>>(drawing.gen) < p;
      };
      cpu::map_each<T>(out, one, cpu::Typed<P>{probabilities});
    });
  });
}

void draw_bernoulli(double p, OptGenerator generator, const Tensor& result) {
  require_probability(p);
  if (result.numel() == 0) return;
  cpu::for_common_and_bool("bernoulli", result.dtype(), [&]<class T> {
    const Target out("bernoulli", result);
    Drawing drawing(generator, out.numel);
    cpu::fill_rows<T>(
        out, [&](T* run, int64_t count) { random::fill_bernoulli(drawing.gen, run, count, p); });
  });
}

}  // namespace

void bernoulli(const Tensor& input, OptGenerator generator, Tensor& result) {
  draw_bernoulli(input, generator, result);
}
void bernoulli_p(const Tensor&, double p, OptGenerator generator, Tensor& result) {
  draw_bernoulli(p, generator, result);
}
void bernoulli_tensor_(Tensor& input, const Tensor& p, OptGenerator generator) {
  draw_bernoulli(p, generator, input);
}
void bernoulli_float_(Tensor& input, double p, OptGenerator generator) {
  draw_bernoulli(p, generator, input);
}

void geometric_(Tensor& input, double p, OptGenerator generator) {
  MSA_REQUIRE(p > 0 && p < 1, Runtime, "geometric_ expects p to be in (0, 1), but got p=", p, ".");
  cpu::for_common("geometric_", input.dtype(), [&]<class T> {
    const Target out("geometric_", input);
    Drawing drawing(generator, out.numel);
    cpu::fill_each<T>(out, [&] { return random::geometric(drawing.gen, p); });
  });
}

void poisson(const Tensor& input, OptGenerator generator, Tensor& result) {
  cpu::for_floating("poisson", input.dtype(), [&]<class T> {
    const Target out("poisson", result);
    Drawing drawing(generator, out.numel);
    auto one = [&](double rate) {
      MSA_REQUIRE(rate >= 0, Runtime, "poisson: invalid rate ", rate, ", expected non-negative.");
      return random::poisson(drawing.gen, rate);
    };
    cpu::map_each<T>(out, one, cpu::Typed<T>{input});
  });
}

void binomial(const Tensor& count, const Tensor& prob, OptGenerator generator, Tensor& result) {
  MSA_REQUIRE(prob.dtype() == count.dtype(), Runtime, "binomial: count is ", count.dtype(),
              " but prob is ", prob.dtype(), "; convert one.");
  cpu::for_single_and_double("binomial", count.dtype(), [&]<class T> {
    const Target out("binomial", result);
    Drawing drawing(generator, out.numel);
    auto one = [&](T n, T p) { return random::binomial(drawing.gen, n, p); };
    cpu::map_each<T>(out, one, cpu::Typed<T>{count}, cpu::Typed<T>{prob});
  });
}

}  // namespace msa::kernels
