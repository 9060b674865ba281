// Where calls on batched tensors end: below autograd, each row by its rule.
#include "core/autograd/meta.h"
#include "core/dispatch/arguments.h"
#include "core/random/generator.h"
#include "core/transforms/calls.h"
#include "generated/ops_create.h"

namespace msa {
namespace {

int level_of(const Tensor& t) { return is_batched(t) ? batched_parts(t).level : 0; }

}  // namespace

int innermost_level(const OpInfo& op, Form form, const Value* args) {
  int level = 0;
  each_tensor(args, argument_count(op, form),
              [&](const Tensor& t) { level = std::max(level, level_of(t)); });
  return level;
}

namespace {

// `device=` of a batched tensor means where its values are.
NewCall with_places(const OpInfo& op, Form form, const Value* args) {
  NewCall call(op, form, args);
  for (size_t i = 0; i < call.size(); ++i)
    if (call[i].tag() == Value::Tag::Device) call[i] = Value(placed(call[i].device()));
  return call;
}

// Each example draws what the first does.
void call_with_same_numbers(const BatchedCall& call) {
  Generator* given = nullptr;
  for (int i = 0; i < call.op.n_params; ++i)
    if (call.args[i].tag() == Value::Tag::Generator) given = call.args[i].generator();
  Generator& generator = generator_or_default(given);
  Generator before;
  before.copy_from(generator);
  call_in_loop(call, [&] { generator.copy_from(before); });
}

void call_own(const BatchedCall& call, Boxed own) {
  Results made;
  own(call.args, made);
  if (call.form == Form::Function) {
    call.results = std::move(made);
    return;
  }
  require_batched_self(call);
  Tensor self = in_front(call.operand(0));
  ops::copy_(self, in_front(operand_at(made.tensors[0], call.level)));
  call.results.set(call.args[0].tensor());
}

void call_by_rule(const BatchedCall& call, const BatchRow* row) {
  const BatchRule rule = row ? row->rule : BatchRule::Loop;
  if (!call.touches() && rule != BatchRule::Widen) return call_shared(call);
  if (row && row->random && vmap_at(call.level).randomness == Randomness::Same)
    return call_with_same_numbers(call);
  if (row && row->own) {
    try {
      return call_own(call, row->own);
    } catch (const NotTogether&) {
      return call_in_loop(call);
    }
  }
  const bool done = (rule == BatchRule::Elementwise && call_elementwise(call)) ||
                    (rule == BatchRule::Dims && call_over_dims(call)) ||
                    (rule == BatchRule::SharedIndex && call_with_shared_index(call)) ||
                    (rule == BatchRule::Leading && call_leading(call)) ||
                    (rule == BatchRule::Fold && call_folded(call)) ||
                    (rule == BatchRule::Widen && call_widened(call));
  if (!done) call_in_loop(call);
}

// out=: the result is put where it was asked for.
void call_for_out(const OpInfo& op, const Value* args, Results& results) {
  Results made;
  op.call(args, made);
  for (size_t i = 0; i < op.n_results; ++i) {
    Tensor& out = args[op.n_params + i].mutable_tensor();
    MSA_REQUIRE(out.sizes() == made.tensors[i].sizes(), Runtime, "vmap: ", op.name,
                ": out= has shape ", DimsView(out.sizes()), ", but the result ",
                DimsView(made.tensors[i].sizes()));
    ops::copy_(out, made.tensors[i]);
    results.tensors.push_back(out);
  }
  results.kind = op.n_results > 1 ? Results::Kind::Tuple : Results::Kind::Tensor;
}

class BatchBackend final : public Backend {
 public:
  void call(const OpInfo& op, Form form, const Value* args, Results& results) override {
    if (form == Form::Out) return call_for_out(op, args, results);
    NewCall placed_call = with_places(op, form, args);
    const int level = innermost_level(op, form, args);
    if (level == 0) return placed_call.run(results);
    const BelowVmap below(level);
    const BatchedCall call{op, form, &placed_call[0], results, level, vmap_at(level).size};
    const BatchRow* row = batch_row(op);
    call_by_rule(call, row);
    if (row && row->view && form == Form::Function)
      for (Tensor& t : results.tensors)
        make_view_of(t, args[0].tensor(),
                     op.n_results == 1 && results.kind == Results::Kind::List
                         ? ViewOrigin::MultiOutput
                         : ViewOrigin::Default);
  }
};

}  // namespace

namespace {

// Numbers from nothing, for each example its own: one draw where there is a size to widen.
void draw_anew(const BatchedCall& call) {
  const int size = call.param("size");
  if (size < 0)
    call_in_loop(call);
  else
    call_widened(call);
}

bool belongs(const BatchedCall& call) {
  for (size_t i = 0; i < call.n_args(); ++i)
    if (call.at_level(i)) return true;
  return false;
}

}  // namespace

Backend& batch_backend() {
  static BatchBackend& backend = *new BatchBackend;
  return backend;
}

bool VmapLayer::draws(LayerCall& call) const {
  const BatchRow* row = batch_row(call.op);
  if (!row || !row->random) return false;
  MSA_REQUIRE(level_info.randomness != Randomness::Error, Runtime,
              "vmap: called random operation while in randomness error mode. Please either use the "
              "'same' or 'different' "
              "randomness flags on vmap or perform the randomness operation out of vmap");
  const BatchedCall here{call.op,      call.form,        call.args,
                         call.results, level_info.level, level_info.size};
  if (level_info.randomness == Randomness::Same) return false;
  int first = -1;
  for (size_t i = 0; i < here.n_args(); ++i) {
    if (here.batched(i)) return false;
    if (first < 0 && here.is_tensor(i)) first = static_cast<int>(i);
  }
  MSA_REQUIRE(call.form != Form::Inplace, Runtime,
              "vmap: Cannot ask for different inplace "
              "randomness on an unbatched tensor. This will appear like same randomness. If this "
              "is necessary for your usage, please file an issue: use the form that is not "
              "in-place");
  NewCall inner(call.op, call.form, call.args);
  if (first >= 0) {
    const auto at = static_cast<size_t>(first);
    inner.set(at, make_batched(over_batch({call.args[at].tensor()}, level_info.size), 0,
                               level_info.level));
    if (row->rule == BatchRule::Parts)
      row->own(&inner[0], call.results);
    else
      inner.run(call.results);
    return true;
  }
  draw_anew(here);
  return true;
}

void VmapLayer::call(LayerCall& call) {
  if (draws(call)) return;
  const BatchedCall here{call.op,      call.form,        call.args,
                         call.results, level_info.level, level_info.size};
  if (!belongs(here) || call.form != Form::Function) return call.proceed();
  const BatchRow* row = batch_row(call.op);
  if (row && row->rule == BatchRule::Parts) return call.run_instead(row->own);
  if (!call.op.composed) return call.proceed();
  const bool by_size = row && row->rule == BatchRule::Widen;  // nothing else of the tensor counts
  if (!by_size && (!row || carries_more(here))) {
    try {
      return call.proceed();
    } catch (const BatchRefusal&) {
      if (carries_more(here)) throw;
      call.results = Results();
    }
  }
  const BelowVmap below(level_info.level);
  call_by_rule(here, row);
}

}  // namespace msa
