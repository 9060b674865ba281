// The pieces that generated operators are put together from.
#pragma once
#include <array>
#include <cmath>
#include <tuple>

#include "core/autograd/formulas.h"
#include "core/autograd/saved.h"
#include "core/dispatch/elementwise.h"
#include "core/dispatch/overlap.h"
#include "core/dispatch/packed.h"
#include "core/rules/rules.h"

namespace msa {

// --- devices -----------------------------------------------------------------------------------
inline bool is_elsewhere(Device d) { return d.kind > DeviceKind::Meta; }
inline bool is_elsewhere(const Tensor& t) { return t.defined() && is_elsewhere(t.device()); }
inline bool is_elsewhere(const TensorList& list) {
  for (const Tensor& t : list)
    if (is_elsewhere(t)) return true;
  return false;
}
template <class... T>
inline bool any_elsewhere(const T&... inputs) {
  return __builtin_expect((is_elsewhere(inputs) || ...), 0);
}

inline Device first_device(const Tensor& t) { return t.defined() ? t.device() : Device{}; }
inline Device first_device(const TensorList& list) {
  for (const Tensor& t : list)
    if (t.defined()) return t.device();
  return Device{};
}

// --- outputs -----------------------------------------------------------------------------------
inline Tensor make_output(const OutSpec& spec, Device device) {
  return spec.strides.empty() ? empty(spec.sizes, spec.dtype, device)
                              : empty_strided(spec.sizes, spec.strides, spec.dtype, device);
}
inline const std::array<OutSpec, 1> as_specs(const OutSpec& one) { return {one}; }
template <size_t N>
inline std::array<OutSpec, N> as_specs(std::array<OutSpec, N> many) {
  return many;
}

// What a row's `out=` takes: the result's dtype only, or every one that can hold the result.
// Silent: what makes tensors out of nothing resizes `out` without a warning.
enum OutKind : uint8_t { kOutExact, kOutCasts, kOutSilent };

// `out=`: refuses gradients and dtypes, and gives what the kernel is to fill: `out` itself,
// resized, or a temporary where `out` is laid out otherwise or is an input.
[[noreturn]] void fail_out_with_grad(const char* op);
Tensor prepare_out(const char* op, const OutSpec& spec, Tensor& out, TensorsView inputs,
                   OutKind kind);
void finish_out(const char* op, const Tensor& filled, Tensor& out);
void copy_to_out(const char* op, const Tensor& result, Tensor& out, OutKind kind);
// `out` may not share memory with these inputs.
template <class... T>
void check_apart(const char* op, const Tensor& out, const T&... inputs) {
  check_no_repeats(op, out);
  auto check = [&](const auto& input) {
    if constexpr (std::is_same_v<std::decay_t<decltype(input)>, TensorList>) {
      for (const Tensor& t : input) check_disjoint(op, out, t);
    } else {
      check_disjoint(op, out, input);
    }
  };
  (check(inputs), ...);
}

// In-place forms of rows that do not fill their input directly: the result must fit it.
void check_inplace_spec(const char* op, const Tensor& self, const OutSpec& spec, OutKind kind);
void check_inplace_result(const char* op, const Tensor& self, const Tensor& result, OutKind kind);
void copy_into(Tensor& self, const Tensor& result);
// In-place forms of views: `self` takes the layout; its history becomes the node's.
void change_layout(Tensor& self, const Layout& layout, const Ref<Node>& node);
// Rows whose shape depends on data cannot run on meta tensors.
[[noreturn]] void fail_shape_is_data(const char* op);
[[noreturn]] void fail_some_without_data(const char* op);
inline bool is_meta(const Tensor& t) { return t.defined() && t.device().is_meta(); }
inline bool is_meta(const TensorList& list) {
  for (const Tensor& t : list)
    if (is_meta(t)) return true;
  return false;
}
// Where results have data, so have all inputs; where there is none, nothing is computed.
template <class... T>
inline bool have_data(const char* op, Device where, const T&... inputs) {
  if (where.is_meta()) return false;
  if (__builtin_expect((is_meta(inputs) || ... || false), 0)) fail_some_without_data(op);
  return true;
}
template <class... T>
inline void require_data(const char* op, Device where, const T&... inputs) {
  if (__builtin_expect((where.is_meta() || ... || is_meta(inputs)), 0)) fail_shape_is_data(op);
}

// What a composed row with `opmath` is: half types in, float32 inside, half types out.
Tensor widened(const Tensor& t);
Tensor narrowed(const Tensor& t, DType half);
template <class F, class... Rest>
Tensor with_opmath(const F& f, const Tensor& first, const Rest&... rest) {
  if (!is_half(first.dtype())) return f(first, rest...);
  return narrowed(f(widened(first), widened(rest)...), first.dtype());
}

// The dtype of a view that takes complex numbers apart, or joins pairs of reals.
DType viewed_dtype_real(const char* op, DType dtype);
DType viewed_dtype_complex(const char* op, DType dtype);

// --- gradients: the engine sums them over broadcast dimensions and casts them to the inputs
// -------
inline bool wants_any(const Node& node, size_t from, size_t n) {
  for (size_t i = from; i < from + n; ++i)
    if (node.wants(i)) return true;
  return false;
}
inline bool none_defined(const Grads& grads) {
  for (const Tensor& g : grads)
    if (g.defined()) return false;
  return true;
}
Tensor defined_or_zeros(const Grads& grads, size_t i, const InlineVec<OutputMeta, 1>& outputs);
TensorList unpack_all(const std::vector<SavedTensor>& saved, Node* owner);
void store_list(Grads& out, size_t slot, TensorList grads);

// What a row whose gradient is declared missing leaves behind: raises when backward reaches it.
Ref<Node> record_missing(const char* op, std::initializer_list<const Tensor*> inputs);
// What an in-place comparison leaves behind: its result hangs on nothing that came before.
Ref<Node> record_zero(const char* op, std::initializer_list<const Tensor*> inputs);
// The value before an in-place change, for formulas that save it.
Tensor kept_if_recorded(const Tensor& input);
inline void set_history(TensorList& outs, const Ref<Node>& node) {
  for (Tensor& t : outs) set_history(t, node);
}

}  // namespace msa
