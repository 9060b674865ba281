// The one header for operators of your own in C++: kernels that ms_adapter loads as rows.
//
//   #include <ms_adapter/kernel.h>
//
//   void twice(const ms_adapter::Inputs& in, ms_adapter::Outputs& out) {
//     const auto& x = in.tensor(0);
//     ms_adapter::dispatch_floating(x, [&](auto zero) {
//       using T = decltype(zero);
//       for (int64_t i = 0; i < x.numel; ++i) out[0].data<T>()[i] = 2 * x.data<T>()[i];
//     });
//   }
//   MS_ADAPTER_KERNEL("twice(Tensor x) -> Tensor", twice).backward("twice_backward");
//
// Only plain structs cross the border, so that a library need not be compiled as ms_adapter was.
// Needs C++17 and nothing else. docs/cpp_extension.md tells the rest.
#pragma once
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ms_adapter {

inline constexpr int32_t kAbi = 1;  // changes whenever a struct below does
inline constexpr int32_t kMaxDims = 32;

enum class DType : int32_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  Other  // one that has no name here
};

// A tensor as kernels see it: contiguous unless the kernel is registered as strided().
struct Tensor {
  void* memory = nullptr;
  DType dtype = DType::Float32;
  int32_t dim = 0;
  int64_t numel = 0;
  int64_t sizes[kMaxDims] = {};
  int64_t strides[kMaxDims] = {};  // in elements
  bool defined = false;            // false: None was given for a Tensor?

  template <class T>
  T* data() const {
    return static_cast<T*>(memory);
  }
  std::vector<int64_t> shape() const { return {sizes, sizes + dim}; }
};

// One argument of a call; which member counts follows from the schema.
struct Argument {
  Tensor tensor;
  const Tensor* tensors = nullptr;    // Tensor[]
  const int64_t* integers = nullptr;  // int[]
  const double* reals = nullptr;      // float[]
  const char* text = nullptr;         // str, null-terminated
  int64_t count = 0;                  // of what the pointers above point to
  int64_t integer = 0;                // int, bool
  double real = 0;                    // float, Scalar
  bool none = false;                  // None was given
};

class Inputs {
 public:
  Inputs(const Argument* arguments, int32_t count) : arguments_(arguments), count_(count) {}
  const Argument& operator[](int32_t i) const {
    if (i < 0 || i >= count_) throw std::out_of_range("there is no argument " + std::to_string(i));
    return arguments_[i];
  }
  const Tensor& tensor(int32_t i) const { return (*this)[i].tensor; }
  int64_t integer(int32_t i) const { return (*this)[i].integer; }
  double real(int32_t i) const { return (*this)[i].real; }
  bool flag(int32_t i) const { return (*this)[i].integer != 0; }
  std::string_view text(int32_t i) const { return (*this)[i].text; }
  bool is_none(int32_t i) const { return (*this)[i].none; }
  int32_t count() const { return count_; }

 private:
  const Argument* arguments_;
  int32_t count_;
};

// The results' tensors, made and contiguous; their contents are undefined. In a shape rule they
// have no memory, and set() says what they shall be.
class Outputs {
 public:
  Outputs(Tensor* tensors, int32_t count) : tensors_(tensors), count_(count) {}
  Tensor& operator[](int32_t i) {
    if (i < 0 || i >= count_) throw std::out_of_range("there is no result " + std::to_string(i));
    return tensors_[i];
  }
  void set(int32_t i, const std::vector<int64_t>& sizes, DType dtype) {
    if (sizes.size() > static_cast<size_t>(kMaxDims))
      throw std::length_error("too many dimensions");
    Tensor& t = (*this)[i];
    t.dtype = dtype;
    t.dim = static_cast<int32_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) t.sizes[d] = sizes[d];
  }
  int32_t count() const { return count_; }

 private:
  Tensor* tensors_;
  int32_t count_;
};

using Function = void (*)(const Inputs& inputs, Outputs& outputs);

// Calls f with a zero of the tensor's element type; raises for dtypes that are not floating.
template <class F>
void dispatch_floating(const Tensor& t, const F& f) {
  if (t.dtype == DType::Float32) return f(0.0f);
  if (t.dtype == DType::Float64) return f(0.0);
  throw std::invalid_argument("only float32 and float64 tensors are supported");
}
// The same for integers and bytes as well.
template <class F>
void dispatch_all(const Tensor& t, const F& f) {
  switch (t.dtype) {
    case DType::UInt8:
      return f(uint8_t{});
    case DType::Int8:
      return f(int8_t{});
    case DType::Int16:
      return f(int16_t{});
    case DType::Int32:
      return f(int32_t{});
    case DType::Int64:
      return f(int64_t{});
    default:
      return dispatch_floating(t, f);
  }
}

// --- what crosses the border ---------------------------------------------------------------------

struct KernelEntry {
  const char* schema;
  const char* backward;  // the kernel that computes the gradients; null: there is none
  Function kernel;
  Function shape;  // null: every result is like the first tensor
  bool strided;    // takes tensors as they lie
  // Run a function; an exception becomes text and a result other than 0.
  int32_t (*call)(Function function, const Argument* arguments, int32_t n_arguments,
                  Tensor* outputs, int32_t n_outputs, char* error, int64_t error_bytes);
};

namespace detail {

inline int32_t call(Function function, const Argument* arguments, int32_t n_arguments,
                    Tensor* outputs, int32_t n_outputs, char* error, int64_t error_bytes) {
  const char* what = "an exception that is no std::exception";
  try {
    Outputs results(outputs, n_outputs);
    function(Inputs(arguments, n_arguments), results);
    return 0;
  } catch (const std::exception& e) {
    std::snprintf(error, static_cast<size_t>(error_bytes), "%s", e.what());
    return 1;
  } catch (...) {
    std::snprintf(error, static_cast<size_t>(error_bytes), "%s", what);
    return 1;
  }
}

inline std::vector<KernelEntry>& entries() {
  static std::vector<KernelEntry> all;
  return all;
}

// Fills in the last entry.
struct Registration {
  Registration(const char* schema, Function kernel) {
    entries().push_back({schema, nullptr, kernel, nullptr, false, call});
  }
  // The kernel `name` takes the gradient of each result and then all arguments of this one, and
  // returns the gradient of each of its tensors.
  Registration& backward(const char* name) {
    entries().back().backward = name;
    return *this;
  }
  // What the results' sizes and dtypes are: `rule` calls outputs.set() for each.
  Registration& shape(Function rule) {
    entries().back().shape = rule;
    return *this;
  }
  Registration& strided() {
    entries().back().strided = true;
    return *this;
  }
};

}  // namespace detail
}  // namespace ms_adapter

#define MS_ADAPTER_JOIN_(a, b) a##b
#define MS_ADAPTER_JOIN(a, b) MS_ADAPTER_JOIN_(a, b)
#define MS_ADAPTER_KERNEL(schema, function)                                         \
  [[maybe_unused]] static const ::ms_adapter::detail::Registration MS_ADAPTER_JOIN( \
      ms_adapter_kernel_, __COUNTER__) = ::ms_adapter::detail::Registration(schema, function)

// What ms_adapter asks a library for.
extern "C" __attribute__((weak, visibility("default"))) const ms_adapter::KernelEntry*
ms_adapter_kernels(int32_t abi, int32_t* count) {
  if (abi != ms_adapter::kAbi) return nullptr;
  *count = static_cast<int32_t>(ms_adapter::detail::entries().size());
  return ms_adapter::detail::entries().data();
}
