// Layers see every operator call while they are active: dump, NaN watch, capture, autocast, modes.
#pragma once
#include "core/dispatch/op_info.h"
#include "core/dispatch/thread_state.h"

namespace msa {

enum class Form : uint8_t { Function, Inplace, Out };

// The call as a layer sees it. `proceed()` runs the next layer, or the operator.
struct LayerCall {
  const OpInfo& op;
  Form form;
  const Value* args;
  Results& results;
  void proceed();

 private:
  friend void call_layered(const OpInfo&, Form, const Value*, Results&);
  int depth_ = 0;
};

class Layer {
 public:
  enum class Level { Outermost, Innermost };  // what the user wrote, or what runs
  virtual ~Layer() = default;
  virtual Level level() const { return Level::Innermost; }
  virtual void call(LayerCall& call) = 0;
};

void push_layer(Layer* layer);  // of this thread; borrowed until popped
void pop_layer(Layer* layer);
void call_layered(const OpInfo& op, Form form, const Value* args, Results& results);
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

}  // namespace msa
