// uniform_: evenly distributed floating numbers, on which rand and most initialisers rest.
#include "core/random/fill.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"
#include "kernels/cpu/random/limits.h"

namespace msa::kernels {

void uniform_(Tensor& input, double from, double to, OptGenerator generator) {
  cpu::for_floating("uniform_", to_real(input.dtype()), [&]<class T> {
    constexpr double kMax = cpu::kLargest<T>;
    MSA_REQUIRE(from >= -kMax && from <= kMax, Runtime, "uniform_: from is out of bounds for ",
                input.dtype(), ": ", from, " is beyond ", kMax, ".");
    MSA_REQUIRE(to >= -kMax && to <= kMax, Runtime, "uniform_: to is out of bounds for ",
                input.dtype(), ": ", to, " is beyond ", kMax, ".");
    MSA_REQUIRE(from <= to, Runtime,
                "uniform_ expects to return a [from, to) range, but found from=", from,
                " > to=", to, ".");
    MSA_REQUIRE(to - from <= kMax, Runtime, "uniform_: to - from = ", to - from,
                " is beyond the largest ", input.dtype(), ".");
    if (input.numel() == 0) return;
    const cpu::Target out("uniform_", input);
    cpu::Drawing drawing(generator, out.numel);
    cpu::fill_rows<T>(out, [&](T* run, int64_t count) {
      random::fill_uniform(drawing.gen, run, count, from, to);
    });
  });
}

}  // namespace msa::kernels
