// Builds two-dimensional loops from a function of one element (which the compiler vectorizes) or of
// one vector (for SLEEF); included by each_isa.h inside an instruction set's namespace.
#include "kernels/cpu/vec.inl"

// --- types --------------------------------------------------------------------------------------
template <class... T>
struct Types {};
template <class... Lists>
struct JoinTypes;
template <class... A>
struct JoinTypes<Types<A...>> {
  using type = Types<A...>;
};
template <class... A, class... B, class... Rest>
struct JoinTypes<Types<A...>, Types<B...>, Rest...> {
  using type = typename JoinTypes<Types<A..., B...>, Rest...>::type;
};
template <class... Lists>
using Join = typename JoinTypes<Lists...>::type;

using Bool = Types<bool>;
using SmallInts = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using Unsigned = Types<uint16_t, uint32_t, uint64_t>;
using Floats = Types<float, double>;
using Complexes = Types<Cx<float>, Cx<double>>;
using Integers = Join<Bool, SmallInts, Unsigned>;
using Inexact = Join<Floats, Complexes>;
using RealNumbers = Join<SmallInts, Unsigned, Floats>;
using Ordered = Join<Bool, RealNumbers>;
using Numbers = Join<RealNumbers, Complexes>;
using AllTypes = Join<Bool, Numbers>;

template <class T>
constexpr int index_of() {
  if constexpr (kIsComplex<T>) {
    return static_cast<int>(sizeof(T) == 8 ? DType::C64 : DType::C128);
  } else {
    return static_cast<int>(dtype_of<T>::value);
  }
}

// --- loops over elements ------------------------------------------------------------------------
// Rows that are dense, or hold one repeated value, get loops of their own. `ivdep` holds since an
// output may only be exactly an input, element for element.
template <class R, class A, class F>
inline void row(const F& f, R* out, const A* a, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i]));
}
template <class R, class A, class B, class F>
inline void row(const F& f, R* out, const A* a, const B* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i], b[i]));
}
template <class R, class A, class B, class C, class F>
inline void row(const F& f, R* out, const A* a, const B* b, const C* c, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i], b[i], c[i]));
}
template <class R, class A, class B, class F>
inline bool row_with_repeated(const F& f, R* out, const A* a, const B* b, int64_t n, const int64_t* strides) {
  if (strides[2] == 0 && strides[1] == sizeof(A)) {
    const B value = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i], value));
    return true;
  }
  if (strides[1] == 0 && strides[2] == sizeof(B)) {
    const A value = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(value, b[i]));
    return true;
  }
  return false;
}

// An operand of a row of three: where it holds one repeated value, that is written out for a stretch, so
// that the dense loop serves.
constexpr int64_t kStretchElements = 256;
template <class T>
struct Stretched {
  const T* from;
  bool repeats;
  T room[kStretchElements];
  Stretched(const char* data, int64_t stride, int64_t n)
      : from(reinterpret_cast<const T*>(data)), repeats(stride == 0) {
    if (!repeats) return;
    const T value = *from;
    for (int64_t i = 0; i < (n < kStretchElements ? n : kStretchElements); ++i) room[i] = value;
  }
  const T* at(int64_t i) const { return repeats ? room : from + i; }
};
template <class R, class A, class B, class C, class F>
inline bool row_by_stretches(const F& f, char* out, const char* const* in, int64_t n, const int64_t* strides) {
  const bool fits = strides[0] == sizeof(R) && (strides[1] == 0 || strides[1] == sizeof(A)) &&
                    (strides[2] == 0 || strides[2] == sizeof(B)) && (strides[3] == 0 || strides[3] == sizeof(C));
  if (!fits || n < 16) return false;
  const Stretched<A> a(in[0], strides[1], n);
  const Stretched<B> b(in[1], strides[2], n);
  const Stretched<C> c(in[2], strides[3], n);
  for (int64_t i = 0; i < n; i += kStretchElements)
    row(f, reinterpret_cast<R*>(out) + i, a.at(i), b.at(i), c.at(i),
        n - i < kStretchElements ? n - i : kStretchElements);
  return true;
}

template <class R, class... A>
struct ElementLoop {
  template <class F, size_t... I>
  static void run(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, const F& f,
                  std::index_sequence<I...>) {
    constexpr int n = sizeof...(A) + 1;
    const bool dense = strides[0] == sizeof(R) && ((strides[I + 1] == sizeof(A)) && ...);
    for (int64_t j = 0; j < outer; ++j) {
      char* out = data[0] + j * strides[n];
      const char* in[] = {data[I + 1] + j * strides[n + I + 1]...};
      if (dense) {
        row(f, reinterpret_cast<R*>(out), reinterpret_cast<const A*>(in[I])..., inner);
        continue;
      }
      if constexpr (sizeof...(A) == 2) {
        if (strides[0] == sizeof(R) && row_with_repeated(f, reinterpret_cast<R*>(out),
                                                         reinterpret_cast<const A*>(in[I])..., inner, strides))
          continue;
      }
      if constexpr (sizeof...(A) == 3) {
        if (row_by_stretches<R, A...>(f, out, in, inner, strides)) continue;
      }
      for (int64_t i = 0; i < inner; ++i) {
        *reinterpret_cast<R*>(out + i * strides[0]) =
            static_cast<R>(f(*reinterpret_cast<const A*>(in[I] + i * strides[I + 1])...));
      }
    }
  }
};

// --- loops over vectors -------------------------------------------------------------------------
// Loads `count` elements; what is missing repeats the first, so that no result depends on where an
// element stands and no stray value raises.
template <class T>
inline V<T> load(const char* p, int64_t stride, int64_t count) {
  V<T> v = {};
  if (stride == sizeof(T) && count == kLanes<T>) {
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  if (stride == 0) return *reinterpret_cast<const T*>(p) - v;
  for (int i = 0; i < kLanes<T>; ++i) v[i] = *reinterpret_cast<const T*>(p + (i < count ? i * stride : 0));
  return v;
}
template <class T>
inline void store(char* p, int64_t stride, int64_t count, V<T> v) {
  if (stride == sizeof(T) && count == kLanes<T>) {
    __builtin_memcpy(p, &v, sizeof v);
    return;
  }
  for (int64_t i = 0; i < count; ++i) *reinterpret_cast<T*>(p + i * stride) = v[i];
}

template <class T, class F, size_t... I>
inline void vector_loop(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, const F& f,
                        std::index_sequence<I...>) {
  constexpr int n = sizeof...(I) + 1, lanes = kLanes<T>;
  for (int64_t j = 0; j < outer; ++j) {
    char* out = data[0] + j * strides[n];
    const char* in[] = {data[I + 1] + j * strides[n + I + 1]...};
    for (int64_t i = 0; i < inner; i += lanes) {
      int64_t count = inner - i < lanes ? inner - i : lanes;
      store<T>(out + i * strides[0], strides[0], count,
               f(load<T>(in[I] + i * strides[I + 1], strides[I + 1], count)...));
    }
  }
}

// --- from functions to tables -------------------------------------------------------------------
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class First, class... A>
struct Signature<R (C::*)(First, A...) const> {
  static constexpr bool is_vector = ElementOf<First>::is_vector;
  using Element = typename ElementOf<First>::type;
  using Indices = std::index_sequence_for<First, A...>;
  using Elements = ElementLoop<R, First, A...>;
};

// `Make` is a lambda []<class T>(const Scalar* params) that returns the function of T or V<T>.
template <class Make, class T>
void loop(char* const* data, const int64_t* strides, int64_t inner, int64_t outer, const Scalar* params) {
  auto f = Make{}.template operator()<T>(params);
  using S = Signature<decltype(f)>;
  if constexpr (S::is_vector) {
    vector_loop<typename S::Element>(data, strides, inner, outer, f, typename S::Indices{});
  } else {
    S::Elements::run(data, strides, inner, outer, f, typename S::Indices{});
  }
}

template <class Make, class... T>
constexpr LoopTable make_table(Types<T...>) {
  LoopTable table;
  ((table.loops[index_of<T>()] = &loop<Make, T>), ...);
  return table;
}

// MSA_LOOPS(name, types, lambda) defines `const LoopTable* msa::cpu::loops_<name>`, chosen when loaded
// among the tables that this makes in each instruction set's namespace.
#define MSA_LOOPS(name, types, ...)                                              \
  constexpr auto make_##name = __VA_ARGS__;                                      \
  constexpr LoopTable table_##name = make_table<decltype(make_##name)>(types{}); \
  MSA_CHOOSE_TABLE(name)
#ifndef MSA_ISA_IS_BASE
#define MSA_CHOOSE_TABLE(name)
#else
#undef MSA_CHOOSE_TABLE
#ifdef __x86_64__
#define MSA_CHOOSE(name) choose(&base::name, &avx2::name, &avx512::name)
#else
#define MSA_CHOOSE(name) (&base::name)
#endif
// Baseline is compiled last: it leaves its namespace to define the choice.
#define MSA_CHOOSE_TABLE(name)                              \
  }                                                         \
  namespace msa::cpu {                                      \
  extern const LoopTable* loops_##name;                     \
  const LoopTable* loops_##name = MSA_CHOOSE(table_##name); \
  }                                                         \
  namespace msa::cpu::base {
#endif
