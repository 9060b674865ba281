// The kinds of recurrent networks, and how a step's values lie in memory: what rules, kernels,
// formulas and composed operators must agree on.
#pragma once
#include <string_view>

#include "core/base/error.h"
#include "core/base/small_vec.h"

namespace msa {

enum class Cell : uint8_t { Lstm, Gru, RnnTanh, RnnRelu };

// A step keeps blocks of `hidden_size` values side by side: the activated gates, then what else its
// backward needs.
//   Lstm: input, forget, candidate, output gate, new cell state
//   Gru: reset, update gate, candidate, what the hidden state adds to the candidate
//   Rnn: the new hidden state
struct CellForm {
  Cell cell;
  std::string_view name;
  int64_t gates;  // blocks that the weights make
  int64_t kept;   // blocks that a step keeps
};

inline const CellForm& cell_form(std::string_view mode) {
  static constexpr CellForm kForms[] = {{Cell::Lstm, "lstm", 4, 5},
                                        {Cell::Gru, "gru", 3, 4},
                                        {Cell::RnnTanh, "rnn_tanh", 1, 1},
                                        {Cell::RnnRelu, "rnn_relu", 1, 1}};
  for (const CellForm& form : kForms)
    if (form.name == mode) return form;
  fail(ErrorKind::Value, "recurrence: mode must be lstm, gru, rnn_tanh or rnn_relu, but got '",
       mode, "'.");
}

// The steps of one direction in the order in which they run. Step t's rows are those of the
// sequences that reach it, longest first.
struct StepOrder {
  StepOrder(const Dims& rows_, bool backwards_) : rows(rows_), backwards(backwards_) {
    for (int64_t n : rows) {
      first.push_back(total);
      total += n;
    }
  }
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  int64_t batch() const { return rows.empty() ? 0 : rows[0]; }
  size_t at(int64_t i) const { return static_cast<size_t>(backwards ? count() - 1 - i : i); }

  const Dims& rows;
  bool backwards;
  Dims first;  // where each step's rows start
  int64_t total = 0;
};

}  // namespace msa
