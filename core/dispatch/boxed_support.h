// What generated boxed calls need besides the operators.
#pragma once
#include <cmath>

#include "core/dispatch/op_info.h"

namespace msa::op_calls {

// `layout=` of factories: only strided tensors are made here.
inline void require_strided(const char* op, const Value& layout) {
  MSA_REQUIRE(
      layout.is_none() || layout.integer() == 0, NotImplemented, op,
      ": only layout=torch.strided is supported here; make a strided tensor and convert it");
}

}  // namespace msa::op_calls
