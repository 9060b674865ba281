// The levels of forward-mode AD, and the Jacobian-vector product of any operator.
#include "core/transforms/forward.h"

#include <unordered_set>

#include "core/autograd/engine.h"
#include "core/autograd/meta.h"
#include "core/dispatch/arguments.h"
#include "core/random/generator.h"
#include "core/sparse/sparse.h"
#include "core/transforms/calls.h"
#include "generated/ops_copy.h"
#include "generated/ops_create.h"
#include "generated/ops_join.h"
#include "generated/ops_view.h"

namespace msa {

class DualLayer final : public Layer {
 public:
  const int vmaps_outside = vmap_depth();
  ~DualLayer() override;
  void call(LayerCall& call) override;
  Tensor tangent(const Tensor& t) const;
  void give(const Tensor& t, const Tensor& tangent);

  std::unordered_set<Tangents*> carriers;  // whose entries go when the level is left
};

namespace {

thread_local std::vector<std::unique_ptr<DualLayer>> levels;
thread_local bool enabled = true;

DualLayer& at(int level) {
  MSA_REQUIRE(level >= 0 && level < dual_depth(), Runtime, "forward AD: level ", level,
              " is not open: use torch.autograd.forward_ad.dual_level()");
  return *levels[static_cast<size_t>(level)];
}

Tangents& tangents_of(const Tensor& t) {
  AutogradMeta& meta = ensure_meta(t.impl());
  if (!meta.tangents) {
    meta.tangents = new Tangents;
    ++meta.tangents->refs;
  }
  return *meta.tangents;
}

// --- the Jacobian-vector product -----------------------------------------------------------------

// An input of the operator from which gradients are taken: connected to the input's own graph, so
// that the product can itself be differentiated, but no further than here.
Tensor fresh(const Tensor& t, bool connected) {
  if (connected && t.requires_grad()) {
    Tensor input = ops::alias(t);
    share_tangents(input, t);  // this level's too: what is saved of it is differentiated later
    return input;
  }
  const Tensor here = in_active_vmap(t);
  Tensor leaf = detach(here);
  if (t->meta && t->meta->tangents)
    for (const Tangents::At& one : t->meta->tangents->at)
      if (here.impl() == t.impl() || one.level->vmaps_outside >= ActiveVmap::now)
        one.level->give(leaf, one.tangent);
  set_requires_grad(leaf, true);
  return leaf;
}

struct Product {
  std::vector<Edge> inputs;
  std::vector<Tensor> tangents;
  bool connected = false;  // an input has a history: the results keep theirs
  bool record = false;     // the product has a gradient, of an input, a tangent, or below a vmap
};

// The call once more, on inputs whose gradients are taken; those with a tangent become `product`'s.
NewCall differentiable_call(const LayerCall& call, const DualLayer& level, bool connected,
                            Product& product) {
  NewCall again(call.op, call.form, call.args);
  auto replace = [&](const Tensor& t, bool changed) {
    const Tensor tangent = t.defined() ? level.tangent(t) : Tensor();
    product.connected |= connected && t.defined() && t.requires_grad();
    if (!tangent.defined()) return changed ? ops::clone(t) : t;
    product.record |= connected && tangent.requires_grad();
    Tensor input = fresh(t, connected);
    product.inputs.push_back(gradient_edge(input));
    product.tangents.push_back(tangent);
    return changed ? ops::clone(input) : input;
  };
  for (size_t i = 0; i < call.op.n_params; ++i) {
    const Value& given = call.args[i];
    if (given.tag() == Value::Tag::Tensor)
      again.set(i, replace(given.tensor(), i == 0 && call.form == Form::Inplace));
    if (given.tag() != Value::Tag::Tensors) continue;
    TensorList list;
    for (const Tensor& t : given.tensors()) list.push_back(replace(t, false));
    again.set(i, std::move(list));
  }
  return again;
}

// The derivative of the vector-Jacobian product with respect to its cotangents.
TensorList transposed(const Product& product, const std::vector<Tensor>& pulled,
                      const std::vector<Edge>& cotangents) {
  std::vector<Edge> roots;
  std::vector<Tensor> weights;
  for (size_t i = 0; i < pulled.size(); ++i) {
    if (!pulled[i].defined() || !pulled[i].requires_grad()) continue;
    roots.push_back(gradient_edge(pulled[i]));
    weights.push_back(product.tangents[i]);
  }
  if (roots.empty()) return TensorList(cotangents.size());
  return run_backward(
      roots, weights, cotangents,
      {.keep_graph = product.record, .create_graph = product.record, .accumulate = false});
}

TensorList tangents_of_results(const Product& product, const Results& results) {
  std::vector<Edge> roots, cotangents;
  std::vector<Tensor> weights;
  for (const Tensor& out : results.tensors) {
    if (!out.defined() || !out.requires_grad()) continue;
    const Tensor weight = fresh(ops::ones_like(detach(out)), false);
    roots.push_back(gradient_edge(out));
    cotangents.push_back(gradient_edge(weight));
    weights.push_back(weight);
  }
  TensorList tangents(results.tensors.size());
  if (roots.empty()) return tangents;
  const std::vector<Tensor> pulled =
      run_backward(roots, weights, product.inputs,
                   {.keep_graph = true, .create_graph = true, .accumulate = false});
  TensorList given = transposed(product, pulled, cotangents);
  for (size_t i = 0, k = 0; i < tangents.size(); ++i) {
    const Tensor& out = results.tensors[i];
    if (!out.defined() || !out.requires_grad()) continue;
    tangents[i] = given[k].defined() ? given[k] : ops::zeros_like(detach(out));
    ++k;
  }
  return tangents;
}

// Runs the call, once: its results, and their tangents, undefined where there is no derivative.
TensorList push_forward(const LayerCall& call, const DualLayer& level, Results& results) {
  Product product;
  const bool connected = thread_state.grad_enabled;
  product.record = connected && vmap_depth() > 0;
  const GradMode on(true);
  differentiable_call(call, level, connected, product).run(results);
  product.record |= product.connected;
  TensorList tangents = tangents_of_results(product, results);
  if (!product.connected)
    for (Tensor& out : results.tensors)
      if (out.defined() && out.requires_grad()) out = without_history(out);
  return tangents;
}

// --- what becomes of the tangents ----------------------------------------------------------------

bool carries(const LayerCall& call, const DualLayer& level) {
  return any_tensor(call.args, call.op.n_params,
                    [&](const Tensor& t) { return level.tangent(t).defined(); });
}

// The tangent of a view's base, made where there is none, seen as the view sees the base.
Tensor through_base(DualLayer& level, const Tensor& view) {
  const Tensor base(view->meta->base);
  Tensor whole = level.tangent(base);
  if (!whole.defined()) {
    whole = ops::zeros_like(detach(base));
    level.give(base, whole);
  }
  MSA_REQUIRE(whole.strides() == base.strides(), NotImplemented,
              "forward AD: a view of a tensor that is not dense is changed in place: use the form "
              "that is not in-place");
  Layout layout = view.layout();
  layout.offset += whole.offset() - base.offset();
  return replay_view(whole, layout, view.dtype());
}

// An in-place change writes the tangent too, so that views and their base go on sharing it.
void write_tangent(DualLayer& level, const Tensor& self, const Tensor& tangent) {
  Tensor held = level.tangent(self);
  if (!held.defined() && is_view(self)) {
    held = through_base(level, self);
    level.give(self, held);
  }
  if (!held.defined()) return level.give(self, tangent);
  if (tangent.defined())
    ops::copy_(held, tangent);
  else
    ops::zero_(held);
}

// The tangent laid out as the value, so that what is a view of one is a view of the other.
Tensor tangent_to_view(DualLayer& level, const Tensor& t) {
  const Tensor tangent = level.tangent(t);
  if (is_opaque(tangent) || is_opaque(t) || tangent.strides() == t.strides()) return tangent;
  Tensor copy =
      ops::new_empty_strided(tangent, t.sizes(), preserved_strides(t.sizes(), t.strides()));
  ops::copy_(copy, tangent);
  level.give(t, copy);
  return copy;
}

// A view of the value is the same view of the tangent.
void call_view(LayerCall& call, DualLayer& level) {
  NewCall same(call.op, call.form, call.args);
  same.set(0, tangent_to_view(level, call.args[0].tensor()));
  Results seen;
  same.run(seen);
  call.proceed();
  if (call.form == Form::Inplace) return;
  for (size_t i = 0; i < seen.tensors.size(); ++i)
    level.give(call.results.tensors[i], seen.tensors[i]);
}

// On a copy first, for the tangent; the change itself then draws the same numbers.
void call_inplace(LayerCall& call, DualLayer& level, bool random) {
  Generator before;
  if (random) before.copy_from(default_generator());
  Results changed;
  const TensorList tangents = push_forward(call, level, changed);
  if (random) default_generator().copy_from(before);
  call.proceed();
  write_tangent(level, call.args[0].tensor(), tangents[0]);
}

}  // namespace

DualLayer::~DualLayer() {
  std::vector<Tensor> dropped;  // they end when no carrier is looked at any more
  for (Tangents* carrier : carriers)
    for (Tangents::At& one : carrier->at)
      if (one.level == this) dropped.push_back(std::move(one.tangent));
  for (Tangents* carrier : carriers)
    std::erase_if(carrier->at, [this](const Tangents::At& one) { return one.level == this; });
}

Tensor DualLayer::tangent(const Tensor& t) const {
  if (!t->meta || !t->meta->tangents) return {};
  for (const Tangents::At& one : t->meta->tangents->at)
    if (one.level == this) return one.tangent;
  return {};
}

void DualLayer::give(const Tensor& t, const Tensor& tangent) {
  Tangents& all = tangents_of(t);
  std::erase_if(all.at, [this](const Tangents::At& one) { return one.level == this; });
  carriers.erase(&all);
  if (!tangent.defined()) return;
  all.at.push_back({this, tangent});
  carriers.insert(&all);
}

void DualLayer::call(LayerCall& call) {
  // What is inside a vmap that was entered later is seen below it.
  if (!enabled || !carries(call, *this) ||
      innermost_level(call.op, call.form, call.args) > vmaps_outside)
    return call.proceed();
  MSA_REQUIRE(call.form != Form::Out, Runtime, call.op.name,
              "(): functions with out=... arguments don't support automatic differentiation, but "
              "one of the arguments has a tangent; call it without out=");
  const BatchRow* row = batch_row(call.op);
  // A vmap runs these by their parts, which save what must have a tangent: they are seen instead.
  if (row && row->rule == BatchRule::Parts && call.form == Form::Function &&
      innermost_level(call.op, call.form, call.args) > 0)
    return call.proceed();
  const ActiveVmap active(vmaps_outside);
  const AutocastHidden cast_already;
  if (row && row->view) return call_view(call, *this);
  if (call.form == Form::Inplace) return call_inplace(call, *this, row && row->random);
  const TensorList tangents = push_forward(call, *this, call.results);
  for (size_t i = 0; i < tangents.size(); ++i)
    if (tangents[i].defined()) give(call.results.tensors[i], tangents[i]);
}

void Tangents::destroy(Tangents* t) {
  for (const At& one : t->at) one.level->carriers.erase(t);
  delete t;
}

void drop_tangents(Tangents* t) {
  if (--t->refs == 0) Tangents::destroy(t);
}

Tensor without_history(const Tensor& out) {
  Tensor bare = detach(out);
  if (out->meta && out->meta->tangents) share_tangents(bare, out);
  return bare;
}

Tensor fresh_input(const Tensor& t) { return fresh(t, true); }

bool tangents_open() { return !levels.empty(); }

void share_tangents(Tensor& alias, const Tensor& value) {
  Tangents& shared = tangents_of(value);
  AutogradMeta& meta = ensure_meta(alias.impl());
  if (meta.tangents == &shared) return;
  if (meta.tangents) drop_tangents(meta.tangents);
  meta.tangents = &shared;
  ++shared.refs;
}

int enter_dual_level() {
  levels.push_back(std::make_unique<DualLayer>());
  push_layer(levels.back().get());
  return dual_depth() - 1;
}

void leave_dual_level() {
  MSA_REQUIRE(!levels.empty(), Runtime,
              "Trying to exit a forward AD level but no level is open: enter one first");
  pop_layer(levels.back().get());
  levels.pop_back();
}

int dual_depth() { return static_cast<int>(levels.size()); }

void set_tangent(const Tensor& t, const Tensor& tangent, int level) { at(level).give(t, tangent); }

Tensor make_dual(const Tensor& primal, const Tensor& tangent, int level) {
  Tensor dual = primal_of(primal, level);
  set_tangent(dual, tangent, level);
  return dual;
}

Tensor tangent_of(const Tensor& t, int level) { return at(level).tangent(t); }

Tensor primal_of(const Tensor& t, int level) {
  const SeenBelow below(&at(level));
  return ops::alias(t);
}

bool tangents_enabled() { return enabled; }
void enable_tangents(bool on) { enabled = on; }

}  // namespace msa
