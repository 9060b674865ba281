// Layers: who sees which call, and what a layer may do with it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/autograd/meta.h"
#include "core/dispatch/layers.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_shape.h"

using namespace msa;

namespace {

// Writes down the operators that it sees; does with each what `act` says.
struct Watch final : Layer {
  explicit Watch(
      Level seen, void (*act)(LayerCall&) = [](LayerCall& call) { call.proceed(); })
      : seen(seen), act(act) {
    push_layer(this);
  }
  ~Watch() override { pop_layer(this); }
  Level level() const override { return seen; }
  void call(LayerCall& call) override {
    names.push_back(call.op.name);
    act(call);
  }
  Level seen;
  void (*act)(LayerCall&);
  std::vector<std::string> names;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a layer sees what the user wrote, or what runs") {
  const Tensor x = ops::ones({2, 3});
  Watch written(Layer::Level::Outermost);
  Watch running(Layer::Level::Innermost);
  const Tensor y = ops::flatten(x);  // composed of reshape and view
  CHECK(y.sizes() == Dims{6});
  CHECK(written.names == Names{"flatten"});
  CHECK(running.names == Names{"view"});
}

TEST_CASE("a layer may run a call twice, or answer it itself") {
  const Tensor x = ops::ones({3});
  {
    Watch twice(Layer::Level::Innermost, [](LayerCall& call) {
      call.proceed();
      call.results = Results();
      call.proceed();
    });
    CHECK(ops::add(x, x).data<float>()[2] == 2);
  }
  Watch zero(Layer::Level::Innermost,
             [](LayerCall& call) { call.results.set(call.args[0].tensor()); });
  CHECK(ops::add(x, x).data<float>()[2] == 1);
}

TEST_CASE("what a layer calls is seen by those below it only") {
  const Tensor x = ops::ones({2});
  Watch below(Layer::Level::Innermost);
  Watch above(Layer::Level::Innermost, [](LayerCall& call) {
    ops::neg(call.args[0].tensor());
    call.proceed();
  });
  ops::exp(x);
  CHECK(above.names == Names{"exp"});
  CHECK(below.names == Names{"neg", "exp"});
}

TEST_CASE("in-place and out= forms pass through layers; gradients are recorded below them") {
  Tensor x = ops::ones({2}), out = ops::zeros({2});
  set_requires_grad(x, true);
  Watch watch(Layer::Level::Innermost);
  const Tensor y = ops::mul(x, x);
  CHECK(y.requires_grad());
  Tensor z = detach(y);
  ops::add_(z, out);
  ops::add_out(z, z, 1, out);
  CHECK(out.data<float>()[0] == 2);
  CHECK(watch.names == Names{"mul", "add", "add"});
}

TEST_CASE("an error inside a layer leaves the stack as it was") {
  const Tensor x = ops::ones({2}), y = ops::ones({3});
  Watch watch(Layer::Level::Innermost);
  CHECK_THROWS_AS(ops::add(x, y), Error);
  ops::neg(x);
  CHECK(watch.names == Names{"add", "neg"});
  CHECK_THROWS_AS(pop_layer(nullptr), Error);
}
