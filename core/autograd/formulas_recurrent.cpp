// The gradient of a recurrent layer: steps in one kernel and the weights' in one product each;
// where it is differentiated again, through the layer's own operators.
#include "core/autograd/engine.h"
#include "core/autograd/formulas.h"
#include "core/autograd/meta.h"
#include "core/composed/recurrent.h"
#include "generated/ops_linalg.h"
#include "generated/ops_recurrent.h"
#include "generated/ops_reduce.h"
#include "generated/ops_view.h"

namespace msa::formulas {
namespace {

using Seven = std::array<Tensor, 7>;  // as the row's inputs: input, states, weights, biases

// Runs the layer again from aliases of its inputs, and that graph backwards into them. Without
// aliases the pass would go on into the history that the inputs may have in common.
Seven through_operators(const Grads& grads, Seven inputs, std::string_view mode, const Dims& rows,
                        bool backwards, const std::array<bool, 7>& needs) {
  std::vector<Edge> roots, wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!needs[i]) continue;
    inputs[i] = ops::view(inputs[i], inputs[i].sizes());
    wanted.push_back(gradient_edge(inputs[i]));
  }
  const auto& [input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh] = inputs;
  const RecurrentRun run =
      recurrent_steps(cell_form(mode), input, {hidden, cell},
                      {weight_ih, weight_hh, bias_ih, bias_hh, {}}, rows, backwards);
  const Tensor* const results[] = {&run.output, &run.last.hidden, &run.last.cell};
  std::vector<Tensor> arriving;
  for (size_t i = 0; i < 3; ++i) {
    if (!grads[i].defined() || !results[i]->defined()) continue;
    roots.push_back(gradient_edge(*results[i]));
    arriving.push_back(grads[i]);
  }
  const std::vector<Tensor> found = run_backward(
      roots, arriving, wanted, {.keep_graph = true, .create_graph = true, .accumulate = false});
  Seven result;
  for (size_t i = 0, next = 0; i < result.size(); ++i)
    if (needs[i]) result[i] = found[next++];
  return result;
}

}  // namespace

RecurrentGrads recurrence_backward(const Grads& grads, const Tensor& input, const Tensor& hidden,
                                   const Tensor& cell, const Tensor& weight_ih,
                                   const Tensor& weight_hh, const Tensor& bias_ih,
                                   const Tensor& bias_hh, const Tensor& output, const Tensor& gates,
                                   std::string_view mode, const Dims& rows, bool backwards,
                                   const std::array<bool, 7>& needs) {
  if (thread_state.grad_enabled)
    return std::tuple_cat(
        through_operators(grads, {input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh},
                          mode, rows, backwards, needs));
  const auto [of_gates, apart, of_hidden, of_cell, previous] = ops::_recurrence_backward(
      grads[0], grads[1], grads[2], hidden, cell, weight_hh, output, gates, mode, rows, backwards);
  const Tensor& of_hidden_gates = cell_form(mode).cell == Cell::Gru ? apart : of_gates;
  const auto weight_grad = [](const Tensor& of_sum, const Tensor& rows_in) {
    return ops::mm(ops::transpose(of_sum, 0, 1), rows_in);
  };
  const Tensor of_bias_ih = needs[5] ? ops::sum_dim(of_gates, Dims{0}) : Tensor();
  const bool same = needs[5] && &of_hidden_gates == &of_gates;
  Tensor of_bias_hh;
  if (needs[6]) of_bias_hh = same ? of_bias_ih : ops::sum_dim(of_hidden_gates, Dims{0});
  return {needs[0] ? ops::mm(of_gates, weight_ih) : Tensor(),
          needs[1] ? of_hidden : Tensor(),
          needs[2] ? of_cell : Tensor(),
          needs[3] ? weight_grad(of_gates, input) : Tensor(),
          needs[4] ? weight_grad(of_hidden_gates, previous) : Tensor(),
          of_bias_ih,
          of_bias_hh};
}

}  // namespace msa::formulas
