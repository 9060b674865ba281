// The pointwise part of one row's step in a recurrent layer, for each instruction set. How a step's
// values lie in memory: core/rules/recurrence.h.
#pragma once
#include <cstdint>

namespace msa::cpu {

// `gates` holds what input and hidden state add up to and becomes what the step keeps; the states
// move on in place.
template <class T>
struct CellForward {
  T *gates, *hidden, *cell;
  T* output;
};

// `of_hidden` and `of_cell` come as the gradients of the new states and go as those of the old
// ones, except for what flows through the recurrent weights.
template <class T>
struct CellBackward {
  const T* gates;          // as the step kept them
  const T *hidden, *cell;  // the states before the step
  const T* of_output;      // null: none
  T *of_hidden, *of_cell;
  T* of_gates;         // of what the input adds
  T* of_hidden_gates;  // of what the hidden state adds, where that differs (Gru)
};

// Indexed by Cell.
template <class T>
struct CellLoops {
  void (*forward[4])(const CellForward<T>& step, int64_t size);
  void (*backward[4])(const CellBackward<T>& step, int64_t size);
};

template <class T>
const CellLoops<T>& cell_loops();

}  // namespace msa::cpu
