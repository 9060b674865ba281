// Conversions of dtypes that are only stored: through the one they are computed in, block by block.
#include "kernels/cpu/cast.h"

namespace msa::cpu {
namespace {

constexpr int64_t kBlock = 256;  // elements that are converted at once

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, c32>, c64, float>;
template <class T>
constexpr DType kComputed = dtype_of<Computed<T>>::value;

// step(data, strides, n, first) for each block of each row; `data` holds where the block starts.
template <class F>
void each_block(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, F step) {
  for (int64_t j = 0; j < outer; ++j)
    for (int64_t i = 0; i < inner; i += kBlock) {
      char* at[] = {data[0] + j * strides[2] + i * strides[0],
                    data[1] + j * strides[3] + i * strides[1]};
      step(at, std::min(kBlock, inner - i));
    }
}

template <class T, DType kTo>
void load_loop(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
               const Scalar*) {
  static const Loop convert = cast_loop(kTo, kComputed<T>);
  each_block(data, strides, inner, outer, [&](char* const* at, int64_t n) {
    Computed<T> block[kBlock];
    for (int64_t i = 0; i < n; ++i)
      block[i] = static_cast<Computed<T>>(*reinterpret_cast<const T*>(at[1] + i * strides[1]));
    char* both[] = {at[0], reinterpret_cast<char*>(block)};
    const int64_t steps[] = {strides[0], sizeof(block[0]), 0, 0};
    convert(both, steps, n, 1, nullptr);
  });
}

template <class T, DType kFrom>
void store_loop(char* const* data, const int64_t* strides, int64_t inner, int64_t outer,
                const Scalar*) {
  static const Loop convert = cast_loop(kComputed<T>, kFrom);
  each_block(data, strides, inner, outer, [&](char* const* at, int64_t n) {
    Computed<T> block[kBlock];
    char* both[] = {reinterpret_cast<char*>(block), at[1]};
    const int64_t steps[] = {sizeof(block[0]), strides[1], 0, 0};
    convert(both, steps, n, 1, nullptr);
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(at[0] + i * strides[0]) = T(block[i]);
  });
}

template <class T>
Loop loop_to(DType from) {
  switch (from) {
#define MSA_STORE(E, S) \
  case DType::E:        \
    return store_loop<T, DType::E>;
    MSA_FOR_EACH_DTYPE(MSA_STORE)
    MSA_FOR_EACH_STORED_DTYPE(MSA_STORE)
#undef MSA_STORE
    default:
      refuse_dtype("copy_", from);
  }
}

template <class T>
Loop loop_from(DType to) {
  switch (to) {
#define MSA_LOAD(E, S) \
  case DType::E:       \
    return load_loop<T, DType::E>;
    MSA_FOR_EACH_DTYPE(MSA_LOAD)
#undef MSA_LOAD
    default:
      refuse_dtype("copy_", to);
  }
}

}  // namespace

Loop stored_cast_loop(DType to, DType from) {
  switch (to) {
#define MSA_TO(E, T) \
  case DType::E:     \
    return loop_to<T>(from);
    MSA_FOR_EACH_STORED_DTYPE(MSA_TO)
#undef MSA_TO
    default:
      break;
  }
  switch (from) {
#define MSA_FROM(E, T) \
  case DType::E:       \
    return loop_from<T>(to);
    MSA_FOR_EACH_STORED_DTYPE(MSA_FROM)
#undef MSA_FROM
    default:
      refuse_dtype("copy_", is_opaque(to) ? to : from);
  }
}

}  // namespace msa::cpu
