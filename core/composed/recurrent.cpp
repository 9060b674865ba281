// Recurrent networks: layers and directions over padded and packed sequences, and single cells.
#include "core/composed/recurrent.h"

#include "generated/composed_recurrent.h"
#include "generated/ops_activation.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_random.h"
#include "generated/ops_recurrent.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa {
namespace {

Tensor logistic_of_sum(const Tensor& a, const Tensor& b) { return ops::sigmoid(ops::add(a, b)); }

// One step from what input and hidden state add to the gates.
RecurrentState step(const CellForm& form, const Tensor& from_input, const Tensor& from_hidden,
                    const RecurrentState& state) {
  switch (form.cell) {
    case Cell::Lstm: {
      const TensorList gate = ops::chunk(ops::add(from_input, from_hidden), 4, -1);
      const Tensor cell = ops::add(ops::mul(ops::sigmoid(gate[1]), state.cell),
                                   ops::mul(ops::sigmoid(gate[0]), ops::tanh(gate[2])));
      return {ops::mul(ops::sigmoid(gate[3]), ops::tanh(cell)), cell};
    }
    case Cell::Gru: {
      const TensorList x = ops::chunk(from_input, 3, -1), h = ops::chunk(from_hidden, 3, -1);
      const Tensor reset = logistic_of_sum(x[0], h[0]), update = logistic_of_sum(x[1], h[1]);
      const Tensor candidate = ops::tanh(ops::add(x[2], ops::mul(reset, h[2])));
      return {ops::add(ops::mul(ops::sub(state.hidden, candidate), update), candidate), {}};
    }
    case Cell::RnnTanh:
      return {ops::tanh(ops::add(from_input, from_hidden)), {}};
    case Cell::RnnRelu:
      return {ops::relu(ops::add(from_input, from_hidden)), {}};
  }
  fail(ErrorKind::Runtime, "recurrence: a cell of no kind");
}

template <class F>
RecurrentState mapped(const RecurrentState& s, F&& f) {
  return {f(s.hidden), s.cell.defined() ? f(s.cell) : Tensor()};
}
template <class F>
RecurrentState mapped(const RecurrentState& a, const RecurrentState& b, F&& f) {
  return {f(a.hidden, b.hidden), a.cell.defined() ? f(a.cell, b.cell) : Tensor()};
}

RecurrentState rows_of(const RecurrentState& s, int64_t begin, int64_t count) {
  if (begin == 0 && count == s.hidden.size(0)) return s;
  return mapped(s, [&](const Tensor& t) { return ops::narrow(t, 0, begin, count); });
}
RecurrentState joined(const RecurrentState& a, const RecurrentState& b) {
  return mapped(a, b, [](const Tensor& x, const Tensor& y) { return ops::cat({x, y}, 0); });
}

}  // namespace

RecurrentRun recurrent_steps(const CellForm& form, const Tensor& input, const RecurrentState& first,
                             const RecurrentWeights& weights, const Dims& rows, bool backwards) {
  const StepOrder steps(rows, backwards);
  const TensorList from_input =
      ops::split_with_sizes(ops::linear(input, weights.ih, weights.bias_ih), rows, 0);
  TensorList outputs(rows.size());
  RecurrentState state = first;
  for (int64_t i = 0; i < steps.count(); ++i) {
    const size_t t = steps.at(i);
    const RecurrentState running = rows_of(state, 0, rows[t]);
    RecurrentState next = step(form, from_input[t],
                               ops::linear(running.hidden, weights.hh, weights.bias_hh), running);
    if (weights.hr.defined()) next.hidden = ops::linear(next.hidden, weights.hr);
    outputs[t] = next.hidden;
    const int64_t waiting = steps.batch() - rows[t];  // ended, or not begun yet
    state = waiting == 0 ? next : joined(next, rows_of(state, rows[t], waiting));
  }
  return {ops::cat(outputs, 0), state};
}

namespace {

struct Network {
  const CellForm& form;
  const TensorList& params;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t runs() const { return layers * directions(); }
  size_t per_run() const { return params.size() / static_cast<size_t>(runs()); }

  void check() const {
    const size_t least = has_biases ? 4 : 2, given = params.size();
    const size_t wanted = static_cast<size_t>(runs()) * least;
    const bool projected = form.cell == Cell::Lstm && given == wanted + static_cast<size_t>(runs());
    MSA_REQUIRE(layers > 0, Runtime, form.name, ": num_layers must be positive, but is ", layers,
                ".");
    MSA_REQUIRE(given == wanted || projected, Runtime, form.name, ": expected ", wanted,
                " params, ", least, " for each layer and direction, but got ", given, ".");
  }

  RecurrentWeights weights(int64_t run) const {
    const auto from = static_cast<size_t>(run) * per_run();
    const size_t least = has_biases ? 4 : 2;
    RecurrentWeights w{params[from], params[from + 1], {}, {}, {}};
    if (has_biases) {
      w.bias_ih = params[from + 2];
      w.bias_hh = params[from + 3];
    }
    if (per_run() > least) w.hr = params[from + least];
    return w;
  }
};

// Whether the fused layer takes it: real numbers of one dtype on cpu, without projection.
bool fused(const Tensor& input, const RecurrentState& first, const RecurrentWeights& w) {
  const DType dtype = input.dtype();
  const bool here = input.device().is_cpu() || input.device().is_meta();
  if (!here || w.hr.defined() || (dtype != DType::F32 && dtype != DType::F64)) return false;
  for (const Tensor* t : {&first.hidden, &first.cell, &w.ih, &w.hh, &w.bias_ih, &w.bias_hh})
    if (t->defined() && (t->dtype() != dtype || t->device() != input.device())) return false;
  return true;
}

RecurrentRun run_layer(const CellForm& form, const Tensor& input, const RecurrentState& first,
                       const RecurrentWeights& w, const Dims& rows, bool backwards) {
  if (!fused(input, first, w)) return recurrent_steps(form, input, first, w, rows, backwards);
  auto [output, hidden, cell] = ops::_recurrence(input, first.hidden, first.cell, w.ih, w.hh,
                                                 w.bias_ih, w.bias_hh, form.name, rows, backwards);
  return {output, {hidden, first.cell.defined() ? cell : Tensor()}};
}

// All layers; the states are (layers times directions, N, size).
RecurrentRun run_network(const Network& net, Tensor data, const RecurrentState& first,
                         const Dims& rows) {
  net.check();
  MSA_REQUIRE(!rows.empty(), Runtime, net.form.name,
              ": expected a sequence of at least one step, but it has none.");
  TensorList hidden, cell;
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    TensorList outputs;
    for (int64_t direction = 0; direction < net.directions(); ++direction) {
      const int64_t run = layer * net.directions() + direction;
      const RecurrentState start =
          mapped(first, [&](const Tensor& t) { return ops::select(t, 0, run); });
      const RecurrentRun done =
          run_layer(net.form, data, start, net.weights(run), rows, direction == 1);
      outputs.push_back(done.output);
      hidden.push_back(done.last.hidden);
      cell.push_back(done.last.cell);
    }
    data = outputs.size() == 1 ? outputs[0] : ops::cat(outputs, -1);
    if (net.train && net.dropout > 0 && layer + 1 < net.layers)
      data = ops::dropout(data, net.dropout, true);
  }
  return {data, {ops::stack(hidden, 0), first.cell.defined() ? ops::stack(cell, 0) : Tensor()}};
}

void require_states(const Network& net, const RecurrentState& first, int64_t batch) {
  for (const Tensor* t : {&first.hidden, &first.cell}) {
    if (!t->defined()) continue;
    const bool fits = t->dim() == 3 && t->size(0) == net.runs() && t->size(1) == batch;
    MSA_REQUIRE(fits, Runtime, net.form.name, ": expected a first state of shape (", net.runs(),
                ", ", batch, ", size), but got ", DimsView(t->sizes()), ".");
  }
}

RecurrentRun over_padded(const Network& net, const Tensor& input, const RecurrentState& first,
                         bool batch_first) {
  MSA_REQUIRE(input.dim() == 3, Runtime, net.form.name,
              ": expected an input of three dimensions, but its shape is ", DimsView(input.sizes()),
              ".");
  const Tensor x = batch_first ? ops::transpose(input, 0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  require_states(net, first, batch);
  RecurrentRun done = run_network(net, ops::reshape(x, {steps * batch, x.size(2)}), first,
                                  Dims(static_cast<size_t>(steps), batch));
  done.output = ops::view(done.output, {steps, batch, done.output.size(1)});
  if (batch_first) done.output = ops::transpose(done.output, 0, 1);
  return done;
}

RecurrentRun over_packed(const Network& net, const Tensor& data, const Tensor& batch_sizes,
                         const RecurrentState& first) {
  const bool fits =
      batch_sizes.device().is_cpu() && batch_sizes.dtype() == DType::I64 && batch_sizes.dim() == 1;
  MSA_REQUIRE(
      fits && data.dim() == 2, Runtime, net.form.name,
      ": expected data of two dimensions and batch_sizes as an int64 vector on cpu, but got ", data,
      " and ", batch_sizes, ".");
  Dims rows;
  int64_t total = 0;
  for (int64_t t = 0; t < batch_sizes.numel(); ++t) {
    rows.push_back(batch_sizes.data<int64_t>()[t * batch_sizes.stride(0)]);
    total += rows.back();
    MSA_REQUIRE(rows.back() > 0 && (t == 0 || rows[static_cast<size_t>(t) - 1] >= rows.back()),
                Runtime, net.form.name, ": batch_sizes must be positive and never rise, but are ",
                DimsView(rows), ".");
  }
  MSA_REQUIRE(total == data.size(0), Runtime, net.form.name, ": batch_sizes add up to ", total,
              ", but data has ", data.size(0), " rows.");
  require_states(net, first, rows.empty() ? 0 : rows[0]);
  return run_network(net, data, first, rows);
}

RecurrentState pair_of(std::string_view op, const TensorList& hx) {
  MSA_REQUIRE(hx.size() == 2, Runtime, op, ": expects two hidden states, but got ", hx.size(), ".");
  return {hx[0], hx[1]};
}

RecurrentState one_step(std::string_view mode, const Tensor& input, const RecurrentState& state,
                        const RecurrentWeights& w) {
  const CellForm& form = cell_form(mode);
  if (input.dim() == 1) {
    const auto row = [](const Tensor& t) { return ops::unsqueeze(t, 0); };
    const RecurrentState next = one_step(mode, row(input), mapped(state, row), w);
    return mapped(next, [](const Tensor& t) { return ops::squeeze_dim(t, 0); });
  }
  MSA_REQUIRE(input.dim() == 2, Runtime, mode,
              "_cell: expected an input of one or two dimensions, but its shape is ",
              DimsView(input.sizes()), ".");
  return run_layer(form, input, state, w, {input.size(0)}, false).last;
}

}  // namespace

namespace composed {

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const TensorList& hx,
                                              const TensorList& params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  const Network net{cell_form("lstm"), params, has_biases,   num_layers,
                    dropout,           train,  bidirectional};
  const RecurrentRun run = over_padded(net, input, pair_of("lstm", hx), batch_first);
  return {run.output, run.last.hidden, run.last.cell};
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             const TensorList& hx, const TensorList& params,
                                             bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  const Network net{cell_form("lstm"), params, has_biases,   num_layers,
                    dropout,           train,  bidirectional};
  const RecurrentRun run = over_packed(net, data, batch_sizes, pair_of("lstm", hx));
  return {run.output, run.last.hidden, run.last.cell};
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const TensorList& hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const RecurrentState next =
      one_step("lstm", input, pair_of("lstm_cell", hx), {w_ih, w_hh, b_ih, b_hh, {}});
  return {next.hidden, next.cell};
}

// The networks with one state differ in nothing but their cell.
#define MSA_NETWORK(mode)                                                                        \
  std::tuple<Tensor, Tensor> mode##_input(                                                       \
      const Tensor& input, const Tensor& hx, const TensorList& params, bool has_biases,          \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {    \
    const Network net{cell_form(#mode), params, has_biases,   num_layers,                        \
                      dropout,          train,  bidirectional};                                  \
    const RecurrentRun run = over_padded(net, input, {hx, {}}, batch_first);                     \
    return {run.output, run.last.hidden};                                                        \
  }                                                                                              \
  std::tuple<Tensor, Tensor> mode##_data(                                                        \
      const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const TensorList& params, \
      bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) {     \
    const Network net{cell_form(#mode), params, has_biases,   num_layers,                        \
                      dropout,          train,  bidirectional};                                  \
    const RecurrentRun run = over_packed(net, data, batch_sizes, {hx, {}});                      \
    return {run.output, run.last.hidden};                                                        \
  }                                                                                              \
  Tensor mode##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih,                  \
                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {               \
    return one_step(#mode, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).hidden;                \
  }
MSA_NETWORK(gru)
MSA_NETWORK(rnn_tanh)
MSA_NETWORK(rnn_relu)
#undef MSA_NETWORK

}  // namespace composed
}  // namespace msa
