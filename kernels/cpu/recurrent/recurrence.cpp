// One recurrent layer in one direction, forward and backward. What the input adds to the gates is
// one product for all steps; then each thread takes some sequences through all steps, since these
// do not wait for each other.
#include "core/rules/recurrence.h"

#include "core/base/lock.h"
#include "generated/kernels_recurrent.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/recurrent/cells.h"
#include "kernels/cpu/recurrent/step_product.h"

namespace msa {
namespace {

using cpu::as;
using cpu::data_or_null;
using cpu::Matrix;
using cpu::StepProduct;

constexpr int64_t kLeastRows = 4;  // of a thread: with fewer its products waste the registers
constexpr int64_t kThreadWork = int64_t{1} << 22;  // multiply-adds from which a second one pays

Matrix matrix(const Tensor& t) { return {t.data(), t.size(0), t.size(1), t.size(1), 1}; }
template <class T>
Matrix columns(const Tensor& t, int64_t from, int64_t count) {
  return {t.data<T>() + from, t.size(0), count, t.size(1), 1};
}

// Element i of what may be missing.
template <class T>
T* at(T* p, int64_t i) {
  return p ? p + i : p;
}

// body(begin, end) over the sequences of a batch.
template <class F>
void each_share(const StepOrder& steps, int64_t weights, F&& body) {
  const int64_t work = steps.total * weights;
  const Unlocked unlocked(work >= cpu::kGrain);
  cpu::parallel(steps.batch(), work >= kThreadWork ? kLeastRows : steps.batch(), body);
}

// --- forward ------------------------------------------------------------------------------------

// What the hidden state adds to: gates `from` and on to the kept blocks `to` and on.
template <class T>
struct Share {
  StepProduct<T> product;
  int64_t to;
};

template <class T>
std::vector<Share<T>> shares_of(const CellForm& form, const Tensor& weight, int64_t steps) {
  const int64_t size = weight.size(1);
  const auto share = [&](int64_t from, int64_t count, int64_t to) {
    const Matrix m{weight.data<T>() + from * size * size, count * size, size, size, 1};
    return Share<T>{StepProduct<T>(m.transposed(), steps), to};
  };
  if (form.cell == Cell::Gru) return {share(0, 2, 0), share(2, 1, 3)};
  return {share(0, form.gates, 0)};
}

// The kept blocks of every row start as the biases.
template <class T>
void fill_with_biases(const CellForm& form, int64_t size, const T* bias_ih, const T* bias_hh,
                      const Tensor& gates) {
  std::vector<T> row(static_cast<size_t>(form.kept * size), T(0));
  for (int64_t i = 0; i < form.gates * size; ++i) {
    if (bias_ih) row[static_cast<size_t>(i)] += bias_ih[i];
    const bool apart = form.cell == Cell::Gru && i >= 2 * size;
    if (bias_hh) row[static_cast<size_t>(apart ? i + size : i)] += bias_hh[i];
  }
  T* to = gates.data<T>();
  for (int64_t r = 0; r < gates.size(0); ++r, to += row.size())
    std::copy(row.begin(), row.end(), to);
}

template <class T>
struct Forward {
  const CellForm& form;
  const StepOrder& steps;
  int64_t size;
  const std::vector<Share<T>>& shares;
  T *gates, *output, *hidden, *cell;

  // Sequences `begin` up to `end` through all steps.
  void run(int64_t begin, int64_t end) const {
    const int64_t width = form.kept * size;
    const auto step = cpu::cell_loops<T>().forward[static_cast<size_t>(form.cell)];
    for (int64_t i = 0; i < steps.count(); ++i) {
      const size_t t = steps.at(i);
      const int64_t count = std::min(end, steps.rows[t]) - begin, first = steps.first[t] + begin;
      if (count <= 0) continue;
      T* const rows = gates + first * width;
      for (const Share<T>& share : shares)
        share.product.add_to(rows + share.to * size, width, hidden + begin * size, size, count);
      for (int64_t r = 0; r < count; ++r)
        step({rows + r * width, hidden + (begin + r) * size, at(cell, (begin + r) * size),
              output + (first + r) * size},
             size);
    }
  }
};

// --- backward -----------------------------------------------------------------------------------

template <class T>
struct Backward {
  const CellForm& form;
  const StepOrder& steps;
  int64_t size;
  const StepProduct<T>& product;
  const T *hidden, *cell, *output, *gates, *of_output;
  T *of_gates, *of_hidden_gates, *of_hidden, *of_cell, *previous;

  // Where the states of sequence b before the i-th step that ran stand.
  struct States {
    const T *hidden, *cell;
  };
  States before(int64_t i, int64_t b) const {
    if (i == 0 || b >= steps.rows[steps.at(i - 1)]) return {hidden + b * size, at(cell, b * size)};
    const int64_t row = steps.first[steps.at(i - 1)] + b;
    return {output + row * size, gates + (row * form.kept + form.kept - 1) * size};
  }

  void run(int64_t begin, int64_t end) const {
    const int64_t width = form.gates * size;
    T* const through_weights = of_hidden_gates ? of_hidden_gates : of_gates;
    for (int64_t i = steps.count() - 1; i >= 0; --i) {
      const size_t t = steps.at(i);
      const int64_t count = std::min(end, steps.rows[t]) - begin, first = steps.first[t] + begin;
      if (count <= 0) continue;
      for (int64_t r = 0; r < count; ++r) step(i, begin + r, first + r);
      product.add_to(of_hidden + begin * size, size, through_weights + first * width, width, count);
    }
  }

  void step(int64_t i, int64_t b, int64_t row) const {
    const States states = before(i, b);
    const int64_t width = form.gates * size;
    std::copy_n(states.hidden, size, previous + row * size);
    cpu::cell_loops<T>().backward[static_cast<size_t>(form.cell)](
        {gates + row * form.kept * size, states.hidden, states.cell, at(of_output, row * size),
         of_hidden + b * size, at(of_cell, b * size), of_gates + row * width,
         at(of_hidden_gates, row * width)},
        size);
  }
};

void copy_or_zero(const Tensor& to, const Tensor& from) {
  cpu::copy_into(to, from.defined() ? from : scalar_tensor(0, to.dtype()));
}

}  // namespace

namespace kernels {

void _recurrence(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                 const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                 const Tensor& bias_hh, std::string_view mode, const Dims& rows, bool backwards,
                 Tensor& output, Tensor& last_hidden, Tensor& last_cell, Tensor& gates) {
  const CellForm& form = cell_form(mode);
  const StepOrder steps(rows, backwards);
  const int64_t size = weight_hh.size(1);
  cpu::copy_into(last_hidden, hidden);
  if (cell.defined()) cpu::copy_into(last_cell, cell);
  cpu::with_real("recurrence", input.dtype(), [&]<class T>() {
    const Tensor x = as<T>(input), w_ih = as<T>(weight_ih), w_hh = as<T>(weight_hh),
                 b_ih = as<T>(bias_ih), b_hh = as<T>(bias_hh);
    fill_with_biases<T>(form, size, data_or_null<T>(b_ih), data_or_null<T>(b_hh), gates);
    const auto shares = shares_of<T>(form, w_hh, steps.count());
    const Forward<T> forward{form,
                             steps,
                             size,
                             shares,
                             gates.data<T>(),
                             output.data<T>(),
                             last_hidden.data<T>(),
                             cell.defined() ? last_cell.data<T>() : nullptr};
    {
      const Unlocked unlocked(x.numel() * w_ih.size(0) >= cpu::kGrain);
      cpu::gemm(dtype_of<T>::value, matrix(x), matrix(w_ih).transposed(),
                columns<T>(gates, 0, form.gates * size), 1, 1);
    }
    each_share(steps, w_hh.numel(), [&](int64_t begin, int64_t end) { forward.run(begin, end); });
  });
}

void _recurrence_backward(const Tensor& grad_output, const Tensor& grad_hidden,
                          const Tensor& grad_cell, const Tensor& hidden, const Tensor& cell,
                          const Tensor& weight_hh, const Tensor& output, const Tensor& gates,
                          std::string_view mode, const Dims& rows, bool backwards, Tensor& of_gates,
                          Tensor& of_hidden_gates, Tensor& of_hidden, Tensor& of_cell,
                          Tensor& previous) {
  const CellForm& form = cell_form(mode);
  const StepOrder steps(rows, backwards);
  copy_or_zero(of_hidden, grad_hidden);
  if (cell.defined()) copy_or_zero(of_cell, grad_cell);
  cpu::with_real("recurrence", output.dtype(), [&]<class T>() {
    const Tensor h = as<T>(hidden), c = as<T>(cell), w = as<T>(weight_hh), g = as<T>(grad_output);
    const StepProduct<T> product(matrix(w), steps.count());
    const Backward<T> backward{form,
                               steps,
                               w.size(1),
                               product,
                               h.data<T>(),
                               data_or_null<T>(c),
                               output.data<T>(),
                               gates.data<T>(),
                               data_or_null<T>(g),
                               of_gates.data<T>(),
                               form.cell == Cell::Gru ? of_hidden_gates.data<T>() : nullptr,
                               of_hidden.data<T>(),
                               cell.defined() ? of_cell.data<T>() : nullptr,
                               previous.data<T>()};
    each_share(steps, w.numel(), [&](int64_t begin, int64_t end) { backward.run(begin, end); });
  });
}

}  // namespace kernels
}  // namespace msa
