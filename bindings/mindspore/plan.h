// How a row is served on a device of another package: its callables, its fences, and what was found
// of calls before.
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "bindings/common.h"
#include "bindings/mindspore/signature.h"

namespace msa::py {

// A callable that may serve a row. `function(*args)` as it is where all operands have the result's
// dtype; else, or where `direct` is false, `adapter(function, expected, *args)`.
struct Candidate {
  Owned path, function, adapter;
  bool direct = false, takes_empty = false, knows_shape = true;
  uint64_t served = 0;
};

// What was found of calls with one signature: the results that the rules say, and, where a callable
// gave one tensor without an adapter, how its elements lie, which is not asked again.
struct Known {
  Signature signature;
  Results expected;
  const Candidate* laid_out = nullptr;
  Layout layout;
};

// What a row does on the device, asked from Python at its first call.
struct Plan {
  bool storage = false;  // moves or makes bytes only: done in the shared memory
  bool drawn = false;    // its bytes are random numbers, of the generator's stream
  uint64_t fenced = 0;   // bits of dtypes that are kept from the callables
  bool fenced_empty = false, fenced_scalars = false;
  bool careful = false;  // not `direct` where an operand has what is_odd says
  std::vector<Candidate> candidates;
  std::set<std::pair<size_t, uint64_t>> refused;  // (candidate, dtypes) that raised TypeError
  uint64_t fallbacks = 0, draws = 0;
  std::vector<std::shared_ptr<Known>> known;  // the latest kKept
  size_t oldest = 0;

  static constexpr size_t kKept = 8;
  std::shared_ptr<Known> find(const Signature& signature) const {
    for (const auto& k : known)
      if (k->signature == signature) return k;
    return nullptr;
  }
  std::shared_ptr<Known> keep(const Signature& signature, const Results& expected) {
    auto made = std::make_shared<Known>(Known{signature, expected, nullptr, {}});
    if (known.size() < kKept) return known.emplace_back(std::move(made));
    oldest = (oldest + 1) % kKept;
    return known[oldest] = std::move(made);
  }
};

}  // namespace msa::py
