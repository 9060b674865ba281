// The noise of dropout and of rrelu, and its product with the input in the same pass.
#include "core/random/distributions.h"
#include "core/random/fill.h"
#include "generated/kernels_random.h"
#include "kernels/cpu/random/draw.h"

namespace msa::kernels {
namespace {

template <class T>
using Math = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace

// `noise` becomes 0 with probability p, else 1 / (1 - p) rounded to the dtype.
void _dropout(const Tensor& input, double p, Tensor& result, Tensor& noise) {
  cpu::for_floating("dropout", input.dtype(), [&]<class T> {
    const cpu::Target out("dropout", noise);
    const T kept = static_cast<T>(Math<T>(1) / static_cast<Math<T>>(1 - p));
    {
      cpu::Drawing drawing(nullptr, out.numel);
      cpu::fill_rows<T>(out, [&](T* run, int64_t count) {
        random::fill_bernoulli(drawing.gen, run, count, 1 - p);
      });
    }
    // Scaling and multiplying draw nothing, so they may go in any order.
    const Dims strides = result.strides(), from = input.strides();
    T* const data = static_cast<T*>(out.data);
    T* const to = result.data<T>();
    const T* const in = input.data<T>();
    cpu::for_rows<3>(out.sizes, {DimsView(out.strides), DimsView(strides), DimsView(from)},
                     [&](auto offsets, auto steps, int64_t length) {
                       for (int64_t i = 0; i < length; ++i) {
                         T& factor = data[offsets[0] + i * steps[0]];
                         factor = factor != T(0) ? kept : T(0);
                         to[offsets[1] + i * steps[1]] =
                             static_cast<T>(in[offsets[2] + i * steps[2]] * factor);
                       }
                     });
  });
}

// `noise` becomes the factor of each element: 1 above zero, else a slope drawn from [lower, upper).
void _rrelu(const Tensor& input, const Scalar& lower, const Scalar& upper, OptGenerator generator,
            Tensor& result, Tensor& noise) {
  cpu::for_floating("rrelu", input.dtype(), [&]<class T> {
    const double from = lower.to<Math<T>>(), width = upper.to<Math<T>>() - from;
    const cpu::Target slopes("rrelu", noise), out("rrelu", result);
    cpu::Drawing drawing(generator, out.numel);
    auto draw = [&](T x) -> Math<T> {
      if (x > T(0)) return 1;
      return static_cast<Math<T>>(random::unit<double>(drawing.gen) * width + from);
    };
    T* const slope_data = static_cast<T*>(slopes.data);
    T* const out_data = static_cast<T*>(out.data);
    const T* const in = input.data<T>();
    // PyTorch draws in the order of the indices here, so an operand laid out like that leads.
    const Dims leading = contiguous_strides(out.sizes), from_strides = input.strides();
    cpu::for_rows<4>(out.sizes,
                     {DimsView(leading), DimsView(out.strides), DimsView(slopes.strides),
                      DimsView(from_strides)},
                     [&](auto offsets, auto steps, int64_t length) {
                       for (int64_t i = 0; i < length; ++i) {
                         const T x = in[offsets[3] + i * steps[3]];
                         const Math<T> slope = draw(x);
                         out_data[offsets[1] + i * steps[1]] = static_cast<T>(x * slope);
                         slope_data[offsets[2] + i * steps[2]] = static_cast<T>(slope);
                       }
                     });
  });
}

}  // namespace msa::kernels
