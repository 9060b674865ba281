// Arguments and results without their C++ types: what the Python parser fills, what layers see and
// what a non-CPU backend receives. One thunk per operator form turns them into the typed call.
#pragma once
#include <tuple>

#include "core/base/inline_vec.h"
#include "core/dispatch/options.h"

namespace msa {

// An argument, 16 bytes. It borrows what it points to; the caller of the operator keeps that alive.
class Value {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Tensors,
    Int,
    Float,
    Bool,
    Complex,
    Dims,
    Floats,
    Str,
    DType,
    Device,
    Format,
    Generator
  };

  constexpr Value() : int_(0) {}
  Value(const Tensor& t) : tag_(t.defined() ? Tag::Tensor : Tag::None), pointer_(&t) {}
  Value(const TensorList& t) : tag_(Tag::Tensors), pointer_(&t) {}
  constexpr Value(int64_t v) : tag_(Tag::Int), int_(v) {}
  constexpr Value(double v) : tag_(Tag::Float), float_(v) {}
  constexpr Value(bool v) : tag_(Tag::Bool), int_(v) {}
  explicit Value(const c128* v) : tag_(Tag::Complex), pointer_(v) {}
  Value(const Dims& v) : tag_(Tag::Dims), pointer_(&v) {}
  Value(const std::vector<double>& v) : tag_(Tag::Floats), pointer_(&v) {}
  explicit Value(const std::string_view* v) : tag_(Tag::Str), pointer_(v) {}
  constexpr Value(DType v) : tag_(Tag::DType), int_(static_cast<int64_t>(v)) {}
  Value(Device v) : tag_(Tag::Device), device_(v) {}
  constexpr Value(MemoryFormat v) : tag_(Tag::Format), int_(static_cast<int64_t>(v)) {}
  explicit Value(Generator* v) : tag_(v ? Tag::Generator : Tag::None), pointer_(v) {}

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::None; }

  // Typed reads, used by generated thunks; the parser has already checked the type.
  const Tensor& tensor() const {
    return is_none() ? undefined_tensor() : *static_cast<const Tensor*>(pointer_);
  }
  Tensor& mutable_tensor() const {
    return *const_cast<Tensor*>(static_cast<const Tensor*>(pointer_));
  }
  const TensorList& tensors() const { return *static_cast<const TensorList*>(pointer_); }
  int64_t integer() const { return int_; }
  double real() const { return tag_ == Tag::Float ? float_ : static_cast<double>(int_); }
  bool boolean() const { return int_ != 0; }
  Scalar scalar() const {
    switch (tag_) {
      case Tag::Float:
        return Scalar(float_);
      case Tag::Bool:
        return Scalar(int_ != 0);
      case Tag::Complex:
        return Scalar(*static_cast<const c128*>(pointer_));
      default:
        return Scalar(int_);
    }
  }
  const Dims& dims() const { return *static_cast<const Dims*>(pointer_); }
  const std::vector<double>& floats() const {
    return *static_cast<const std::vector<double>*>(pointer_);
  }
  std::string_view str() const { return *static_cast<const std::string_view*>(pointer_); }
  DType dtype() const { return static_cast<DType>(int_); }
  Device device() const { return device_; }
  MemoryFormat format() const { return static_cast<MemoryFormat>(int_); }
  Generator* generator() const {
    return is_none() ? nullptr : static_cast<Generator*>(const_cast<void*>(pointer_));
  }

  // Equal without looking behind pointers: enough to tell an argument at its default.
  bool same_plain(const Value& o) const {
    if (tag_ == Tag::Dims && o.tag_ == Tag::Dims) return dims() == o.dims();
    return tag_ == o.tag_ && int_ == o.int_;
  }

  OptScalar opt_scalar() const { return is_none() ? OptScalar() : OptScalar(scalar()); }
  OptInt opt_integer() const { return is_none() ? OptInt() : OptInt(int_); }
  OptFloat opt_real() const { return is_none() ? OptFloat() : OptFloat(real()); }
  OptBool opt_boolean() const { return is_none() ? OptBool() : OptBool(boolean()); }
  OptDims opt_dims() const { return is_none() ? OptDims() : OptDims(dims()); }
  OptFloats opt_floats() const { return is_none() ? OptFloats() : OptFloats(floats()); }
  OptDType opt_dtype() const { return is_none() ? OptDType() : OptDType(dtype()); }
  OptDevice opt_device() const { return is_none() ? OptDevice() : OptDevice(device_); }
  OptFormat opt_format() const { return is_none() ? OptFormat() : OptFormat(format()); }
  OptStr opt_str() const { return is_none() ? OptStr() : OptStr(str()); }

 private:
  static const Tensor& undefined_tensor();
  Tag tag_ = Tag::None;
  union {
    int64_t int_;
    double float_;
    const void* pointer_;
    Device device_;
  };
};

// What an operator returns: tensors (one, a fixed tuple, or a list) or one plain value.
struct Results {
  enum class Kind : uint8_t { None, Tensor, Tuple, List, Scalar };
  Kind kind = Kind::None;
  InlineVec<Tensor, 3> tensors;
  Scalar scalar;

  void set(Tensor t) {
    kind = Kind::Tensor;
    tensors.push_back(std::move(t));
  }
  void set(TensorList list) {
    kind = Kind::List;
    for (Tensor& t : list) tensors.push_back(std::move(t));
  }
  void set(const Scalar& s) {
    kind = Kind::Scalar;
    scalar = s;
  }
  void set(bool v) { set(Scalar(v)); }
  void set(int64_t v) { set(Scalar(v)); }
  void set(double v) { set(Scalar(v)); }
  template <class... T>
  void set(std::tuple<T...> t) {
    kind = Kind::Tuple;
    std::apply([&](auto&... v) { (tensors.push_back(std::move(v)), ...); }, t);
  }
};

}  // namespace msa
