// Runs elementwise rows. A call on contiguous tensors of one dtype goes straight to its loop; all
// others get the full rules: promotion, broadcasting, memory format, overlap, conversion.
#include "core/dispatch/elementwise.h"

#include <algorithm>
#include <array>

#include "core/dispatch/overlap.h"
#include "kernels/cpu/walk.h"

namespace msa {
namespace {

using Inputs = std::span<const Tensor* const>;

struct alignas(16) Element {
  char bytes[16];
};

enum class Category : uint8_t { Bool, Integer, Float, Complex };

Category category(DType t) {
  if (is_complex(t)) return Category::Complex;
  if (is_floating(t)) return Category::Float;
  return t == DType::Bool ? Category::Bool : Category::Integer;
}

DType computed_dtype(const ElementwiseOp& op, DType common) {
  bool to_float = op.rule == DTypeRule::PromoteFloat || op.rule == DTypeRule::Float;
  if (to_float && is_integral(common)) common = default_dtype();
  MSA_REQUIRE(op.rule != DTypeRule::Float || !is_complex(common), NotImplemented, op.name,
              ": not implemented for complex inputs (", common,
              "); take .real, .imag or .abs() first");
  return common;
}

DType result_dtype(DTypeRule rule, DType computed) {
  if (rule == DTypeRule::Compare) return DType::Bool;
  return rule == DTypeRule::ToReal ? to_real(computed) : computed;
}

// What PyTorch names as wrong rather than as not implemented: some inputs, and factors (`alpha`)
// and other numbers that the computed dtype cannot hold.
[[gnu::cold, gnu::noinline]] void refuse_inputs(const ElementwiseOp& op, Inputs inputs) {
  for (const Tensor* t : inputs) {
    MSA_REQUIRE(!(op.refuses & kRefusesBool) || t->dtype() != DType::Bool, Runtime, op.name,
                ": not for bool tensors; for masks use ~, ^ or logical_not(), for numbers convert "
                "with .to() first");
    MSA_REQUIRE(!(op.refuses & kRefusesComplex) || !is_complex(t->dtype()), Runtime, op.name,
                ": not for complex tensors (", t->dtype(), "); take .real, .imag or .abs() first");
  }
  if (!(op.refuses & kRefusesNegative)) return;
  if (!inputs[1]->impl()->wrapped_number) {
    // A power of bools is one of a number of theirs: then it is the tensor itself, or ones.
    const bool bools = inputs[0]->dtype() == DType::Bool && inputs[1]->dtype() == DType::Bool;
    if (bools) refuse_dtype(op.name, DType::Bool);
    return;
  }
  // A tensor's elements are not looked at: only a number is known without reading memory.
  if (!is_integral(inputs[0]->dtype()) || !is_integral(inputs[1]->dtype())) return;
  const Scalar number = load_scalar(inputs[1]->dtype(), inputs[1]->data());
  MSA_REQUIRE(number.to_int() >= 0, Runtime, op.name,
              ": Integers to negative integer powers are not allowed. The exponent is ", number,
              " and the input ", inputs[0]->dtype(), "; convert it with .to() first");
}

[[gnu::cold, gnu::noinline]] void check_number(const ElementwiseOp& op, const Scalar& number,
                                               DType computed) {
  if (is_complex(computed)) return;
  MSA_REQUIRE(!op.alpha || !number.is_bool() || computed == DType::Bool, Runtime, op.name,
              ": alpha is ", number, ", a bool, but the result is ", computed, "; give a number");
  MSA_REQUIRE(!op.alpha || !number.is_floating() || is_inexact(computed), Runtime, op.name,
              ": alpha is ", number, ", but the result is ", computed,
              "; give an int or convert an input with .to() first");
  bool whole = !number.is_complex() || (!op.alpha && number.to_complex().imag() == 0);
  MSA_REQUIRE(whole, Runtime, op.name, ": value cannot be converted to type ", computed,
              " without overflow: ", number);
}

// The parameters as the loop takes them: PyTorch rounds the factor of half types to that type.
struct LoopNumbers {
  Scalar factor;
  const Scalar* data;
  LoopNumbers(const ElementwiseOp& op, const Scalar* given, DType computed) : data(given) {
    if (!op.alpha || !is_reduced(computed)) return;
    char bytes[4];
    store_scalar(*given, computed, bytes);
    factor = load_scalar(computed, bytes);
    data = &factor;
  }
};

// --- the short way -------------------------------------------------------------------------------

struct Flat {
  const TensorImpl* lead;  // its dtype and sizes are the result's
  Loop loop;
  char* data[cpu::kMaxOperands];
  int64_t steps[cpu::kMaxOperands];
  Element numbers[cpu::kMaxOperands];
};

char* data_of(const TensorImpl& t) {
  return static_cast<char*>(t.storage->data) + t.offset * static_cast<int64_t>(size_bytes(t.dtype));
}

// Fills operand `i`; false when it does not fit the short way.
bool add_flat(Flat& flat, const TensorImpl& t, size_t i) {
  const TensorImpl& lead = *flat.lead;
  if (!t.storage->device.is_cpu()) return false;
  if (t.dtype == lead.dtype && t.sizes == lead.sizes && !t.wrapped_number) {
    flat.data[i] = data_of(t);
    flat.steps[i] = static_cast<int64_t>(size_bytes(t.dtype));
    return t.contiguous;
  }
  if (!t.sizes.empty()) return false;
  flat.steps[i] = 0;
  if (t.dtype == lead.dtype && !lead.sizes.empty()) {
    flat.data[i] = data_of(t);
    return true;
  }
  if (!t.wrapped_number || category(t.dtype) > category(lead.dtype)) return false;
  store_scalar(load_scalar(t.dtype, data_of(t)), lead.dtype, flat.numbers[i].bytes);
  flat.data[i] = flat.numbers[i].bytes;
  return true;
}

bool plan_flat(Flat& flat, const ElementwiseOp& op, Inputs inputs) {
  flat.lead = inputs[0]->impl();
  for (const Tensor* t : inputs.subspan(1))
    if (flat.lead->sizes.empty() && (!t->sizes().empty() || flat.lead->wrapped_number))
      flat.lead = t->impl();
  DType dtype = flat.lead->dtype;
  bool to_float = op.rule == DTypeRule::PromoteFloat || op.rule == DTypeRule::Float;
  if (flat.lead->wrapped_number || (to_float && is_integral(dtype))) return false;
  flat.loop = (*op.table)->of(dtype);
  if (!flat.loop) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!add_flat(flat, *inputs[i]->impl(), i + 1)) return false;
  return true;
}

// Whether `out` can be written as it is: the right kind, and memory that is either no input's or
// exactly one's.
bool flat_output(const Flat& flat, const TensorImpl& out, DType dtype, Inputs inputs) {
  if (out.dtype != dtype || !out.contiguous || !(out.sizes == flat.lead->sizes) ||
      !out.storage->device.is_cpu())
    return false;
  for (const Tensor* t : inputs)
    if (t->impl() != &out && t->impl()->storage == out.storage) return false;
  return true;
}

// --- all other ways ------------------------------------------------------------------------------

Device common_device(const ElementwiseOp& op, Inputs inputs, const Tensor* out) {
  Device device;
  for (const Tensor* t : inputs)
    if (!t->device().is_cpu()) device = t->device();
  for (const Tensor* t : inputs) {
    bool travels = t->device().is_cpu() && t->dim() == 0;
    MSA_REQUIRE(travels || t->device() == device, Runtime, op.name,
                ": Expected all tensors to be on the same device, but found at least two devices, ",
                device, " and ", t->device(), "; move one with .to(device)");
  }
  MSA_REQUIRE(!out || out->device() == device, Runtime, op.name,
              ": Expected all tensors to be on the same device: out is on ", out->device(),
              ", the inputs are on ", device);
  return device;
}

// The sizes that the inputs broadcast to.
Dims common_sizes(const ElementwiseOp& op, Inputs inputs) {
  Dims sizes = inputs[0]->sizes();
  for (const Tensor* t : inputs.subspan(1)) sizes = broadcast_sizes(op.name, sizes, t->sizes());
  return sizes;
}

using Strides = std::array<Dims, cpu::kMaxOperands - 1>;

// Strides of a new result: as the inputs agree, else in the order of the first that has one.
Dims result_strides(const Dims& sizes, Inputs inputs, const Strides& strides) {
  bool same_sizes = true, contiguous = true, channels_last = true, same_strides = true;
  for (const Tensor* t : inputs) {
    same_sizes &= t->sizes() == sizes;
    contiguous &= t->is_contiguous();
    channels_last &= t->is_contiguous(MemoryFormat::ChannelsLast);
    same_strides &= t->strides() == inputs[0]->strides();
  }
  if (same_sizes) {
    if (contiguous) return contiguous_strides(sizes);
    if (channels_last) return channels_last_strides(sizes);
    if (same_strides && is_dense(sizes, strides[0])) return strides[0];
  }
  DimsView views[cpu::kMaxOperands - 1];
  for (size_t i = 0; i < inputs.size(); ++i) views[i] = strides[i];
  Dims out(sizes.size());
  int64_t step = 1;
  bool row_major = true;
  auto outer = static_cast<int64_t>(sizes.size());
  for (int64_t d : stride_order(sizes, {views, inputs.size()})) {
    row_major &= d == --outer;
    out[d] = step;
    step *= sizes[d];
  }
  return row_major ? contiguous_strides(sizes) : out;
}

// Checks a given output and gives it the result's sizes.
void prepare_output(const ElementwiseOp& op, Inputs inputs, Tensor& out, bool inplace,
                    const Dims& sizes, const Strides& strides, DType result) {
  MSA_REQUIRE(op.exact_out ? result == out.dtype() : can_cast(result, out.dtype()), Runtime,
              op.name, ": result type ", result, " can't be cast to the desired output type ",
              out.dtype(), "; convert an input with .to() first");
  if (!(out.sizes() == sizes)) {
    auto is_out = [&](const Tensor* t) { return t->impl() == out.impl(); };
    bool is_input = inplace || std::any_of(inputs.begin(), inputs.end(),
                                           is_out);  // which a resize would change
    MSA_REQUIRE(!is_input, Runtime, op.name, ": output with shape ", out.sizes(),
                " doesn't match the broadcast shape ", sizes);
    resize_output(op.name, out, sizes);
    set_layout(*out.impl(), {sizes, result_strides(sizes, inputs, strides), out.offset()});
  }
  check_no_repeats(op.name, out);
  for (const Tensor* t : inputs) check_no_overlap(op.name, out, *t);
}

// PyTorch rounds operands to the common dtype before it computes in float; the walker, which reads
// any dtype as float, would skip that where the common dtype is a reduced one.
Tensor rounded(const Tensor& t, DType reduced) {
  Tensor out = empty(t.sizes(), reduced);
  Dims strides = out.strides();
  cpu::copy_elements(t.sizes(), {out.data(), reduced, strides.data()},
                     {t.data(), t.dtype(), t.strides().data()});
  return out;
}

struct Plan {
  Dims sizes;
  Strides strides;
  DType computed, result;
};

void run_loops(const ElementwiseOp& op, Inputs inputs, const Scalar* params, const Plan& plan,
               const Tensor& out) {
  DType compute = plan.computed;
  // All that PyTorch does with eight-bit floats: compare them and take magnitudes, both exact.
  if (is_float8(compute) && (op.rule == DTypeRule::Compare || op.rule == DTypeRule::ToReal))
    compute = DType::F32;
  Loop loop = cpu::find_loop(**op.table, compute);
  if (!loop) refuse_dtype(op.name, plan.computed);
  if (out.numel() == 0) return;
  Tensor keep[cpu::kMaxOperands - 1];
  cpu::Operand operands[cpu::kMaxOperands];
  Dims rounded_strides[cpu::kMaxOperands - 1];
  operands[0] = {out.data(), out.dtype(), out.strides().data()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = *inputs[i];
    operands[i + 1] = {t.data(), t.dtype(), plan.strides[i].data()};
    bool exact_number = op.exact_other && i == 1 && t.dim() == 0 && is_half(plan.computed);
    bool exact = t.dtype() == plan.computed || exact_number;
    if (exact || (!is_reduced(plan.computed) && !is_float8(plan.computed))) continue;
    keep[i] = rounded(t, plan.computed);
    rounded_strides[i] = expanded_strides(t.sizes(), keep[i].strides(), plan.sizes);
    operands[i + 1] = {keep[i].data(), plan.computed, rounded_strides[i].data()};
  }
  cpu::walk(plan.sizes, {operands, inputs.size() + 1}, loop, compute,
            result_dtype(op.rule, compute), params);
}

Tensor run_general(const ElementwiseOp& op, Inputs inputs, std::span<const Scalar> params,
                   Tensor* out, bool inplace) {
  Device device = common_device(op, inputs, out);
  Plan plan;
  plan.computed = computed_dtype(op, result_type(inputs));
  for (const Scalar& p : params) check_number(op, p, plan.computed);
  plan.result = result_dtype(op.rule, plan.computed);
  plan.sizes = common_sizes(op, inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    plan.strides[i] = expanded_strides(inputs[i]->sizes(), inputs[i]->strides(), plan.sizes);
  if (out) prepare_output(op, inputs, *out, inplace, plan.sizes, plan.strides, plan.result);
  auto fresh = [&] {
    return empty_strided(plan.sizes, result_strides(plan.sizes, inputs, plan.strides), plan.result,
                         device);
  };
  Tensor result = out ? *out : fresh();
  if (!device.is_cpu()) return result;
  const LoopNumbers numbers(op, params.data(), plan.computed);
  // A reduced result is rounded as such before it goes to a wider output.
  if (is_reduced(plan.result) && result.dtype() != plan.result) {
    Tensor narrow = fresh();
    run_loops(op, inputs, numbers.data, plan, narrow);
    cpu::copy_elements(plan.sizes, {result.data(), result.dtype(), result.strides().data()},
                       {narrow.data(), plan.result, narrow.strides().data()});
  } else {
    run_loops(op, inputs, numbers.data, plan, result);
  }
  return result;
}

// A factor as loops of half types take it: rounded to theirs, as PyTorch's are.
Scalar factor_for(const ElementwiseOp& op, Inputs inputs, const Scalar& alpha) {
  switch (computed_dtype(op, result_type(inputs))) {
    case DType::F16:
      return static_cast<double>(alpha.to<f16>());
    case DType::BF16:
      return static_cast<double>(alpha.to<bf16>());
    default:
      return alpha;
  }
}

}  // namespace

Tensor run_elementwise(const ElementwiseOp& op, std::initializer_list<const Tensor*> inputs,
                       std::initializer_list<Scalar> params, Tensor* out, bool inplace) {
  Inputs in(inputs.begin(), inputs.size());
  if (__builtin_expect(op.refuses, 0)) refuse_inputs(op, in);
  if (op.alpha && params.begin()->kind() == Scalar::Kind::Float) {
    const Scalar alpha = factor_for(op, in, *params.begin());
    if (alpha.to_double() != params.begin()->to_double())
      return run_elementwise(op, inputs, {alpha}, out, inplace);
  }
  Flat flat;
  if (plan_flat(flat, op, in)) {
    DType dtype = result_dtype(op.rule, flat.lead->dtype);
    if (!out || flat_output(flat, *out->impl(), dtype, in)) {
      for (const Scalar& p : params)
        if (__builtin_expect(p.kind() != Scalar::Kind::Int, 0))
          check_number(op, p, flat.lead->dtype);
      Tensor result = out ? *out : empty(flat.lead->sizes, dtype);
      flat.data[0] = data_of(*result.impl());
      flat.steps[0] = static_cast<int64_t>(size_bytes(dtype));
      cpu::walk_flat(flat.data, flat.steps, static_cast<int>(in.size()) + 1, result.numel(),
                     flat.loop, params.begin());
      return result;
    }
  }
  return run_general(op, in, {params.begin(), params.size()}, out, inplace);
}

}  // namespace msa
