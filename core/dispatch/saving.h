// Rows whose kernels leave values for backward beside their results, and rows shaped by data.
#pragma once
#include "core/dispatch/op_info.h"

namespace msa {

struct SavingRow {
  const OpInfo* op = nullptr;
  const Boxed* call = nullptr;  // runs the kernel on built-in devices and gives what it leaves too
  size_t n_saved = 0;           // so many values it leaves, after its results
};
extern const SavingRow saving_table[];  // generated; the last has no op

// Rows whose results have shapes that depend on data; the last is null.
extern const OpInfo* const data_shaped_rows[];  // generated

inline const SavingRow* saving_row(const OpInfo& op) {
  for (const SavingRow* row = saving_table; row->op; ++row)
    if (row->op == &op) return row;
  return nullptr;
}

}  // namespace msa
