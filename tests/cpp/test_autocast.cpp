// Autocast: which inputs are cast, what is kept, and who else sees it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/autograd/meta.h"
#include "core/dispatch/autocast.h"
#include "core/dispatch/timeline.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_loss.h"
#include "generated/ops_nn.h"

using namespace msa;

namespace {

class Region {
 public:
  explicit Region(DType dtype) {
    autocast_of(DeviceKind::Cpu).dtype = dtype;
    set_autocast_enabled(DeviceKind::Cpu, true);
  }
  ~Region() {
    set_autocast_enabled(DeviceKind::Cpu, false);
    clear_autocast_cache();
  }
};

Tensor ones(DType dtype) { return ops::ones({2, 2}, dtype); }

}  // namespace

TEST_CASE("products are cast to the lower precision, losses to float32, others not at all") {
  const Tensor x = ones(DType::F32), half = ones(DType::BF16), wide = ones(DType::F64);
  for (DType lower : {DType::BF16, DType::F16}) {
    Region region(lower);
    CHECK(ops::mm(x, x).dtype() == lower);
    CHECK(ops::linear(x, half).dtype() == lower);
    CHECK(ops::mse_loss(half, half).dtype() == DType::F32);
    CHECK(ops::add(x, x).dtype() == DType::F32);
    CHECK(ops::mm(wide, wide).dtype() == DType::F64);
  }
  CHECK(ops::mm(x, x).dtype() == DType::F32);
  CHECK_FALSE(thread_state.layers_active);
}

TEST_CASE("joining takes the widest, and refuses the other half type") {
  Region region(DType::BF16);
  CHECK(ops::cat({ones(DType::F32), ones(DType::BF16)}).dtype() == DType::F32);
  CHECK(ops::cat({ones(DType::BF16), ones(DType::BF16)}).dtype() == DType::BF16);
  CHECK_THROWS_AS(ops::cat({ones(DType::F16), ones(DType::F32)}), Error);
}

TEST_CASE("in-place forms and out= keep the dtype that they write to") {
  Region region(DType::BF16);
  Tensor x = ones(DType::F32), out = ones(DType::F32);
  ops::mm_out(x, x, out);
  CHECK(out.dtype() == DType::F32);
  ops::addmm_(out, x, x);
  CHECK(out.dtype() == DType::F32);
}

TEST_CASE("a weight is cast once, with its gradient") {
  Tensor weight = ones(DType::F32);
  set_requires_grad(weight, true);
  Region region(DType::BF16);
  {
    GradMode off(false);
    ops::mm(weight, weight);
  }
  const Tensor y = ops::mm(weight, weight);
  CHECK(y.requires_grad());
  CHECK(gradient_edge(y).node->next[0].node == gradient_edge(y).node->next[1].node);
}

TEST_CASE("autocast is asked before layers that came later; they see its casts and the call") {
  const Tensor x = ones(DType::F32);
  Region region(DType::BF16);
  Timeline timeline;
  push_layer(&timeline);
  ops::mm(x, x);
  pop_layer(&timeline);
  std::vector<std::string> names;
  for (const TimedCall& call : timeline.calls) names.push_back(call.op->name);
  CHECK(names == std::vector<std::string>{"_to_copy", "_to_copy", "mm"});
}
