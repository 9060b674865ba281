// The backward engine on hand-made nodes: order, hooks, selective and nested passes, deep graphs.
#include <doctest/doctest.h>

#include <functional>

#include "core/autograd/accumulate.h"
#include "core/autograd/engine.h"
#include "core/autograd/saved.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_view.h"

using namespace msa;

namespace {

int live_nodes = 0;

// Multiplies the gradient of each input by a factor; tells when it ran.
struct ScaleNode final : Node {
  ScaleNode(std::vector<double> factors, std::function<void(ScaleNode*)> ran = {})
      : factors(std::move(factors)), ran(std::move(ran)) {
    ++live_nodes;
  }
  ~ScaleNode() override { --live_nodes; }
  const char* name() const override { return "ScaleBackward"; }
  void apply(Grads& in, Grads& out) override {
    if (ran) ran(this);
    for (size_t i = 0; i < out.size(); ++i)
      if (wants(i)) out[i] = ops::mul(in[0], wrapped_number(factors[i]));
  }
  std::vector<double> factors;
  std::function<void(ScaleNode*)> ran;
};

struct CallHook final : Hook {
  explicit CallHook(std::function<void(Grads&)> f) : f(std::move(f)) {}
  void call(Grads& grads) override { f(grads); }
  std::function<void(Grads&)> f;
};

Tensor filled(std::initializer_list<float> values, bool requires_grad = false) {
  Tensor t = empty(Dims{static_cast<int64_t>(values.size())}, DType::F32);
  std::copy(values.begin(), values.end(), t.data<float>());
  if (requires_grad) set_requires_grad(t, true);
  return t;
}

std::vector<float> values(const Tensor& t) {
  return {t.data<float>(), t.data<float>() + t.numel()};
}

// A tensor whose history scales its inputs.
Tensor scale(std::vector<Tensor> inputs, std::vector<double> factors,
             std::function<void(ScaleNode*)> ran = {}) {
  Tensor out = filled({0, 0});
  Ref<Node> node(new ScaleNode(std::move(factors), std::move(ran)));
  for (Tensor& t : inputs) node->next.push_back(gradient_edge(t));
  set_history(out, node);
  return out;
}

void backward(const Tensor& root, BackwardOptions options = {}) {
  const Edge edge = gradient_edge(root);
  run_backward({&edge, 1}, {filled({1, 1})}, {}, options);
}

std::vector<Tensor> gradients(const Tensor& root, std::vector<Tensor> inputs, bool keep = false) {
  const Edge edge = gradient_edge(root);
  std::vector<Edge> edges;
  for (Tensor& t : inputs) edges.push_back(gradient_edge(t));
  return run_backward({&edge, 1}, {filled({1, 1})}, edges,
                      {.keep_graph = keep, .accumulate = false});
}

}  // namespace

TEST_CASE("gradients of several uses are summed, and again over passes") {
  Tensor x = filled({1, 2}, true);
  Tensor y = scale({x, x}, {2, 3});
  backward(y);
  CHECK(values(x->meta->grad) == std::vector<float>{5, 5});
  TensorImpl* grad = x->meta->grad.impl();
  backward(y);
  CHECK(values(x->meta->grad) == std::vector<float>{10, 10});
  CHECK(x->meta->grad.impl() == grad);
}

TEST_CASE("later nodes run first, and a node waits for all of its users") {
  Tensor x = filled({1, 2}, true);
  std::vector<int> order;
  auto note = [&](int i) { return [&order, i](ScaleNode*) { order.push_back(i); }; };
  Tensor a = scale({x}, {1}, note(0));
  Tensor b = scale({a}, {1}, note(1));
  Tensor c = scale({a}, {1}, note(2));
  Tensor d = scale({b, c, a}, {1, 1, 1}, note(3));
  backward(d);
  CHECK(order == std::vector<int>{3, 2, 1, 0});
  CHECK(values(x->meta->grad) == std::vector<float>{3, 3});
}

TEST_CASE("the accumulator is made once and neither leaks nor dies with its leaf") {
  Tensor x = filled({1, 2}, true);
  Node* first = accumulator_of(x.impl()).get();
  CHECK(accumulator_of(x.impl()).get() == first);
  Tensor y = scale({x}, {2});
  CHECK(x->refs == 2);
  x = Tensor();
  backward(y);  // the graph kept the leaf
  y = Tensor();
  CHECK(live_nodes == 0);
}

TEST_CASE("only what leads to the inputs runs; hooks see gradients on the way") {
  Tensor x = filled({1, 2}, true), w = filled({1, 1}, true);
  int w_path = 0, hook_calls = 0;
  Tensor a = scale({x}, {2});
  Tensor b = scale({w}, {1}, [&](ScaleNode*) { ++w_path; });
  Tensor c = scale({a, b}, {3, 5});
  add_hook(hook_target(a)->ensure_hooks().tensor, Ref<Hook>(new CallHook([&](Grads& g) {
             ++hook_calls;
             g[0] = ops::mul(g[0], wrapped_number(10.0));
           })),
           a->meta->output_nr);
  auto grads = gradients(c, {x}, true);
  CHECK(values(grads[0]) == std::vector<float>{60, 60});
  CHECK(w_path == 0);
  CHECK(hook_calls == 1);
  CHECK(!x->meta->grad.defined());
  CHECK(!gradients(b, {x})[0].defined());  // not reached
}

TEST_CASE("retain_grad fills .grad of a non-leaf after its hooks, and lets it die") {
  Tensor x = filled({1, 2}, true);
  Tensor a = scale({x}, {2});
  retain_grad(a);
  Tensor b = scale({a}, {3});
  backward(b);
  CHECK(values(a->meta->grad) == std::vector<float>{3, 3});
  a = Tensor();
  backward(b);
  CHECK(values(x->meta->grad) == std::vector<float>{12, 12});
}

TEST_CASE("a nested pass over nodes of the outer one leaves the outer one intact") {
  Tensor x = filled({1, 2}, true);
  Tensor a = scale({x}, {2});
  std::vector<float> inner;
  Tensor b = scale({a, a}, {3, 4}, [&](ScaleNode*) { inner = values(gradients(a, {x}, true)[0]); });
  Tensor c = scale({b, a}, {1, 1});
  backward(c, {.keep_graph = true});
  CHECK(inner == std::vector<float>{2, 2});
  CHECK(values(x->meta->grad) == std::vector<float>{16, 16});
}

TEST_CASE("an error leaves no gradient behind in the graph") {
  Tensor x = filled({1, 2}, true);
  bool broken = true;
  Tensor a = scale({x}, {2}, [&](ScaleNode*) {
    if (broken) fail(ErrorKind::Runtime, "broken");
  });
  Tensor b = scale({a, x}, {3, 1});
  CHECK_THROWS_AS(backward(b), Error);
  CHECK(gradient_edge(x).node->incoming.empty());
  x->meta->grad = Tensor();
  broken = false;
  backward(b);
  CHECK(values(x->meta->grad) == std::vector<float>{7, 7});
}

TEST_CASE("gradients are summed to a broadcast input; a wrong shape is refused by name") {
  Tensor one = filled({1}, true);
  backward(scale({one}, {2}));
  CHECK(values(one->meta->grad) == std::vector<float>{4});
  Tensor three = filled({1, 2, 3}, true);
  CHECK_THROWS_WITH_AS(
      backward(scale({three}, {1})),
      "Function ScaleBackward returned an invalid gradient at index 0 - got (2,) but expected "
      "shape compatible with (3,)",
      Error);
}

TEST_CASE("a buffer that the graph alone holds becomes .grad; a shared one is copied") {
  Tensor x = filled({1, 2}, true), y = filled({1, 2}, true);
  Tensor a = ops::add(x, y);  // both receive the very same gradient
  backward(a);
  CHECK(x->meta->grad.data() != y->meta->grad.data());
}

TEST_CASE("post-accumulate hooks see the leaf, and may remove themselves") {
  Tensor x = filled({1, 2}, true);
  NodeHooks& hooks = accumulator_of(x.impl())->ensure_hooks();
  int calls = 0;
  uint64_t id = add_hook(hooks.post_accumulate, Ref<Hook>(new CallHook([&](Grads& leaf) {
                           ++calls;
                           CHECK(leaf[0].impl() == x.impl());
                           remove_hook(hooks, id);
                         })));
  Tensor y = scale({x}, {2});
  backward(y);
  backward(y);
  CHECK(calls == 1);
}

TEST_CASE("a chain of a million nodes is run and freed without recursion") {
  Tensor x = filled({1, 2}, true);
  {
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = scale({y}, {1});
    backward(y);
  }
  CHECK(values(x->meta->grad) == std::vector<float>{1, 1});
  CHECK(live_nodes == 0);
}

TEST_CASE("a saved tensor complains when changed since, and when freed") {
  Tensor x = filled({1, 2}, true);
  SavedTensor saved(x);
  CHECK(saved.unpack(nullptr).impl() == x.impl());
  x.bump_version();
  CHECK_THROWS_WITH_AS(saved.unpack(nullptr),
                       doctest::Contains("is at version 1; expected version 0"), Error);
  saved.reset();
  CHECK_THROWS_WITH_AS(saved.unpack(nullptr),
                       doctest::Contains("backward through the graph a second time"), Error);
}

TEST_CASE("in-place changes follow PyTorch's rules") {
  Tensor leaf = filled({1, 2}, true), other = filled({3, 4}, true);
  CHECK_THROWS_WITH_AS(ops::mul_(leaf, other),
                       doctest::Contains("a leaf Variable that requires grad"), Error);
  Tensor view = ops::select(leaf, 0, 0);
  CHECK_THROWS_WITH_AS(ops::mul_(view, filled({2})), doctest::Contains("a view of a leaf Variable"),
                       Error);
  Tensor parts = ops::unbind(ops::mul(leaf, other))[0];
  CHECK_THROWS_WITH_AS(ops::mul_(parts, parts), doctest::Contains("Output 0 of"), Error);
}

TEST_CASE("a change through a view reaches the base and its other views") {
  Tensor w = filled({5}, true), base = filled({1, 2});
  Tensor first = ops::slice(base, 0, 0, 1), second = ops::slice(base, 0, 1, 2);
  ops::mul_(first, w);
  CHECK(base.requires_grad());
  CHECK(second.requires_grad());
  CHECK(std::string(grad_fn(base)->name()).ends_with("CopySlices"));
  CHECK(std::string(grad_fn(first)->name()) == "AsStridedBackward0");
  backward(base);
  CHECK(values(w->meta->grad) == std::vector<float>{1});
}
