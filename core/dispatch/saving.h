// Rows whose kernels leave values for backward beside their results.
#pragma once
#include "core/dispatch/op_info.h"

namespace msa {

extern const OpInfo* const saving_table[];  // generated; null-terminated

}  // namespace msa
