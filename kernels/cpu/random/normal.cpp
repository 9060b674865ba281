// normal_ and log_normal_: Gaussian numbers.
#include <numbers>

#include "core/random/distributions.h"
#include "core/random/fill.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"

namespace msa::kernels {

void normal_(Tensor& input, double mean, double std, OptGenerator generator) {
  MSA_REQUIRE(std >= 0, Runtime, "normal expects std >= 0.0, but found std ", std, ".");
  // A complex number has the variance asked for, so each of its parts has half of it.
  if (is_complex(input.dtype())) std /= std::numbers::sqrt2;
  cpu::for_floating("normal_", to_real(input.dtype()), [&]<class T> {
    if (input.numel() == 0) return;
    const cpu::Target out("normal_", input);
    cpu::Drawing drawing(generator, out.numel);
    if (out.numel >= 16 && out.contiguous) {
      random::fill_normal_blocks(drawing.gen, static_cast<T*>(out.data), out.numel, mean, std);
    } else {
      cpu::fill_each<T>(out, [&] { return random::normal(drawing.gen, mean, std); });
    }
  });
}

bool _all_non_negative(const Tensor& input) {
  bool all = true;
  cpu::for_real("normal: std", input.dtype(), [&]<class T> {
    const T* const data = input.data<T>();
    cpu::for_rows<1>(input.sizes(), {DimsView(input.strides())},
                     [&](auto offsets, auto steps, int64_t length) {
                       for (int64_t i = 0; i < length; ++i) {
                         all = all && data[offsets[0] + i * steps[0]] >= T(0);
                       }
                     });
  });
  return all;
}

void log_normal_(Tensor& input, double mean, double std, OptGenerator generator) {
  MSA_REQUIRE(std > 0, Runtime, "log_normal_ expects std > 0.0, but found std=", std, ".");
  cpu::for_floating("log_normal_", input.dtype(), [&]<class T> {
    const cpu::Target out("log_normal_", input);
    cpu::Drawing drawing(generator, out.numel);
    cpu::fill_each<T>(out, [&] { return random::log_normal(drawing.gen, mean, std); });
  });
}

}  // namespace msa::kernels
