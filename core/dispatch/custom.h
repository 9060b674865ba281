// Rows that are added while the program runs: custom operators, in Python or in users' C++.
//
// Layers and modes see them as they see the registry's.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/dispatch/layers.h"

namespace msa {

inline constexpr size_t kCustomRows = 1024;

// A row and all that its OpInfo points to.
struct CustomRow {
  std::string name, overload, schema;
  std::deque<std::string> texts;       // parameters' names, and defaults that are strings
  std::deque<std::string_view> words;  // the latter as values
  std::deque<Dims> lists;              // defaults that are lists
  std::vector<Param> params;
  std::function<void(const Value* args, Results& results)> body;  // below the layers
  OpInfo info{};
};

// Lives as long as the process. Raises when there are kCustomRows.
const OpInfo& add_custom_row(std::unique_ptr<CustomRow> row, int n_positional);
// What a call from outside does: through the layers, if any.
void call_custom(const OpInfo& op, const Value* args, Results& results);

}  // namespace msa
