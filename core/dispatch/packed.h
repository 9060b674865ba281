// Boxes a typed call: the values that layers and backends see, with room for what values point to.
#pragma once
#include "core/dispatch/layers.h"

namespace msa {

template <size_t N>
class Packed {
 public:
  template <class... T>
  explicit Packed(const T&... args) {
    (add(args), ...);
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  const Value* values() const { return values_; }

 private:
  template <class T>
  void add(const T& v) {
    Value& slot = values_[n_];
    if constexpr (std::is_same_v<T, Scalar>) {
      add_scalar(v);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      strings_[n_] = v;
      slot = Value(&strings_[n_]);
    } else if constexpr (requires { v.has_value(); }) {
      if (!v.has_value()) {
        slot = Value();
      } else {
        add(*v);
        return;  // counted by the inner call
      }
    } else {
      slot = Value(v);
    }
    ++n_;
  }
  void add(Generator* g) { values_[n_++] = Value(g); }
  void add_scalar(const Scalar& s) {
    switch (s.kind()) {
      case Scalar::Kind::Bool:
        values_[n_] = Value(s.to_int() != 0);
        break;
      case Scalar::Kind::Int:
        values_[n_] = Value(s.to_int());
        break;
      case Scalar::Kind::Float:
        values_[n_] = Value(s.to_double());
        break;
      case Scalar::Kind::Complex:
        complexes_[n_] = s.to_complex();
        values_[n_] = Value(&complexes_[n_]);
        break;
    }
  }

  Value values_[N ? N : 1];
  std::string_view strings_[N ? N : 1];
  c128 complexes_[N ? N : 1];
  size_t n_ = 0;
};
template <class... T>
Packed(const T&...) -> Packed<sizeof...(T)>;

Backend& backend_for(const Value* args, size_t n);
// Backends give what the caller sees. What a kernel leaves for backward beyond that stays
// undefined; raises where backward will want it.
void complete_results(const OpInfo& op, const Value* args, size_t wanted, Results& results);

// The results of a boxed call as the typed call returns them.
template <class R>
R unpack_results(Results& r) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return std::move(r.tensors[0]);
  } else if constexpr (std::is_same_v<R, TensorList>) {
    return TensorList(r.tensors.begin(), r.tensors.end());
  } else if constexpr (std::is_same_v<R, Scalar>) {
    return r.scalar;
  } else if constexpr (std::is_same_v<R, bool>) {
    return r.scalar.template to<bool>();
  } else if constexpr (std::is_same_v<R, int64_t>) {
    return r.scalar.to_int();
  } else if constexpr (std::is_same_v<R, double>) {
    return r.scalar.to_double();
  } else if constexpr (std::is_void_v<R>) {
    return;
  } else {
    r.tensors.resize(std::tuple_size_v<R>);  // what is kept for backward may be missing
    return [&]<size_t... I>(std::index_sequence<I...>) { return R(std::move(r.tensors[I])...); }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  }
}

// The slow path of every operator: through the active layers, or to the device's backend.
template <class R, class... T>
[[gnu::noinline]] R call_boxed(bool layered, const OpInfo& op, Form form, const T&... args) {
  Packed<sizeof...(T)> packed(args...);
  Results results;
  if (layered) {
    call_layered(op, form, packed.values(), results);
  } else {
    backend_for(packed.values(), op.n_params).call(op, form, packed.values(), results);
    if constexpr (requires { std::tuple_size<R>::value; })
      complete_results(op, packed.values(), std::tuple_size_v<R>, results);
  }
  return unpack_results<R>(results);
}

}  // namespace msa
