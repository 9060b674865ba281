// A recurrent layer as operators, step by step: what the fused layer does not take (half types,
// projections, other devices) and what it is differentiated by twice.
#pragma once
#include "core/rules/recurrence.h"
#include "core/tensor/tensor.h"

namespace msa {

// The weights of one layer in one direction; biases and projection (hr) may be undefined.
struct RecurrentWeights {
  Tensor ih, hh, bias_ih, bias_hh, hr;
};

// `cell` is undefined except for Lstm.
struct RecurrentState {
  Tensor hidden, cell;
};

struct RecurrentRun {
  Tensor output;
  RecurrentState last;
};

// `input` holds the rows of all steps one after another (StepOrder).
RecurrentRun recurrent_steps(const CellForm& form, const Tensor& input, const RecurrentState& first,
                             const RecurrentWeights& weights, const Dims& rows, bool backwards);

}  // namespace msa
