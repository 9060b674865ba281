// Convolution over staged rows in register tiles, compiled for each instruction set.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/conv/rows.h"
#define MSA_KERNEL_FILE "kernels/cpu/conv/rows.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
const ConvKernels<float>* const conv_kernels_f32 = MSA_CHOOSE(conv_kernels<float>);
const ConvKernels<double>* const conv_kernels_f64 = MSA_CHOOSE(conv_kernels<double>);
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

// --- forward ------------------------------------------------------------------------------------
// One vector of output positions: two of them, from one row or from two, share the weights' loads.
template <class T>
struct ConvCell {
  const T* in;
  T* out;
  int count;
};

template <class T, int Channels, int Cells>
inline void conv_tile(const ConvRows<T>& p, int64_t channel, const ConvCell<T>* cells) {
  const T* weights = p.weights + channel * p.taps;
  V<T> sums[Channels][Cells];
#pragma GCC unroll 8
  for (int i = 0; i < Channels; ++i) {
#pragma GCC unroll 2
    for (int c = 0; c < Cells; ++c) sums[i][c] = splat(p.bias ? p.bias[channel + i] : T(0));
  }
  for (int64_t t = 0; t < p.taps; ++t) {
    const int64_t offset = p.tap_offsets[t];
    V<T> in[Cells];
#pragma GCC unroll 2
    for (int c = 0; c < Cells; ++c) in[c] = load_lanes(cells[c].in + offset, cells[c].count);
#pragma GCC unroll 8
    for (int i = 0; i < Channels; ++i) {
      const V<T> weight = splat(weights[i * p.taps + t]);
#pragma GCC unroll 2
      for (int c = 0; c < Cells; ++c) sums[i][c] = fma(weight, in[c], sums[i][c]);
    }
  }
  const int64_t plane = p.rows * p.row_length;
#pragma GCC unroll 8
  for (int i = 0; i < Channels; ++i) {
#pragma GCC unroll 2
    for (int c = 0; c < Cells; ++c) {
      T* out = cells[c].out + (channel + i) * plane;
      if (cells[c].count == kLanes<T>) {
        store_lanes(out, sums[i][c]);
      } else {
        store_lanes(out, sums[i][c], cells[c].count);
      }
    }
  }
}

template <class T, int Cells, int Channels>
inline void conv_channels(const ConvRows<T>& p, int64_t channel, const ConvCell<T>* cells) {
  for (; p.channels - channel >= Channels; channel += Channels)
    conv_tile<T, Channels, Cells>(p, channel, cells);
  if constexpr (Channels > 1) {
    if (channel < p.channels) conv_channels<T, Cells, Channels / 2>(p, channel, cells);
  }
}

template <class T>
void conv_forward(const ConvRows<T>& p) {
  constexpr int channels = MSA_VECTOR_BYTES == 64 ? 8 : 4;
  ConvCell<T> cells[2];
  int waiting = 0;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t x = 0; x < p.row_length; x += kLanes<T>) {
      const int64_t left = p.row_length - x;
      cells[waiting++] = {p.input + p.row_offsets[r] + x, p.out + r * p.row_length + x,
                          left < kLanes<T> ? static_cast<int>(left) : kLanes<T>};
      if (waiting == 2) {
        conv_channels<T, 2, channels>(p, 0, cells);
        waiting = 0;
      }
    }
  }
  if (waiting) conv_channels<T, 1, channels>(p, 0, cells);
}

// --- weights ------------------------------------------------------------------------------------
template <class T, int Channels, int Taps>
inline void weight_step(V<T> (&sums)[Channels][Taps], const T* grad, int64_t plane, const T* in,
                        const int64_t* tap_offsets, int count) {
  V<T> grads[Channels];
#pragma GCC unroll 4
  for (int i = 0; i < Channels; ++i) grads[i] = load_lanes(grad + i * plane, count);
#pragma GCC unroll 5
  for (int t = 0; t < Taps; ++t) {
    const V<T> value = load_lanes(in + tap_offsets[t], count);
#pragma GCC unroll 4
    for (int i = 0; i < Channels; ++i) sums[i][t] = fma(grads[i], value, sums[i][t]);
  }
}

template <class T, int Channels, int Taps>
inline void weight_tile(const ConvWeightRows<T>& p, int64_t channel, int64_t tap) {
  const int64_t plane = p.rows * p.row_length;
  const int64_t* tap_offsets = p.tap_offsets + tap;
  V<T> sums[Channels][Taps] = {};
  for (int64_t n = 0; n < p.images; ++n) {
    const T* grad = p.grad + n * p.grad_image + channel * plane;
    const T* image = p.input + n * p.input_image;
    for (int64_t r = 0; r < p.rows; ++r, grad += p.row_length) {
      const T* in = image + p.row_offsets[r];
      int64_t x = 0;
      for (; x + kLanes<T> <= p.row_length; x += kLanes<T>)
        weight_step(sums, grad + x, plane, in + x, tap_offsets, kLanes<T>);
      if (x < p.row_length)
        weight_step(sums, grad + x, plane, in + x, tap_offsets, static_cast<int>(p.row_length - x));
    }
  }
  for (int i = 0; i < Channels; ++i)
    for (int t = 0; t < Taps; ++t)
      p.out[(channel + i) * p.out_row + tap + t] = sum_of_lanes<T>(sums[i][t]);
}

template <class T, int Channels>
inline void weight_taps(const ConvWeightRows<T>& p, int64_t channel) {
  int64_t tap = 0;
  for (; p.taps - tap >= 5; tap += 5) weight_tile<T, Channels, 5>(p, channel, tap);
  for (; p.taps - tap >= 3; tap += 3) weight_tile<T, Channels, 3>(p, channel, tap);
  for (; tap < p.taps; ++tap) weight_tile<T, Channels, 1>(p, channel, tap);
}

template <class T>
void conv_weights(const ConvWeightRows<T>& p) {
  constexpr int channels = MSA_VECTOR_BYTES == 64 ? 4 : 2;
  int64_t channel = 0;
  for (; p.channels - channel >= channels; channel += channels)
    weight_taps<T, channels>(p, channel);
  for (; channel < p.channels; ++channel) weight_taps<T, 1>(p, channel);
}

template <class T>
inline constexpr ConvKernels<T> conv_kernels = {conv_forward<T>, conv_weights<T>};
#endif
