// Convolution over staged rows: what conv_rows.cpp compiles for each instruction set.
#pragma once
#include <cstdint>

namespace msa::cpu {

// Output rows of one image and group. Element x of output row r, seen through tap t, lies at
// input[row_offsets[r] + tap_offsets[t] + x].
template <class T>
struct ConvRows {
  int64_t channels, taps;
  const T* weights;  // (channels, taps)
  const T* bias;     // null: none
  const int64_t* tap_offsets;
  const int64_t* row_offsets;
  int64_t rows, row_length;
  const T* input;
  T* out;  // (channels, rows, row_length)
};

// The gradient of `channels` x `taps` weights over all images: sums of grad rows times input rows.
template <class T>
struct ConvWeightRows {
  int64_t channels, taps, images;
  const int64_t* tap_offsets;
  const int64_t* row_offsets;
  int64_t rows, row_length;
  const T* input;
  int64_t input_image;  // elements from one image to the next
  const T* grad;        // (images, channels, rows, row_length)
  int64_t grad_image;
  T* out;
  int64_t out_row;  // elements from one channel's weights to the next
};

template <class T>
struct ConvKernels {
  void (*forward)(const ConvRows<T>&);
  void (*weights)(const ConvWeightRows<T>&);
};
extern const ConvKernels<float>* const conv_kernels_f32;
extern const ConvKernels<double>* const conv_kernels_f64;

template <class T>
const ConvKernels<T>& conv_kernels() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *conv_kernels_f32;
  } else {
    return *conv_kernels_f64;
  }
}

}  // namespace msa::cpu
