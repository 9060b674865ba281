// Layers see every operator call while they are active: dump, NaN watch, capture, autocast, modes.
#pragma once
#include "core/dispatch/op_info.h"
#include "core/dispatch/thread_state.h"

namespace msa {

enum class Form : uint8_t { Function, Inplace, Out };

// The call as a layer sees it. `proceed()` runs the next layer, or the operator; a layer may call
// it several times, or not at all and fill `results` itself.
class LayerCall {
 public:
  LayerCall(const OpInfo& op, Form form, const Value* args, Results& results);
  const OpInfo& op;
  const Form form;
  const Value* const args;
  Results& results;
  void proceed();
  // Runs `body` in the operator's place; its calls are seen by all that saw this one.
  void run_instead(Boxed body);

 private:
  size_t next_;           // layers below this index come after the running one
  const size_t at_call_;  // the same when the operator was called
};

class Layer {
 public:
  enum class Level { Outermost, Innermost, All };  // what the user wrote, what runs, or both
  virtual ~Layer() = default;
  virtual Level level() const { return Level::Innermost; }
  virtual void call(LayerCall& call) = 0;
};

// Layers belong to a thread and are borrowed until popped. The last one pushed is asked first; what
// a layer calls itself is seen only by those below it.
void push_layer(Layer* layer);
void pop_layer(Layer* layer);
// Autocast is asked before all layers, whenever they came (core/dispatch/autocast.h).
void set_autocast_active(bool active);
// In its scope autocast sees no call: what it has cast is not cast again.
class AutocastHidden {
 public:
  AutocastHidden();
  ~AutocastHidden();
  AutocastHidden(const AutocastHidden&) = delete;
  AutocastHidden& operator=(const AutocastHidden&) = delete;

 private:
  bool before_;
};
// While alive, calls are seen by the layers below `layer` only (those pushed before it), also
// inside an operator: what a transform calls belongs to the transforms around it.
class SeenBelow {
 public:
  explicit SeenBelow(const Layer* layer);
  ~SeenBelow();
  SeenBelow(const SeenBelow&) = delete;
  SeenBelow& operator=(const SeenBelow&) = delete;

 private:
  size_t visible_;
  const OpInfo* entered_;
};
// What an operator does when thread_state.layers_active.
void call_layered(const OpInfo& op, Form form, const Value* args, Results& results);
// Whether this call is the layers' own, of the operator that they have all passed: a composed one
// runs its body now, whose calls they shall see.
bool enters_body(const OpInfo& op);
inline Boxed boxed(const OpInfo& op, Form form) {
  return form == Form::Function ? op.call : form == Form::Inplace ? op.call_inplace : op.call_out;
}

// Devices other than cpu and meta run whole operators through one of these.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual void call(const OpInfo& op, Form form, const Value* args, Results& results) = 0;
};
void set_backend(DeviceKind kind, Backend* backend);
Backend& backend_of(DeviceKind kind);  // raises with the way out when the device is not there
// Runs the operators of tensors whose classes have __torch_dispatch__; set by the bindings.
void set_python_backend(Backend* backend);
Backend& python_backend();

}  // namespace msa
