// The pooling operators: dtypes, contiguous planes, threads.
#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/pool/loops.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

using cpu::PoolShape;

enum class Halves { AsFloat, InSteps };

// Half types are pooled as float, or rounded at each addition where PyTorch does that.
template <class F>
void with_type(const char* op, DType dtype, F&& f, Halves halves = Halves::AsFloat) {
  switch (halves == Halves::AsFloat ? opmath(dtype) : dtype) {
#define MSA_CASE(E, T) \
  case DType::E:       \
    return f.template operator()<T>();
    MSA_CASE(U8, uint8_t)
    MSA_CASE(I8, int8_t)
    MSA_CASE(I16, int16_t)
    MSA_CASE(I32, int32_t)
    MSA_CASE(I64, int64_t)
    MSA_CASE(F16, f16)
    MSA_CASE(BF16, bf16)
    MSA_CASE(F32, float)
    MSA_CASE(F64, double)
#undef MSA_CASE
    default:
      fail(ErrorKind::NotImplemented, op, ": not implemented for ", dtype,
           ": convert the input first.");
  }
}

// one(plane) for all planes, over threads.
template <class F>
void each_plane(int64_t planes, int64_t plane_work, F&& one) {
  const Unlocked unlocked(planes * plane_work >= cpu::kGrain);
  cpu::parallel(planes, std::max<int64_t>(1, cpu::kGrain / 4 / (plane_work + 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t p = begin; p < end; ++p) one(p);
                });
}

void max_pool(const char* op, const PoolShape& s, const Tensor& input, const Tensor& out,
              const Tensor& indices) {
  if (out.numel() == 0) return;
  with_type(op, input.dtype(), [&]<class T>() {
    const Tensor in = cpu::contiguous(input, dtype_of<T>::value);
    const auto& loops = cpu::pool_loops<T>();
    cpu::fill_contiguous(indices, DType::I64, [&](const Tensor& positions) {
      cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
        each_plane(s.planes, s.in_plane(),
                   [&, from = in.data<T>(), best = to.data<T>(),
                    at = positions.data<int64_t>()](int64_t p) {
                     loops.max(s, from + p * s.in_plane(), best + p * s.out_plane(),
                               at + p * s.out_plane());
                   });
      });
    });
  });
}

void average(const PoolShape& s, const Tensor& input, const Tensor& out,
             Halves halves = Halves::AsFloat) {
  if (out.numel() == 0) return;
  const auto run = [&]<class T>() {
    const Tensor in = cpu::contiguous(input, dtype_of<T>::value);
    const auto& loops = cpu::pool_loops<T>();
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_plane(s.planes, s.in_plane(), [&, from = in.data<T>(), into = to.data<T>()](int64_t p) {
        loops.average(s, from + p * s.in_plane(), into + p * s.out_plane());
      });
    });
  };
  with_type("avg_pool", input.dtype(), run, halves);
}

void average_backward(const PoolShape& s, const Tensor& grad, const Tensor& out) {
  if (out.numel() == 0) return;
  const auto run = [&]<class T>() {
    const Tensor g = cpu::contiguous(grad, dtype_of<T>::value);
    const auto& loops = cpu::pool_loops<T>();
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_plane(s.planes, s.in_plane(), [&, from = g.data<T>(), into = to.data<T>()](int64_t p) {
        std::fill_n(into + p * s.in_plane(), s.in_plane(), T(0));
        loops.average_backward(s, from + p * s.out_plane(), into + p * s.in_plane());
      });
    });
  };
  with_type("avg_pool", grad.dtype(), run, Halves::InSteps);
}

// Planes of the pooled dimensions: how many, and their elements on both sides.
struct Planes {
  int64_t count, in, out;
};
Planes planes_of(DimsView in, DimsView out, size_t pooled) {
  const size_t lead = in.size() - pooled;
  return {product(in.first(lead)), product(in.subspan(lead)), product(out.subspan(lead))};
}

PoolShape average_windows(DimsView in, DimsView out, const Dims& kernel, const Dims& stride,
                          const Dims& padding, bool count_include_pad, OptInt divisor) {
  PoolShape s = cpu::window_shape(in, out, kernel, stride, padding, Dims(kernel.size(), 1),
                                  count_include_pad);
  s.divisor = divisor.value_or(0);
  return s;
}

}  // namespace

namespace kernels {

void _max_pool(const Tensor& input, const Dims& kernel_size, const Dims& stride,
               const Dims& padding, const Dims& dilation, bool, Tensor& out, Tensor& indices) {
  max_pool(
      "max_pool",
      cpu::window_shape(input.sizes(), out.sizes(), kernel_size, stride, padding, dilation, false),
      input, out, indices);
}

void _adaptive_max_pool(const Tensor& input, const Dims& output_size, Tensor& out,
                        Tensor& indices) {
  max_pool("adaptive_max_pool", cpu::adaptive_shape(input.sizes(), out.sizes(), output_size.size()),
           input, out, indices);
}

void _max_pool_backward(const Tensor& grad_output, const Tensor& indices, const Dims& input_size,
                        const Dims& pooled, Tensor& out) {
  const Planes p = planes_of(input_size, indices.sizes(), pooled.size());
  const Tensor at = cpu::contiguous(indices);
  const auto run = [&]<class T>() {
    const Tensor g = cpu::contiguous(grad_output, dtype_of<T>::value);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_plane(
          p.count, p.in,
          [&, grad = g.data<T>(), index = at.data<int64_t>(), into = to.data<T>()](int64_t i) {
            T* plane = into + i * p.in;
            std::fill_n(plane, p.in, T(0));
            for (int64_t o = i * p.out; o < (i + 1) * p.out; ++o)
              plane[index[o]] = static_cast<T>(plane[index[o]] + grad[o]);
          });
    });
  };
  with_type("max_pool backward", grad_output.dtype(), run, Halves::InSteps);
}

void _max_pool_take(const Tensor& input, const Tensor& indices, const Dims& pooled, Tensor& out) {
  const Planes p = planes_of(input.sizes(), indices.sizes(), pooled.size());
  const Tensor at = cpu::contiguous(indices);
  with_type("max_pool", input.dtype(), [&]<class T>() {
    const Tensor in = cpu::contiguous(input, dtype_of<T>::value);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      each_plane(
          p.count, p.in,
          [&, from = in.data<T>(), index = at.data<int64_t>(), into = to.data<T>()](int64_t i) {
            for (int64_t o = i * p.out; o < (i + 1) * p.out; ++o)
              into[o] = from[i * p.in + index[o]];
          });
    });
  });
}

void _avg_pool(const Tensor& input, const Dims& kernel_size, const Dims& stride,
               const Dims& padding, bool, bool count_include_pad, OptInt divisor_override,
               Tensor& out) {
  average(average_windows(input.sizes(), out.sizes(), kernel_size, stride, padding,
                          count_include_pad, divisor_override),
          input, out);
}

void _avg_pool_backward(const Tensor& grad_output, const Dims& input_size, const Dims& kernel_size,
                        const Dims& stride, const Dims& padding, bool, bool count_include_pad,
                        OptInt divisor_override, Tensor& out) {
  average_backward(average_windows(input_size, grad_output.sizes(), kernel_size, stride, padding,
                                   count_include_pad, divisor_override),
                   grad_output, out);
}

void _adaptive_avg_pool(const Tensor& input, const Dims& output_size, Tensor& out) {
  average(cpu::adaptive_shape(input.sizes(), out.sizes(), output_size.size()), input, out,
          output_size.size() == 3 ? Halves::InSteps : Halves::AsFloat);
}

void _adaptive_avg_pool_backward(const Tensor& grad_output, const Dims& input_size,
                                 const Dims& output_size, Tensor& out) {
  average_backward(cpu::adaptive_shape(input_size, grad_output.sizes(), output_size.size()),
                   grad_output, out);
}

}  // namespace kernels
}  // namespace msa
