// Shape rules of recurrent layers.
#include "core/rules/recurrence.h"
#include "core/rules/rules.h"
#include "generated/rules_recurrent.h"

namespace msa::rules {
namespace {

void require_matrix(std::string_view op, const char* name, const Tensor& t, int64_t rows,
                    int64_t columns) {
  const bool fits = t.dim() == 2 && t.size(0) == rows && t.size(1) == columns;
  MSA_REQUIRE(fits, Runtime, op, ": ", name, " must have the shape ", DimsView(Dims{rows, columns}),
              ", but has ", DimsView(t.sizes()), ".");
}

void require_bias(std::string_view op, const char* name, const Tensor& t, int64_t count) {
  MSA_REQUIRE(!t.defined() || (t.dim() == 1 && t.size(0) == count), Runtime, op, ": ", name,
              " must have the shape ", DimsView(Dims{count}), ", but has ",
              DimsView(t.defined() ? t.sizes() : Dims()), ".");
}

}  // namespace

std::array<OutSpec, 4> recurrence(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                                  const Tensor& weight_ih, const Tensor& weight_hh,
                                  const Tensor& bias_ih, const Tensor& bias_hh,
                                  std::string_view mode, const Dims& rows, bool backwards) {
  const CellForm& form = cell_form(mode);
  const StepOrder steps(rows, backwards);
  MSA_REQUIRE(weight_hh.dim() == 2 && input.dim() == 2, Runtime, mode,
              ": input and weight_hh must be matrices, but have the shapes ",
              DimsView(input.sizes()), " and ", DimsView(weight_hh.sizes()), ".");
  const int64_t size = weight_hh.size(1), gates = form.gates * size;
  require_matrix(mode, "weight_hh", weight_hh, gates, size);
  require_matrix(mode, "weight_ih", weight_ih, gates, input.size(1));
  require_bias(mode, "bias_ih", bias_ih, gates);
  require_bias(mode, "bias_hh", bias_hh, gates);
  require_matrix(mode, "input", input, steps.total, weight_ih.size(1));
  require_matrix(mode, "the hidden state", hidden, steps.batch(), size);
  if (cell.defined()) require_matrix(mode, "the cell state", cell, steps.batch(), size);
  const DType dtype = input.dtype();
  return {OutSpec{{steps.total, size}, dtype}, OutSpec{{steps.batch(), size}, dtype},
          OutSpec{cell.defined() ? cell.sizes() : Dims{0}, dtype},
          OutSpec{{steps.total, form.kept * size}, dtype}};
}

std::array<OutSpec, 5> recurrence_backward(const Tensor&, const Tensor&, const Tensor&,
                                           const Tensor& hidden, const Tensor& cell,
                                           const Tensor& weight_hh, const Tensor& output,
                                           const Tensor&, std::string_view mode, const Dims&,
                                           bool) {
  const DType dtype = output.dtype();
  const Dims gates{output.size(0), weight_hh.size(0)};
  return {OutSpec{gates, dtype},
          OutSpec{cell_form(mode).cell == Cell::Gru ? gates : Dims{0}, dtype},
          OutSpec{hidden.sizes(), dtype}, OutSpec{cell.defined() ? cell.sizes() : Dims{0}, dtype},
          OutSpec{output.sizes(), dtype}};
}

}  // namespace msa::rules
