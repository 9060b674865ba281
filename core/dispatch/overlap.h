// What memory operators may write: refuses what would make the result depend on the order of the
// writes.
#pragma once
#include "core/tensor/tensor.h"

namespace msa {

// Raises where several elements of `out` are one place in memory (an expanded tensor).
void check_no_repeats(std::string_view op, const Tensor& out);
// Raises where `input` shares some of `out`'s memory but is not exactly it. Tensors with gaps pass:
// whether their elements meet cannot be told cheaply.
void check_no_overlap(std::string_view op, const Tensor& out, const Tensor& input);

// Raises where `input`, which is read while `out` is written, shares any of its memory.
void check_disjoint(std::string_view op, const Tensor& out, const Tensor& input);

}  // namespace msa
