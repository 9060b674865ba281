// Bodies of what generated operators share and what is too cold or too long for their header.
#include "core/dispatch/generated_support.h"

#include "core/sparse/sparse.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"

namespace msa {

Tensor widened(const Tensor& t) {
  return t.defined() && is_half(t.dtype()) ? ops::to_dtype(t, DType::F32) : t;
}
Tensor narrowed(const Tensor& t, DType half) { return ops::to_dtype(t, half); }

void fail_out_with_grad(const char* op) {
  fail(ErrorKind::Runtime, op,
       "(): functions with out=... arguments don't support automatic differentiation, but one of "
       "the arguments "
       "requires grad; call it without out=, or under torch.no_grad().");
}

namespace {
void check_out_dtype(const char* op, DType result, const Tensor& out, OutKind kind) {
  MSA_REQUIRE(kind != kOutCasts || can_cast(result, out.dtype()), Runtime, op, ": result type ",
              result, " can't be cast to the desired output type ", out.dtype(),
              "; give an out= of that type");
  MSA_REQUIRE(kind == kOutCasts || result == out.dtype(), Runtime, op, ": the result is ", result,
              " but the tensor that takes it ", out.dtype(), "; give one of that type");
}

void resize(const char* op, Tensor& out, DimsView sizes, OutKind kind) {
  if (kind == kOutSilent && !std::ranges::equal(out.sizes(), sizes))
    set_layout(*out.impl(), {sizes, contiguous_strides(sizes), out.offset()});
  resize_output(op, out, sizes);
}
}  // namespace

Tensor prepare_out(const char* op, const OutSpec& spec, Tensor& out, TensorsView inputs,
                   OutKind kind) {
  check_out_dtype(op, spec.dtype, out, kind);
  // An input may not be resized, let alone written, before the kernel has read it.
  for (const Tensor& t : inputs)
    if (t.defined() && t.same_storage(out)) return make_output(spec, out.device());
  resize(op, out, spec.sizes, kind);
  return out.dtype() == spec.dtype && out.is_contiguous() ? out : make_output(spec, out.device());
}

void finish_out(const char* op, const Tensor& filled, Tensor& out) {
  if (filled.impl() == out.impl()) {
    out.bump_version();
  } else {
    resize_output(op, out, filled.sizes());
    GradMode off(false);
    ops::copy_(out, filled);
  }
}

void copy_to_out(const char* op, const Tensor& result, Tensor& out, OutKind kind) {
  check_out_dtype(op, result.dtype(), out, kind);
  resize(op, out, result.sizes(), kind);
  GradMode off(false);
  ops::copy_(out, result);
}

void check_inplace_spec(const char* op, const Tensor& self, const OutSpec& spec, OutKind kind) {
  MSA_REQUIRE(spec.sizes == self.sizes(), Runtime, op, ": output with shape ",
              DimsView(self.sizes()), " doesn't match the broadcast shape ", DimsView(spec.sizes),
              "; use the form that is not in-place");
  check_out_dtype(op, spec.dtype, self, kind);
}

void check_inplace_result(const char* op, const Tensor& self, const Tensor& result, OutKind kind) {
  check_inplace_spec(op, self, {result.sizes(), result.dtype()}, kind);
}

void copy_into(Tensor& self, const Tensor& result) {
  GradMode off(false);
  Tensor target = alias(self, self.layout());  // the caller bumps the version once
  ops::copy_(target, result);
}

void change_layout(Tensor& self, const Layout& layout, const Ref<Node>& node) {
  if (is_sparse(self))
    sparse::refuse("in-place change of shape", self, "use the form that returns a new tensor");
  MSA_REQUIRE(!is_python(self), NotImplemented,
              "in-place change of shape is not supported for classes with __torch_dispatch__; use "
              "the form that returns a new tensor");
  if (!node) {
    set_layout(*self.impl(), layout);
    return;
  }
  MSA_REQUIRE(!is_view(self), NotImplemented,
              "in-place layout change of a view that requires grad is not supported; use the form "
              "that returns a new view");
  set_layout(*self.impl(), layout);
  set_history(self, node);
}

DType viewed_dtype_real(const char* op, DType dtype) {
  MSA_REQUIRE(is_complex(dtype), Runtime, op, " is only supported for complex tensors, got ",
              dtype);
  return to_real(dtype);
}

DType viewed_dtype_complex(const char* op, DType dtype) {
  const bool fits = dtype == DType::F16 || dtype == DType::F32 || dtype == DType::F64;
  MSA_REQUIRE(fits, Runtime, op, " is only supported for half, float and double tensors, got ",
              dtype, "; convert with .to(torch.float32) first");
  return to_complex(dtype);
}

void fail_shape_is_data(const char* op) {
  fail(ErrorKind::NotImplemented, op,
       ": the result's shape depends on the data, which a meta tensor does not have");
}

void fail_some_without_data(const char* op) {
  fail(ErrorKind::Runtime, op,
       ": Expected all tensors to be on the same device, but found at least two devices, cpu and "
       "meta; a meta tensor has no data: make it on cpu, or move a module with to_empty()");
}

Tensor defined_or_zeros(const Grads& grads, size_t i, const InlineVec<OutputMeta, 1>& outputs) {
  if (i < grads.size() && grads[i].defined()) return grads[i];
  MSA_REQUIRE(i < outputs.size(), Runtime, "backward: output ", i,
              " has no gradient and no recorded shape");
  return ops::zeros(outputs[i].sizes, outputs[i].dtype, outputs[i].device);
}

TensorList unpack_all(const std::vector<SavedTensor>& saved, Node* owner) {
  TensorList list;
  list.reserve(saved.size());
  for (const SavedTensor& s : saved) list.push_back(s.unpack(owner));
  return list;
}

void store_list(Grads& out, size_t slot, TensorList grads) {
  for (size_t i = 0; i < grads.size(); ++i) out[slot + i] = std::move(grads[i]);
}

namespace {
struct MissingGradient final : Node {
  explicit MissingGradient(const char* op) : op(op) {}
  const char* name() const override { return "NotImplemented"; }
  void apply(Grads&, Grads&) override {
    fail(ErrorKind::NotImplemented, op,
         ": its gradient is not implemented; detach() its inputs, or write it as an "
         "autograd.Function");
  }
  const char* op;
};

struct ZeroGradient final : Node {
  explicit ZeroGradient(const char* op) : op(op) {}
  const char* name() const override { return op; }
  void apply(Grads& in, Grads& out) override {
    if (in[0].defined()) out[0] = ops::zeros_like(in[0]);
  }
  const char* op;
};

template <class N>
Ref<Node> record(const char* op, std::initializer_list<const Tensor*> inputs) {
  Ref<Node> node(new N(op));
  for (const Tensor* t : inputs) node->next.push_back(t->defined() ? gradient_edge(*t) : Edge{});
  return node;
}
}  // namespace

Ref<Node> record_missing(const char* op, std::initializer_list<const Tensor*> inputs) {
  return record<MissingGradient>(op, inputs);
}
Ref<Node> record_zero(const char* op, std::initializer_list<const Tensor*> inputs) {
  return record<ZeroGradient>(op, inputs);
}

Tensor kept_if_recorded(const Tensor& input) {
  return must_record(input) ? ops::clone(input) : input;
}

}  // namespace msa
