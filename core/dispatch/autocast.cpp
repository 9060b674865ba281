// Autocast: the thread's settings, the choice of a dtype for each call, and the kept casts of
// weights.
#include "core/dispatch/autocast.h"

#include <unordered_map>

#include "core/autograd/meta.h"
#include "core/dispatch/arguments.h"
#include "generated/ops_create.h"

namespace msa {
namespace {

constexpr int kKinds = static_cast<int>(DeviceKind::Count);

struct State {
  AutocastDevice devices[kKinds];
  bool keeps_weights = true;
  int nesting = 0;
  // The cast by what was cast, which is kept too: another tensor cannot come to lie there. Never
  // destroyed: at a thread's end nobody holds the core lock.
  std::unordered_map<TensorImpl*, std::pair<Tensor, Tensor>>& casts =
      *new std::unordered_map<TensorImpl*, std::pair<Tensor, Tensor>>;

  State() {
    for (DeviceKind kind : {DeviceKind::MindSpore, DeviceKind::Npu}) of(kind).dtype = DType::F16;
  }
  AutocastDevice& of(DeviceKind kind) { return devices[static_cast<int>(kind)]; }
};
thread_local State state;

// The first device with autocast on that one of the tensors is on; Count: there is none.
DeviceKind device_of(const OpInfo& op, const Value* args) {
  DeviceKind found = DeviceKind::Count;
  each_tensor(args, op.n_params, [&](const Tensor& t) {
    const DeviceKind kind = t.device().kind;
    if (kind < found && state.of(kind).enabled) found = kind;
  });
  return found;
}

bool is_eligible(const Tensor& t, DeviceKind kind) {
  return t.defined() && t.device().kind == kind && is_floating(t.dtype());
}

// The widest of the inputs' dtypes, where float64 is left as it is.
DType widest(const OpInfo& op, const Value* args, DeviceKind kind) {
  const DType lower = state.of(kind).dtype;
  DType found = lower;
  each_tensor(args, op.n_params, [&](const Tensor& t) {
    if (!is_eligible(t, kind) || t.dtype() == DType::F64) return;
    MSA_REQUIRE(t.dtype() == DType::F32 || t.dtype() == lower, Runtime, op.name, ": an input of ",
                t.dtype(), " beside autocast to ", lower, ": convert it to float32 or ", lower,
                " first.");
    if (t.dtype() == DType::F32) found = DType::F32;
  });
  return found;
}

bool is_weight(const Tensor& t) {
  return t.dtype() == DType::F32 && t.requires_grad() && t.is_leaf() && !is_view(t);
}

Tensor cast(const Tensor& t, DType dtype, DeviceKind kind) {
  if (!is_eligible(t, kind) || t.dtype() == dtype || t.dtype() == DType::F64) return t;
  if (!state.keeps_weights || dtype != state.of(kind).dtype || !is_weight(t))
    return ops::_to_copy(t, dtype);
  auto& kept = state.casts[t.impl()];
  if (!kept.second.defined()) {
    GradMode recorded(true);  // later uses may need its gradient
    kept = {t, ops::_to_copy(t, dtype)};
  }
  return kept.second;
}

// The arguments with their tensors cast; the other values are borrowed.
class CastArguments {
 public:
  CastArguments(const OpInfo& op, const Value* args, DType dtype, DeviceKind kind)
      : values_(args, args + op.n_params) {
    tensors_.reserve(values_.size());  // what values point at stays where it is
    lists_.reserve(values_.size());
    for (Value& v : values_) {
      if (v.tag() == Value::Tag::Tensor) {
        v = Value(tensors_.emplace_back(cast(v.tensor(), dtype, kind)));
      } else if (v.tag() == Value::Tag::Tensors) {
        TensorList& list = lists_.emplace_back(v.tensors());
        for (Tensor& t : list) t = cast(t, dtype, kind);
        v = Value(list);
      }
    }
  }
  const Value* values() const { return values_.data(); }

 private:
  std::vector<Value> values_;
  std::vector<Tensor> tensors_;
  std::vector<TensorList> lists_;
};

}  // namespace

AutocastDevice& autocast_of(DeviceKind device) { return state.of(device); }

void set_autocast_enabled(DeviceKind device, bool enabled) {
  state.of(device).enabled = enabled;
  bool any = false;
  for (const AutocastDevice& each : state.devices) any |= each.enabled;
  set_autocast_active(any);
}

bool& autocast_keeps_weights() { return state.keeps_weights; }
int& autocast_nesting() { return state.nesting; }
void clear_autocast_cache() { state.casts.clear(); }

bool autocast_call(const OpInfo& op, Form form, const Value* args, Results& results) {
  const DeviceKind kind = device_of(op, args);
  if (kind == DeviceKind::Count) return false;
  const Autocast wanted = kind == DeviceKind::Cpu ? op.autocast_cpu : op.autocast_accelerator;
  if (wanted == Autocast::None) return false;
  AutocastHidden hidden;
  // The dtype of the other forms is that of what they write to.
  if (wanted == Autocast::Keep || form != Form::Function) {
    boxed(op, form)(args, results);
    return true;
  }
  MSA_REQUIRE(wanted != Autocast::Refuse, Runtime, op.name,
              ": its result overflows in lower precision, so autocast refuses it: use "
              "binary_cross_entropy_with_logits, or leave autocast with "
              "torch.autocast(device_type, enabled=False).");
  const DType dtype = wanted == Autocast::Lower     ? state.of(kind).dtype
                      : wanted == Autocast::Float32 ? DType::F32
                                                    : widest(op, args, kind);
  const CastArguments given(op, args, dtype, kind);
  boxed(op, form)(given.values(), results);
  return true;
}

}  // namespace msa
