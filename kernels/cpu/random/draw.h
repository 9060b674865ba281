// What every random kernel shares: dtype dispatch, the generator's lock, and filling a tensor in
// memory order.
#pragma once

#include <algorithm>
#include <mutex>
#include <string_view>
#include <tuple>

#include "core/base/lock.h"
#include "core/random/generator.h"
#include "core/tensor/tensor.h"
#include "kernels/cpu/random/rows.h"

namespace msa::cpu {

// Holds a generator while a kernel draws from it, with the core lock released for long draws. The
// core lock goes first: nobody waits for a generator while holding it, unless the draw is short.
class Drawing {
 public:
  Drawing(OptGenerator generator, int64_t count)
      : gen(generator_or_default(generator)), unlocked_(count >= kWorthIt), held_(gen.mutex()) {}
  Generator& gen;

 private:
  static constexpr int64_t kWorthIt = 4096;
  Unlocked unlocked_;
  std::lock_guard<std::mutex> held_;
};

[[noreturn]] void no_dtype(std::string_view op, DType dtype, std::string_view wanted);

// body.template operator()<T>() for the element type; a dtype outside the family is NotImplemented.
template <class Body>
void for_floating(std::string_view op, DType dtype, Body body,
                  std::string_view wanted = "a floating dtype") {
  switch (dtype) {
    case DType::F16:
      return body.template operator()<f16>();
    case DType::BF16:
      return body.template operator()<bf16>();
    case DType::F32:
      return body.template operator()<float>();
    case DType::F64:
      return body.template operator()<double>();
    default:
      no_dtype(op, dtype, wanted);
  }
}

template <class Body>
void for_single_and_double(std::string_view op, DType dtype, Body body) {
  if (dtype == DType::F32) return body.template operator()<float>();
  if (dtype == DType::F64) return body.template operator()<double>();
  no_dtype(op, dtype, "float32 or float64");
}

template <class Body>
void for_common(std::string_view op, DType dtype, Body body,
                std::string_view wanted = "a floating, signed or uint8 dtype") {
  switch (dtype) {
    case DType::U8:
      return body.template operator()<uint8_t>();
    case DType::I8:
      return body.template operator()<int8_t>();
    case DType::I16:
      return body.template operator()<int16_t>();
    case DType::I32:
      return body.template operator()<int32_t>();
    case DType::I64:
      return body.template operator()<int64_t>();
    default:
      return for_floating(op, dtype, body, wanted);
  }
}

template <class Body>
void for_common_and_bool(std::string_view op, DType dtype, Body body,
                         std::string_view wanted = "a floating, signed, uint8 or bool dtype") {
  if (dtype == DType::Bool) return body.template operator()<bool>();
  for_common(op, dtype, body, wanted);
}

template <class Body>
void for_real(std::string_view op, DType dtype, Body body) {
  switch (dtype) {
    case DType::U16:
      return body.template operator()<uint16_t>();
    case DType::U32:
      return body.template operator()<uint32_t>();
    case DType::U64:
      return body.template operator()<uint64_t>();
    default:
      return for_common_and_bool(op, dtype, body, "a real dtype");
  }
}

// A tensor's memory as kernels fill it; complex elements are two real ones, in a last dimension.
struct Target {
  Target(std::string_view op, const Tensor& out);  // refuses elements that share memory
  void* data;
  DType dtype;
  Dims sizes, strides;
  int64_t numel;
  bool contiguous;
};

// make(T* run, int64_t count) fills contiguous runs; what is strided is made in a buffer and
// spread.
template <class T, class Make>
void fill_rows(const Target& out, Make make) {
  constexpr int64_t kBuffer = 512;
  T* const data = static_cast<T*>(out.data);
  for_rows<1>(out.sizes, {DimsView(out.strides)}, [&](auto offsets, auto steps, int64_t length) {
    T* run = data + offsets[0];
    if (steps[0] == 1) return make(run, length);
    T values[kBuffer];
    for (int64_t done = 0; done < length; done += kBuffer) {
      const int64_t some = std::min(kBuffer, length - done);
      make(values, some);
      for (int64_t i = 0; i < some; ++i) run[(done + i) * steps[0]] = values[i];
    }
  });
}

// A tensor whose elements are of type A.
template <class A>
struct Typed {
  const Tensor& tensor;
};

// one() gives each element its value, in memory order.
template <class T, class One>
void fill_each(const Target& out, One one) {
  T* const data = static_cast<T*>(out.data);
  for_rows<1>(out.sizes, {DimsView(out.strides)}, [&](auto offsets, auto steps, int64_t length) {
    for (int64_t i = 0; i < length; ++i) data[offsets[0] + i * steps[0]] = static_cast<T>(one());
  });
}

// one(element of each input) gives each element its value; the inputs broadcast to the output.
template <class T, class... A, class One>
void map_each(const Target& out, One one, const Typed<A>&... inputs) {
  const std::array<Dims, sizeof...(A)> from = {
      expanded_strides(inputs.tensor.sizes(), inputs.tensor.strides(), out.sizes)...};
  const auto data = std::make_tuple(static_cast<T*>(out.data), inputs.tensor.template data<A>()...);
  [&]<size_t... I>(std::index_sequence<I...>) {
    for_rows<1 + sizeof...(A)>(
        out.sizes, {DimsView(out.strides), DimsView(from[I])...},
        [&](auto offsets, auto steps, int64_t length) {
          for (int64_t i = 0; i < length; ++i) {
            std::get<0>(data)[offsets[0] + i * steps[0]] =
                static_cast<T>(one(std::get<I + 1>(data)[offsets[I + 1] + i * steps[I + 1]]...));
          }
        });
  }
  (std::index_sequence_for<A...>());
}

}  // namespace msa::cpu
