// Reductions that fold elements one by one, as slabs of the driver in reduce.h; included inside an
// instruction set's namespace. A fold is: Map (of an element), Combine (of two), Finish (of the result).

// One vector of any plain type; bool travels as uint8_t.
template <class T>
struct Plain {
  using type = T;
};
template <>
struct Plain<bool> {
  using type = uint8_t;
};

// Floating sums are folded in blocks and gathered in double: the error stays that of a pairwise sum.
inline constexpr int64_t kFoldBlock = 4096, kFoldRows = 64;

struct Plus {
  template <class A>
  static A start() { return A(0); }
  template <class A>
  static A of(A a, A b) { return a + b; }
};
struct Times {
  template <class A>
  static A start() { return A(1); }
  template <class A>
  static A of(A a, A b) { return a * b; }
};

// Folds a run of n >= 1 elements to one T.
template <class T, class Map, class Combine>
inline T fold_run(const char* in, int64_t step, int64_t n, const Map& map) {
  if constexpr (!kIsComplex<T>) {
    using Vec = V<T>;
    constexpr int64_t lanes = kLanes<T>;
    if (step == sizeof(T) && n >= 4 * lanes) {
      auto at = [&](int64_t i, int64_t k) {
        Vec v;
        __builtin_memcpy(&v, in + i * static_cast<int64_t>(sizeof(T)) + k * static_cast<int64_t>(sizeof v), sizeof v);
        return map(v);
      };
      Vec a = at(0, 0), b = at(0, 1), c = at(0, 2), d = at(0, 3);  // an array would live in memory
      int64_t i = 4 * lanes;
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a = Combine::of(a, at(i, 0));
        b = Combine::of(b, at(i, 1));
        c = Combine::of(c, at(i, 2));
        d = Combine::of(d, at(i, 3));
      }
      Vec whole = Combine::of(Combine::of(a, b), Combine::of(c, d));
      for (int64_t half = lanes / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k) whole[k] = Combine::of(T(whole[k]), T(whole[k + half]));
      T out = whole[0];
      for (; i < n; ++i) out = Combine::of(out, map(reinterpret_cast<const T*>(in)[i]));
      return out;
    }
  }
  T out = map(*reinterpret_cast<const T*>(in));
  for (int64_t i = 1; i < n; ++i) out = Combine::of(out, map(*reinterpret_cast<const T*>(in + i * step)));
  return out;
}

// Folds `rows` (>= 1) rows of `columns` elements each into `part`.
template <class T, class Map, class Combine>
inline void fold_rows(T* part, const char* in, int64_t column_step, int64_t columns, int64_t row_step, int64_t rows,
                      const Map& map) {
  for (int64_t r = 0; r < rows; ++r, in += row_step) {
    if (column_step == sizeof(T)) {
      const T* row = reinterpret_cast<const T*>(in);
      if (r == 0) {
        for (int64_t c = 0; c < columns; ++c) part[c] = map(row[c]);
      } else {
#pragma GCC ivdep
        for (int64_t c = 0; c < columns; ++c) part[c] = Combine::of(part[c], map(row[c]));
      }
    } else {
      for (int64_t c = 0; c < columns; ++c) {
        T v = map(*reinterpret_cast<const T*>(in + c * column_step));
        part[c] = r == 0 ? v : Combine::of(part[c], v);
      }
    }
  }
}

// `Element` is what the slab holds, `Acc` what is kept between slabs, `R` what is written.
template <class Element, class Acc, class R, class Map, class Combine, class Finish>
struct Fold {
  using T = typename Plain<Element>::type;

  static void start(void* acc, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i) static_cast<Acc*>(acc)[i] = Combine::template start<Acc>();
  }
  static void take(void* acc_bytes, const Slab& s, const Scalar* params) {
    Acc* acc = static_cast<Acc*>(acc_bytes);
    const Map map(params);
    if (s.outputs > 1 && magnitude_of(s.output_step) < magnitude_of(s.step)) {
      T part[kReduceBlock];
      for (int64_t j = 0; j < s.n; j += kFoldRows) {
        int64_t rows = s.n - j < kFoldRows ? s.n - j : kFoldRows;
        fold_rows<T, Map, Combine>(part, s.in + j * s.step, s.output_step, s.outputs, s.step, rows, map);
        for (int64_t i = 0; i < s.outputs; ++i) acc[i] = Combine::of(acc[i], Acc(part[i]));
      }
      return;
    }
    for (int64_t i = 0; i < s.outputs; ++i)
      for (int64_t j = 0; j < s.n; j += kFoldBlock) {
        int64_t n = s.n - j < kFoldBlock ? s.n - j : kFoldBlock;
        acc[i] = Combine::of(acc[i], Acc(fold_run<T, Map, Combine>(s.in + i * s.output_step + j * s.step, s.step, n, map)));
      }
  }
  static void merge(void* acc, const void* later, int64_t outputs, const Scalar*) {
    for (int64_t i = 0; i < outputs; ++i)
      static_cast<Acc*>(acc)[i] = Combine::of(static_cast<Acc*>(acc)[i], static_cast<const Acc*>(later)[i]);
  }
  static void finish(const void* acc, int64_t outputs, char* const* out, const int64_t* steps, const ReduceInfo& info) {
    for (int64_t i = 0; i < outputs; ++i)
      *reinterpret_cast<R*>(out[0] + i * steps[0]) = Finish::template of<R>(static_cast<const Acc*>(acc)[i], info);
  }
  static int64_t magnitude_of(int64_t step) { return step < 0 ? -step : step; }

  static constexpr Reducer reducer = {
      static_cast<DType>(index_of<Element>()), {static_cast<DType>(index_of<R>()), DType::Bool}, 1, sizeof(Acc),
      &start, &take, &merge, &finish};
};

// MSA_REDUCERS(name, types, template) makes `const ReducerTable* msa::cpu::reducer_<name>`, where
// template<T> names the fold for elements of type T.
template <template <class> class Make, class... T>
constexpr ReducerTable make_reducers(Types<T...>) {
  ReducerTable table;
  ((table.reducers[index_of<T>()] = &Make<T>::reducer), ...);
  return table;
}
#ifndef MSA_ISA_IS_BASE
#define MSA_REDUCERS(name, types, make) constexpr ReducerTable reducers_##name = make_reducers<make>(types{});
#else
#undef MSA_REDUCERS
#define MSA_REDUCERS(name, types, make)                                   \
  constexpr ReducerTable reducers_##name = make_reducers<make>(types{});  \
  }                                                                       \
  namespace msa::cpu {                                                    \
  extern const ReducerTable* const reducer_##name;                        \
  const ReducerTable* const reducer_##name = MSA_CHOOSE(reducers_##name); \
  }                                                                       \
  namespace msa::cpu::base {
#endif
