// Batched tensors: how they are made and taken apart, and the vmaps that a thread is in.
#include "core/transforms/batched.h"

#include <vector>

#include "core/transforms/calls.h"
#include "generated/ops_view.h"

namespace msa {
namespace {

Ref<Storage> store(BatchedParts parts) {
  const auto kind = static_cast<int8_t>(innermost(parts.value).device().kind);
  auto* kept = new BatchedParts(std::move(parts));
  // No address, so that nothing reads elements; room for every layout of the value.
  return Storage::wrap(
      nullptr, SIZE_MAX, Device{kBatchedKind, kind},
      [](void* context) { delete static_cast<BatchedParts*>(context); }, kept);
}

thread_local std::vector<std::unique_ptr<VmapLayer>> vmaps;

}  // namespace

Tensor make_batched(const Tensor& value, int64_t dim, int level) {
  Layout layout{Dims(), Dims(), value.offset()};
  for (int64_t d = 0; d < value.dim(); ++d) {
    if (d == dim) continue;
    layout.sizes.push_back(value.sizes()[d]);
    layout.strides.push_back(value.strides()[d]);
  }
  Tensor t = from_storage(store({value, dim, level}), layout, value.dtype());
  t->own_version = Ref<VersionCounter>(new VersionCounter);
  t->wrapped_number = value->wrapped_number;
  return t;
}

Operand operand_at(const Tensor& t, int level) {
  if (!is_batched(t) || batched_parts(t).level != level) return {t};
  const BatchedParts& parts = batched_parts(t);
  const Tensor& value = parts.value;
  const bool shared = value.strides()[parts.dim] == 0 && value.sizes()[parts.dim] > 1 &&
                      value.numel() > 0 && vmap_at(level).randomness != Randomness::Different;
  return shared ? Operand{ops::select(value, parts.dim, 0)} : Operand{value, parts.dim};
}

Tensor in_front(const Operand& operand) {
  if (operand.dim <= 0) return operand.value;
  Dims order{operand.dim};
  for (int64_t d = 0; d < operand.value.dim(); ++d)
    if (d != operand.dim) order.push_back(d);
  return ops::permute(operand.value, order);
}

Tensor in_front(const Operand& operand, int64_t rank) {
  Tensor t = in_front(operand);
  const int64_t at = operand.batched() ? 1 : 0, missing = rank - (t.dim() - at);
  if (!operand.batched() || missing <= 0) return t;
  for (int64_t i = 0; i < missing; ++i) t = ops::unsqueeze(t, 1);
  return t;
}

Tensor over_batch(const Operand& operand, int64_t size) {
  if (operand.batched()) return in_front(operand);
  Dims sizes{size};
  for (int64_t s : operand.value.sizes()) sizes.push_back(s);
  return ops::_expand(operand.value, sizes);
}

void enter_vmap(int64_t size, Randomness randomness) {
  vmaps.push_back(
      std::make_unique<VmapLayer>(VmapLevel{size, randomness, static_cast<int>(vmaps.size()) + 1}));
  push_layer(vmaps.back().get());
  ActiveVmap::now = vmap_depth();
}

void leave_vmap() {
  MSA_REQUIRE(!vmaps.empty(), Runtime, "vmap: there is none to leave");
  pop_layer(vmaps.back().get());
  vmaps.pop_back();
  ActiveVmap::now = vmap_depth();
}

int vmap_depth() { return static_cast<int>(vmaps.size()); }

const VmapLevel& vmap_at(int level) { return layer_of_vmap(level).level_info; }

const VmapLayer& layer_of_vmap(int level) {
  MSA_REQUIRE(level >= 1 && level <= vmap_depth(), Runtime,
              "a batched tensor left the vmap that made it: return it from the function instead");
  return *vmaps[static_cast<size_t>(level) - 1];
}

Tensor in_active_vmap(const Tensor& t) {
  const int level = ActiveVmap::now;
  if (level == 0 || (is_batched(t) && batched_parts(t).level == level)) return t;
  const int64_t size = vmap_at(level).size;
  const BelowVmap below(level);
  return make_batched(over_batch({t}, size), 0, level);
}

thread_local int ActiveVmap::now = 0;

BelowVmap::BelowVmap(int level)
    : below_(&layer_of_vmap(level)), before_(std::exchange(ActiveVmap::now, level - 1)) {}
BelowVmap::~BelowVmap() { ActiveVmap::now = before_; }

void refuse_reading(const Tensor& t) {
  if (!is_batched(t)) return;
  throw BatchRefusal(
      "vmap: It looks like you're calling .item() on a Tensor, or using one in some data-dependent "
      "control flow: a tensor under vmap has a value for each example; express it with "
      "torch.where, or map with a loop");
}

}  // namespace msa
