// The stack of layers, and the table of backends at its end.
#include "core/dispatch/layers.h"

#include <algorithm>
#include <vector>

#include "core/dispatch/autocast.h"

namespace msa {
namespace {

struct Stack {
  std::vector<Layer*> layers;
  size_t visible = 0;               // calls made now are seen by the layers below this index
  bool inside = false;              // an operator is running: what it calls is not outermost
  bool autocast = false;            // it is on, and sees calls made now
  const OpInfo* entered = nullptr;  // the composed operator whose body runs next
};
thread_local Stack stack;

void set_autocast(bool sees) {
  stack.autocast = sees;
  thread_state.layers_active = stack.visible > 0 || sees;
}

// Sets what calls see until the end of the scope.
class See {
 public:
  See(size_t visible, bool inside, bool autocast)
      : visible_(stack.visible), inside_(stack.inside), autocast_(stack.autocast) {
    set(visible, inside, autocast);
  }
  ~See() { set(visible_, inside_, autocast_); }
  See(const See&) = delete;
  See& operator=(const See&) = delete;

 private:
  static void set(size_t visible, bool inside, bool autocast) {
    stack.entered = nullptr;
    stack.visible = visible;
    stack.inside = inside;
    set_autocast(autocast);
  }
  size_t visible_;
  bool inside_, autocast_;
};

bool sees(const Layer& layer, const OpInfo& op) {
  switch (layer.level()) {
    case Layer::Level::Outermost:
      return !stack.inside;
    case Layer::Level::Innermost:
      return !op.composed;
    case Layer::Level::All:
      return true;
  }
  __builtin_unreachable();
}

Backend* backends[static_cast<int>(DeviceKind::Count)];
Backend* for_python = nullptr;

}  // namespace

void push_layer(Layer* layer) {
  stack.layers.insert(stack.layers.begin() + static_cast<int64_t>(stack.visible++), layer);
  thread_state.layers_active = true;
}

void pop_layer(Layer* layer) {
  MSA_REQUIRE(stack.visible && stack.layers[stack.visible - 1] == layer, Runtime,
              "layers must be removed in the reverse order of their addition");
  stack.layers.erase(stack.layers.begin() + static_cast<int64_t>(--stack.visible));
  set_autocast(stack.autocast);
}

void set_autocast_active(bool active) { set_autocast(active); }
AutocastHidden::AutocastHidden() : before_(stack.autocast) { set_autocast(false); }
AutocastHidden::~AutocastHidden() { set_autocast(before_); }

SeenBelow::SeenBelow(const Layer* layer) : visible_(stack.visible), entered_(stack.entered) {
  const auto at = std::find(stack.layers.begin(), stack.layers.end(), layer);
  stack.visible = static_cast<size_t>(at - stack.layers.begin());
  stack.entered = nullptr;
  set_autocast(stack.autocast);
}

SeenBelow::~SeenBelow() {
  stack.visible = visible_;
  stack.entered = entered_;
  set_autocast(stack.autocast);
}

LayerCall::LayerCall(const OpInfo& op, Form form, const Value* args, Results& results)
    : op(op),
      form(form),
      args(args),
      results(results),
      next_(stack.visible),
      at_call_(stack.visible) {}

void LayerCall::proceed() {
  size_t i = next_;
  while (i > 0 && !sees(*stack.layers[i - 1], op)) --i;
  if (i == 0) {
    See body(op.composed ? at_call_ : 0, true, op.composed && stack.autocast);
    if (op.composed) stack.entered = &op;
    boxed(op, form)(args, results);
    return;
  }
  See below(i - 1, stack.inside, stack.autocast);
  size_t before = std::exchange(next_, i - 1);
  try {
    stack.layers[i - 1]->call(*this);
  } catch (...) {
    next_ = before;
    throw;
  }
  next_ = before;
}

void LayerCall::run_instead(Boxed body) {
  const See body_calls(at_call_, true, stack.autocast);
  body(args, results);
}

void call_layered(const OpInfo& op, Form form, const Value* args, Results& results) {
  if (stack.autocast && autocast_call(op, form, args, results)) return;
  LayerCall(op, form, args, results).proceed();
}

bool enters_body(const OpInfo& op) {
  if (stack.entered != &op) return false;
  stack.entered = nullptr;
  return true;
}

void set_backend(DeviceKind kind, Backend* backend) { backends[static_cast<int>(kind)] = backend; }

void set_python_backend(Backend* backend) { for_python = backend; }
Backend& python_backend() { return *for_python; }

Backend& backend_of(DeviceKind kind) {
  Backend* backend = backends[static_cast<int>(kind)];
  MSA_REQUIRE(backend, Runtime, "device ", device_name(kind),
              " is not available here: install MindSpore and import ",
              "ms_adapter.mindspore, or use device 'cpu'");
  return *backend;
}

}  // namespace msa
