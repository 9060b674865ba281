// What the files of core/transforms share: one boxed call in the making, and vmap's layer.
#pragma once
#include <deque>
#include <functional>

#include "core/dispatch/packed.h"
#include "core/transforms/batched.h"

namespace msa {

// Arguments that are changed one by one before the call; it keeps what the values point to.
class NewCall {
 public:
  NewCall(const OpInfo& op, Form form, const Value* args);
  const OpInfo& op;
  const Form form;
  Value& operator[](size_t i) { return values_[i]; }
  size_t size() const { return values_.size(); }
  void set(size_t i, Tensor t);
  void set(size_t i, TensorList list);
  void set(size_t i, Dims dims);
  void run(Results& results) { boxed(op, form)(values_.data(), results); }

 private:
  std::vector<Value> values_;
  std::deque<Tensor> tensors_;
  std::deque<TensorList> lists_;
  std::deque<Dims> dims_;
};

// The call as the vmap at `level` sees it.
struct BatchedCall {
  const OpInfo& op;
  const Form form;
  const Value* const args;
  Results& results;
  const int level;
  const int64_t size;  // of the batch

  size_t n_args() const { return op.n_params + (form == Form::Out ? op.n_results : 0u); }
  bool is_tensor(size_t i) const { return args[i].tag() == Value::Tag::Tensor; }
  bool is_list(size_t i) const { return args[i].tag() == Value::Tag::Tensors; }
  Operand operand(size_t i) const { return operand_at(args[i].tensor(), level); }
  // Whether it has values that differ by example: a tensor, or one of a list.
  bool batched(size_t i) const;
  bool at_level(size_t i) const;           // whether it belongs to the vmap at all
  bool touches() const;                    // whether any argument is `batched`
  int param(std::string_view name) const;  // -1: none of that name
  int64_t rank(size_t i) const { return args[i].tensor().dim(); }
};

// The innermost vmap among the arguments; 0: none.
int innermost_level(const OpInfo& op, Form form, const Value* args);

// The rules: each makes the call and leaves batched results; false: it does not apply here.
bool call_elementwise(const BatchedCall& call);
bool call_over_dims(const BatchedCall& call);
bool call_with_shared_index(const BatchedCall& call);
bool call_leading(const BatchedCall& call);
bool call_folded(const BatchedCall& call);
bool call_widened(const BatchedCall& call);
void call_shared(const BatchedCall& call);  // no argument differs by example
void call_in_loop(const BatchedCall& call, const std::function<void()>& before_each = {});
// The results of `inner`, whose batch dimension is in front, become batched tensors.
void give_results(const BatchedCall& call, Results& inner, int64_t dim = 0);
// In-place forms need a first argument with a batch dimension as soon as another one has it.
void require_batched_self(const BatchedCall& call);
// Thrown by batched::<row> functions that cannot serve these arguments: the call is made in a loop.
struct NotTogether {};
// What tensors carry that belongs to transforms inside the vmap: unwrapping them would lose it.
bool carries_more(const BatchedCall& call);

// One for each vmap: sees all calls made inside. It draws random numbers for the batch, and runs
// rows by their parts.
class VmapLayer final : public Layer {
 public:
  explicit VmapLayer(const VmapLevel& info) : level_info(info) {}
  Level level() const override { return Level::All; }
  void call(LayerCall& call) override;
  const VmapLevel level_info;

 private:
  bool draws(LayerCall& call) const;
};
const VmapLayer& layer_of_vmap(int level);

// The innermost vmap whose calls are being made: fewer than there are while a transform outside the
// innermost ones is at work. Set until the end of the scope.
class ActiveVmap {
 public:
  explicit ActiveVmap(int level) : before_(now) { now = std::min(now, level); }
  ~ActiveVmap() { now = before_; }
  ActiveVmap(const ActiveVmap&) = delete;
  ActiveVmap& operator=(const ActiveVmap&) = delete;
  static thread_local int now;

 private:
  int before_;
};
// As a tensor of the active vmap, with the same value for all examples; where it is none already.
Tensor in_active_vmap(const Tensor& t);

}  // namespace msa
