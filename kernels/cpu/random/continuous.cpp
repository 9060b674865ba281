// exponential_, cauchy_ and _standard_gamma: continuous distributions other than uniform and
// normal.
#include <algorithm>
#include <limits>

#include "core/random/distributions.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"

namespace msa::kernels {

void exponential_(Tensor& input, double lambd, OptGenerator generator) {
  MSA_REQUIRE(lambd > 0, Runtime, "exponential_ expects lambda > 0.0, but found lambda=", lambd,
              ".");
  MSA_REQUIRE(is_floating(input.dtype()), Runtime,
              "exponential_: the exponential distribution is continuous; dtype must be a floating "
              "point but you specified ",
              input.dtype(), ".");
  cpu::for_floating("exponential_", input.dtype(), [&]<class T> {
    const cpu::Target out("exponential_", input);
    cpu::Drawing drawing(generator, out.numel);
    cpu::fill_each<T>(out, [&] { return random::exponential(drawing.gen, lambd); });
  });
}

void cauchy_(Tensor& input, double median, double sigma, OptGenerator generator) {
  MSA_REQUIRE(sigma > 0, Runtime, "cauchy_ expects sigma > 0.0, but found sigma=", sigma, ".");
  MSA_REQUIRE(is_floating(input.dtype()), Runtime,
              "cauchy_: the Cauchy distribution is continuous; dtype must be a floating point but "
              "you specified ",
              input.dtype(), ".");
  cpu::for_floating("cauchy_", input.dtype(), [&]<class T> {
    const cpu::Target out("cauchy_", input);
    cpu::Drawing drawing(generator, out.numel);
    cpu::fill_each<T>(out, [&] { return random::cauchy(drawing.gen, median, sigma); });
  });
}

void _standard_gamma(const Tensor& input, OptGenerator generator, Tensor& result) {
  cpu::for_single_and_double("_standard_gamma", input.dtype(), [&]<class T> {
    const cpu::Target out("_standard_gamma", result);
    cpu::Drawing drawing(generator, out.numel);
    auto one = [&](T alpha) {
      return std::max(std::numeric_limits<T>::min(),
                      static_cast<T>(random::gamma(drawing.gen, alpha)));
    };
    cpu::map_each<T>(out, one, cpu::Typed<T>{input});
  });
}

}  // namespace msa::kernels
