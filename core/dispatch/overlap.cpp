// Checks of shared memory, by the same rules as PyTorch's.
#include "core/dispatch/overlap.h"

namespace msa {
namespace {

constexpr const char* kWayOut =
    " a single memory location. Please clone() the tensor before performing the operation.";

struct Extent {
  const char *begin, *end;
};

Extent extent_of(const Tensor& t) {
  auto* begin = static_cast<const char*>(t.data());
  return {begin, begin + t.numel() * static_cast<int64_t>(t.item_bytes())};
}

bool meet(const Tensor& out, const Tensor& input) {
  if (!out.same_storage(input) || !out.numel() || !input.numel()) return false;
  if (!is_dense(out.sizes(), out.strides()) || !is_dense(input.sizes(), input.strides()))
    return false;
  Extent o = extent_of(out), i = extent_of(input);
  return o.end > i.begin && i.end > o.begin;
}

[[noreturn]] void fail_overlap(std::string_view op) {
  fail(ErrorKind::Runtime, op,
       ": unsupported operation: some elements of the input tensor and the written-to tensor "
       "refer to",
       kWayOut);
}

}  // namespace

void check_no_repeats(std::string_view op, const Tensor& out) {
  MSA_REQUIRE(!is_expanded(out.sizes(), out.strides()) || out.numel() == 0, Runtime, op,
              ": unsupported operation: more than one element of the written-to tensor refers to",
              kWayOut);
}

void check_no_overlap(std::string_view op, const Tensor& out, const Tensor& input) {
  if (out.impl() == input.impl() || !meet(out, input)) return;
  Extent o = extent_of(out), i = extent_of(input);
  if (o.begin != i.begin || o.end != i.end || out.strides() != input.strides()) fail_overlap(op);
}

void check_disjoint(std::string_view op, const Tensor& out, const Tensor& input) {
  if (input.defined() && meet(out, input)) fail_overlap(op);
}

}  // namespace msa
