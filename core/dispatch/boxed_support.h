// What generated boxed calls need besides the operators.
#pragma once
#include <cmath>

#include "core/dispatch/op_info.h"

namespace msa::op_calls {

// `layout=` of factories: what was made is converted to a sparse one (core/sparse).
void to_layout(const Value& layout, Results& made);

}  // namespace msa::op_calls
