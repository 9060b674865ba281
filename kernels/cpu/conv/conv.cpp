// The convolution operators: dtypes, staging, and how images and channels are split over threads.
#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/contiguous.h"
#include "kernels/cpu/conv/plain.h"
#include "kernels/cpu/conv/rows.h"
#include "kernels/cpu/conv/staging.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace cpu {

ConvShape conv_shape(DimsView input, DimsView weight, DimsView out, DimsView stride,
                     DimsView padding, DimsView dilation, int64_t groups) {
  ConvShape s{input[0],  groups,    weight[1], weight[0] / groups, {1, 1, 1},
              {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0},          {1, 1, 1}};
  const size_t spatial = stride.size();
  for (size_t i = 0; i < spatial; ++i) {
    const size_t d = 3 - spatial + i;
    s.in[d] = input[i + 2];
    s.out[d] = out[i + 2];
    s.kernel[d] = weight[i + 2];
    s.stride[d] = s.out[d] == 1 ? 1 : stride[i];  // a step that is never taken must not cost room
    s.padding[d] = padding[i];
    s.dilation[d] = dilation[i];
  }
  return s;
}

namespace {

constexpr int64_t kReleaseLockWork = 1 << 17, kThreadWork = 1 << 19;  // multiply-adds

// (N, C, D, H, W) strides of a tensor with fewer spatial dimensions.
struct ImageStrides {
  int64_t image, channel, spatial[3];
  const int64_t* from_channel() const { return &channel; }
};
ImageStrides image_strides(const Tensor& t) {
  ImageStrides s{t.strides()[0], t.strides()[1], {0, 0, 0}};
  const size_t spatial = t.strides().size() - 2;
  for (size_t i = 0; i < spatial; ++i) s.spatial[3 - spatial + i] = t.strides()[i + 2];
  return s;
}

// --- oneDNN -------------------------------------------------------------------------------------
// Measured: our rows win where they fill the vectors and each input is used several times; oneDNN
// works across channels, and takes some 10 us to start.
constexpr int64_t kOneDnnWork = 1 << 18, kWideRow = 24;

bool suits_rows(ConvPart part, const ConvShape& s) {
  if (part == ConvPart::WeightGradient) return false;
  const int64_t length = part == ConvPart::Forward ? s.out[2] : s.in[2];
  return s.groups == 1 && s.kernel_plane() > 1 && length >= kWideRow && s.stride[0] == 1 &&
         s.stride[1] == 1 && s.stride[2] == 1;
}

// Runs the part where oneDNN serves it better; false where it does not.
bool by_onednn(ConvPart part, const ConvShape& s, const Tensor& a, const Tensor& b,
               const Tensor& bias, const Tensor& out) {
  if (out.dtype() != DType::F32 || s.work() < kOneDnnWork || suits_rows(part, s)) return false;
  const onednn::Plan* plan = onednn::plan_conv(part, s, bias.defined());
  if (!plan) return false;
  const Tensor first = contiguous(a), second = contiguous(b),
               third = bias.defined() ? contiguous(bias) : bias;
  fill_contiguous(out, DType::F32, [&](const Tensor& target) {
    const Unlocked unlocked(true);
    onednn::run(*plan, first.data(), second.data(), third.defined() ? third.data() : nullptr,
                target.data());
  });
  return true;
}

// --- rows ---------------------------------------------------------------------------------------
// One pass of conv_rows over all images: what differs between the forward pass and the input's
// gradient.
template <class T>
struct RowsPass {
  const ConvShape& shape;
  Staging staging;
  int64_t channels;  // made, of one group
  const T* weights;  // (groups, channels, taps)
  const T* bias;     // (groups, channels), or null
  int64_t rows, row_length;
  T* out;  // (images, groups, channels, rows, row_length)
};

// Images and groups go to threads; where those are too few, channels too.
template <class T, class From>
void run_pass(const RowsPass<T>& pass, const From* source, const ImageStrides& strides) {
  const ConvShape& s = pass.shape;
  const Staging& st = pass.staging;
  const int64_t units = s.batch * s.groups, threads = get_num_threads();
  const int64_t parts =
      units >= threads ? 1 : std::min((threads + units - 1) / units, (pass.channels + 7) / 8);
  const int64_t plane = pass.rows * pass.row_length,
                taps = static_cast<int64_t>(st.tap_offsets.size());
  const int64_t part_channels = (pass.channels + parts - 1) / parts;
  const auto unit = [&](int64_t index, T* room) {
    const int64_t image = index / parts / s.groups, group = index / parts % s.groups;
    const int64_t first = index % parts * part_channels, channel = group * pass.channels + first;
    const From* from = source + image * strides.image + group * st.channels * strides.channel;
    const T* in = room;
    if (st.needed) {
      stage(st, from, strides.from_channel(), room);
    } else {
      in = reinterpret_cast<const T*>(from);
    }
    conv_kernels<T>().forward({std::min(part_channels, pass.channels - first), taps,
                               pass.weights + channel * taps,
                               pass.bias ? pass.bias + channel : nullptr, st.tap_offsets.data(),
                               st.row_offsets.data(), pass.rows, pass.row_length, in,
                               pass.out + (image * s.groups * pass.channels + channel) * plane});
  };
  const int64_t unit_work = s.work() / std::max<int64_t>(1, units * parts) + 1;
  parallel(units * parts, std::max<int64_t>(1, kThreadWork / unit_work),
           [&](int64_t begin, int64_t end) {
             Scratch<T> room(st.needed ? st.image() : 0);
             for (int64_t i = begin; i < end; ++i) unit(i, room.data());
           });
}

// Calls f<T, From>() for a dtype that is computed in rows: half types are read as they are, and
// computed in float. False for the others.
template <class F>
bool with_row_types(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      f.template operator()<float, float>();
      return true;
    case DType::F64:
      f.template operator()<double, double>();
      return true;
    case DType::F16:
      f.template operator()<float, f16>();
      return true;
    case DType::BF16:
      f.template operator()<float, bf16>();
      return true;
    default:
      return false;
  }
}

// Contiguous planes of the computing type can be read where they are.
template <class T, class From>
bool must_copy(const Tensor& t) {
  return !std::is_same_v<T, From> || !t.is_contiguous();
}

void set_to_bias(const Tensor& out, const Tensor& bias) {
  if (!bias.defined()) return copy_into(out, scalar_tensor(0, out.dtype()));
  Layout column{Dims(static_cast<size_t>(out.dim()) - 1, 1),
                Dims(static_cast<size_t>(out.dim()) - 1, 0), bias.offset()};
  column.sizes[0] = bias.sizes()[0];
  column.strides[0] = bias.strides()[0];
  copy_into(out, alias(bias, column));
}

void zero_fill(const Tensor& out) { copy_into(out, scalar_tensor(0, out.dtype())); }

void forward(const ConvShape& s, const Tensor& input, const Tensor& weight, const Tensor& bias,
             const Tensor& out) {
  if (by_onednn(ConvPart::Forward, s, input, weight, bias, out)) return;
  const bool in_rows = with_row_types(input.dtype(), [&]<class T, class From>() {
    const Tensor w = contiguous(weight, dtype_of<T>::value);
    const Tensor b = bias.defined() ? contiguous(bias, dtype_of<T>::value) : bias;
    fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      const RowsPass<T> pass{s,
                             stage_forward(s, must_copy<T, From>(input)),
                             s.out_channels,
                             w.data<T>(),
                             b.defined() ? b.data<T>() : nullptr,
                             s.out[0] * s.out[1],
                             s.out[2],
                             target.data<T>()};
      const Unlocked unlocked(s.work() >= kReleaseLockWork);
      run_pass<T, From>(pass, input.data<From>(), image_strides(input));
    });
  });
  if (in_rows) return;
  const Tensor i = contiguous(input), w = contiguous(weight);
  fill_contiguous(out, out.dtype(), [&](const Tensor& target) {
    set_to_bias(target, bias);
    const Unlocked unlocked(s.work() >= kReleaseLockWork);
    plain_conv(ConvPart::Forward, s, out.dtype(), i.data(), w.data(), target.data());
  });
}

// (group, out, in, kernel) -> (group, in, kernel, out): the order in which PyTorch adds the
// products.
template <class T>
void turn_weights(const ConvShape& s, const T* weight, T* to) {
  const int64_t plane = s.kernel_plane(), out_step = s.in_channels * plane;
  for (int64_t g = 0; g < s.groups; ++g)
    for (int64_t i = 0; i < s.in_channels; ++i)
      for (int64_t k = 0; k < plane; ++k) {
        const T* from = weight + (g * s.out_channels * s.in_channels + i) * plane + k;
        for (int64_t o = 0; o < s.out_channels; ++o) *to++ = from[o * out_step];
      }
}

void input_gradient(const ConvShape& s, const Tensor& grad, const Tensor& weight,
                    const Tensor& out) {
  if (by_onednn(ConvPart::InputGradient, s, grad, weight, Tensor(), out)) return;
  if (out.dtype() == DType::F16) {
    const Tensor g = contiguous(grad, DType::F32), w = contiguous(weight, DType::F32);
    return fill_contiguous(out, DType::F16, [&](const Tensor& target) {
      zero_fill(target);
      const Unlocked unlocked(s.work() >= kReleaseLockWork);
      half_input_gradient(s, g.data<float>(), w.data<float>(), target.data<f16>());
    });
  }
  const bool in_rows = with_row_types(grad.dtype(), [&]<class T, class From>() {
    const Tensor w = contiguous(weight, dtype_of<T>::value);
    Scratch<T> turned(w.numel());
    turn_weights(s, w.data<T>(), turned.data());
    fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      const RowsPass<T> pass{s,
                             stage_input_gradient(s, must_copy<T, From>(grad)),
                             s.in_channels,
                             turned.data(),
                             nullptr,
                             s.in[0] * s.in[1],
                             s.in[2],
                             target.data<T>()};
      const Unlocked unlocked(s.work() >= kReleaseLockWork);
      run_pass<T, From>(pass, grad.data<From>(), image_strides(grad));
    });
  });
  if (in_rows) return;
  const Tensor g = contiguous(grad), w = contiguous(weight);
  fill_contiguous(out, out.dtype(), [&](const Tensor& target) {
    zero_fill(target);
    const Unlocked unlocked(s.work() >= kReleaseLockWork);
    plain_conv(ConvPart::InputGradient, s, out.dtype(), g.data(), w.data(), target.data());
  });
}

// Stages every image first: each tile of weights then runs over all of them.
template <class T, class From>
void weight_rows(const ConvShape& s, const Staging& st, const Tensor& input, const T* grad,
                 T* out) {
  const ImageStrides strides = image_strides(input);
  const int64_t units = s.batch * s.groups, taps = static_cast<int64_t>(st.tap_offsets.size());
  Scratch<T> room(st.needed ? units * st.image() : 0);
  const T* staged = room.data();
  if (st.needed) {
    parallel(units, std::max<int64_t>(1, kGrain / (st.image() + 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t u = begin; u < end; ++u)
                 stage(st,
                       input.data<From>() + u / s.groups * strides.image +
                           u % s.groups * st.channels * strides.channel,
                       strides.from_channel(), room.data() + u * st.image());
             });
  } else {
    staged = reinterpret_cast<const T*>(input.data<From>());
  }
  const int64_t image = st.needed ? st.image() : st.channels * s.in_plane();
  constexpr int64_t kBlock = 4;
  const int64_t blocks = (s.out_channels + kBlock - 1) / kBlock;
  const int64_t block_work = s.work() / std::max<int64_t>(1, s.groups * blocks) + 1;
  parallel(s.groups * blocks, std::max<int64_t>(1, kThreadWork / block_work),
           [&](int64_t begin, int64_t end) {
             for (int64_t b = begin; b < end; ++b) {
               const int64_t group = b / blocks, first = b % blocks * kBlock,
                             channel = group * s.out_channels + first;
               conv_kernels<T>().weights(
                   {std::min(kBlock, s.out_channels - first), taps, s.batch, st.tap_offsets.data(),
                    st.row_offsets.data(), s.out[0] * s.out[1], s.out[2], staged + group * image,
                    s.groups * image, grad + channel * s.out_plane(),
                    s.groups * s.out_channels * s.out_plane(), out + channel * taps, taps});
             }
           });
}

void weight_gradient(const ConvShape& s, const Tensor& grad, const Tensor& input,
                     const Tensor& out) {
  if (by_onednn(ConvPart::WeightGradient, s, grad, input, Tensor(), out)) return;
  const bool in_rows = with_row_types(grad.dtype(), [&]<class T, class From>() {
    const Tensor g = contiguous(grad, dtype_of<T>::value);
    const Staging st = stage_forward(s, must_copy<T, From>(input));
    fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& target) {
      const Unlocked unlocked(s.work() >= kReleaseLockWork);
      weight_rows<T, From>(s, st, input, g.data<T>(), target.data<T>());
    });
  });
  if (in_rows) return;
  const Tensor g = contiguous(grad), i = contiguous(input);
  fill_contiguous(out, out.dtype(), [&](const Tensor& target) {
    zero_fill(target);
    const Unlocked unlocked(s.work() >= kReleaseLockWork);
    plain_conv(ConvPart::WeightGradient, s, out.dtype(), g.data(), i.data(), target.data());
  });
}

Tensor image_of(const Tensor& t, int64_t n) {
  Dims sizes = t.sizes();
  sizes[0] = 1;
  return alias(t, {sizes, t.strides(), t.offset() + n * t.strides()[0]});
}

// In float16 PyTorch rounds the sum after each image.
void half_weight_gradient(const ConvShape& s, const Tensor& grad, const Tensor& input,
                          const Tensor& out) {
  const Tensor g = contiguous(grad, DType::F32), i = contiguous(input, DType::F32),
               one = empty(out.sizes(), DType::F32);
  ConvShape single = s;
  single.batch = 1;
  fill_contiguous(out, DType::F16, [&](const Tensor& target) {
    zero_fill(target);
    for (int64_t n = 0; n < s.batch; ++n) {
      weight_gradient(single, image_of(g, n), image_of(i, n), one);
      f16* sum = target.data<f16>();
      for (int64_t k = 0; k < out.numel(); ++k) sum[k] = sum[k] + one.data<float>()[k];
    }
  });
}

}  // namespace
}  // namespace cpu

namespace kernels {

void _conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
           const Dims& padding, const Dims& dilation, int64_t groups, Tensor& out) {
  if (out.numel() == 0) return;
  cpu::forward(cpu::conv_shape(input.sizes(), weight.sizes(), out.sizes(), stride, padding,
                               dilation, groups),
               input, weight, bias, out);
}

void _conv_input_grad(const Tensor& grad_output, const Tensor& weight, const Dims& input_size,
                      const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups,
                      Tensor& out) {
  if (out.numel() == 0) return;
  cpu::input_gradient(cpu::conv_shape(input_size, weight.sizes(), grad_output.sizes(), stride,
                                      padding, dilation, groups),
                      grad_output, weight, out);
}

void _conv_weight_grad(const Tensor& grad_output, const Tensor& input, const Dims& weight_size,
                       const Dims& stride, const Dims& padding, const Dims& dilation,
                       int64_t groups, Tensor& out) {
  if (out.numel() == 0) return;
  const auto part = out.dtype() == DType::F16 ? cpu::half_weight_gradient : cpu::weight_gradient;
  part(cpu::conv_shape(input.sizes(), weight_size, grad_output.sizes(), stride, padding, dilation,
                       groups),
       grad_output, input, out);
}

}  // namespace kernels
}  // namespace msa
