// The recurrent cells' arithmetic as loops over whole vectors.
#ifndef MSA_ISA
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/recurrent/cells.h"
#define MSA_KERNEL_FILE "kernels/cpu/recurrent/cells.cpp"
#include "kernels/cpu/each_isa.h"

namespace msa::cpu {
#define MSA_CELL_LOOPS(T)                                                   \
  template <>                                                               \
  const CellLoops<T>& cell_loops<T>() {                                     \
    static const CellLoops<T>* const chosen = MSA_CHOOSE(cell_loops_of<T>); \
    return *chosen;                                                         \
  }
MSA_CELL_LOOPS(float)
MSA_CELL_LOOPS(double)
}  // namespace msa::cpu
#else
#include "kernels/cpu/lanes.inl"

namespace cells {

template <class T>
inline V<T> logistic(V<T> x) {
  return T(1) / (T(1) + sleef::exp(-x));
}
// Derivatives in terms of the function's value.
template <class T>
inline V<T> through_logistic(V<T> grad, V<T> y) {
  return grad * (T(1) - y) * y;
}
template <class T>
inline V<T> through_tanh(V<T> grad, V<T> y) {
  return grad * (T(1) - y * y);
}

// The gradient of the new hidden state: what later steps sent back, and the output's.
template <class T>
inline V<T> of_new_hidden(const CellBackward<T>& s, int64_t i, int lanes) {
  const V<T> later = load_lanes(s.of_hidden + i, lanes);
  return s.of_output ? later + load_lanes(s.of_output + i, lanes) : later;
}

template <class T>
void lstm(const CellForward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    T* const gate = s.gates + at;
    const V<T> in = logistic<T>(load_lanes(gate, lanes)),
               forget = logistic<T>(load_lanes(gate + size, lanes)),
               candidate = sleef::tanh(load_lanes(gate + 2 * size, lanes)),
               out = logistic<T>(load_lanes(gate + 3 * size, lanes));
    const V<T> cell = forget * load_lanes(s.cell + at, lanes) + in * candidate;
    const V<T> hidden = out * sleef::tanh(cell);
    store_lanes(gate, in, lanes);
    store_lanes(gate + size, forget, lanes);
    store_lanes(gate + 2 * size, candidate, lanes);
    store_lanes(gate + 3 * size, out, lanes);
    store_lanes(gate + 4 * size, cell, lanes);
    store_lanes(s.cell + at, cell, lanes);
    store_lanes(s.hidden + at, hidden, lanes);
    store_lanes(s.output + at, hidden, lanes);
  });
}

template <class T>
void lstm_backward(const CellBackward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    const T* const gate = s.gates + at;
    const V<T> in = load_lanes(gate, lanes), forget = load_lanes(gate + size, lanes),
               candidate = load_lanes(gate + 2 * size, lanes),
               out = load_lanes(gate + 3 * size, lanes),
               cell = sleef::tanh(load_lanes(gate + 4 * size, lanes));
    const V<T> of_hidden = of_new_hidden(s, at, lanes);
    const V<T> of_cell = load_lanes(s.of_cell + at, lanes) + through_tanh<T>(of_hidden * out, cell);
    T* const to = s.of_gates + at;
    store_lanes(to, through_logistic<T>(of_cell * candidate, in), lanes);
    store_lanes(to + size, through_logistic<T>(of_cell * load_lanes(s.cell + at, lanes), forget),
                lanes);
    store_lanes(to + 2 * size, through_tanh<T>(of_cell * in, candidate), lanes);
    store_lanes(to + 3 * size, through_logistic<T>(of_hidden * cell, out), lanes);
    store_lanes(s.of_cell + at, of_cell * forget, lanes);
    store_lanes(s.of_hidden + at, V<T>{}, lanes);
  });
}

template <class T>
void gru(const CellForward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    T* const gate = s.gates + at;
    const V<T> reset = logistic<T>(load_lanes(gate, lanes)),
               update = logistic<T>(load_lanes(gate + size, lanes));
    const V<T> candidate = sleef::tanh(load_lanes(gate + 2 * size, lanes) +
                                       reset * load_lanes(gate + 3 * size, lanes));
    const V<T> hidden = (load_lanes(s.hidden + at, lanes) - candidate) * update + candidate;
    store_lanes(gate, reset, lanes);
    store_lanes(gate + size, update, lanes);
    store_lanes(gate + 2 * size, candidate, lanes);
    store_lanes(s.hidden + at, hidden, lanes);
    store_lanes(s.output + at, hidden, lanes);
  });
}

template <class T>
void gru_backward(const CellBackward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    const T* const gate = s.gates + at;
    const V<T> reset = load_lanes(gate, lanes), update = load_lanes(gate + size, lanes),
               candidate = load_lanes(gate + 2 * size, lanes),
               from_hidden = load_lanes(gate + 3 * size, lanes);
    const V<T> of_hidden = of_new_hidden(s, at, lanes);
    const V<T> of_candidate = through_tanh<T>(of_hidden * (T(1) - update), candidate),
               of_reset = through_logistic<T>(of_candidate * from_hidden, reset),
               of_update = through_logistic<T>(
                   of_hidden * (load_lanes(s.hidden + at, lanes) - candidate), update);
    for (T* to : {s.of_gates + at, s.of_hidden_gates + at}) {
      store_lanes(to, of_reset, lanes);
      store_lanes(to + size, of_update, lanes);
    }
    store_lanes(s.of_gates + at + 2 * size, of_candidate, lanes);
    store_lanes(s.of_hidden_gates + at + 2 * size, of_candidate * reset, lanes);
    store_lanes(s.of_hidden + at, of_hidden * update, lanes);
  });
}

struct Tanh {
  template <class T>
  static V<T> forward(V<T> x) {
    return sleef::tanh(x);
  }
  template <class T>
  static V<T> backward(V<T> grad, V<T> y) {
    return through_tanh<T>(grad, y);
  }
};
struct Relu {
  template <class T>
  static V<T> forward(V<T> x) {
    return x < T(0) ? V<T>{} : x;  // keeps NaN
  }
  template <class T>
  static V<T> backward(V<T> grad, V<T> y) {
    return y <= T(0) ? V<T>{} : grad;
  }
};

template <class T, class F>
void rnn(const CellForward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    const V<T> hidden = F::template forward<T>(load_lanes(s.gates + at, lanes));
    for (T* to : {s.gates, s.hidden, s.output}) store_lanes(to + at, hidden, lanes);
  });
}

template <class T, class F>
void rnn_backward(const CellBackward<T>& s, int64_t size) {
  by_lanes<T>(size, [&](int64_t at, int lanes) {
    const V<T> grad =
        F::template backward<T>(of_new_hidden(s, at, lanes), load_lanes(s.gates + at, lanes));
    store_lanes(s.of_gates + at, grad, lanes);
    store_lanes(s.of_hidden + at, V<T>{}, lanes);
  });
}

}  // namespace cells

template <class T>
inline constexpr CellLoops<T> cell_loops_of = {
    {cells::lstm<T>, cells::gru<T>, cells::rnn<T, cells::Tanh>, cells::rnn<T, cells::Relu>},
    {cells::lstm_backward<T>, cells::gru_backward<T>, cells::rnn_backward<T, cells::Tanh>,
     cells::rnn_backward<T, cells::Relu>}};
#endif
