// What grid sampling computes in, and where a grid's number lies in the image; included by
// loops.cpp inside an instruction set's namespace.

// A float rounded to a half type, without branches so that loops of it become vectors.
inline float to_half(float x, f16) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x), size = u & 0x7fffffffu;
  const uint32_t normal = (size + 0xfffu + (size >> 13 & 1u)) & ~0x1fffu;
  // Below 2^-14 the float adder rounds at 2^-24.
  const float small = (__builtin_bit_cast(float, size) + 0.5f) - 0.5f;
  uint32_t out = size < 0x38800000u ? __builtin_bit_cast(uint32_t, small) : normal;
  out = normal >= 0x47800000u ? 0x7f800000u : out;
  out = size > 0x7f800000u ? size : out;
  return __builtin_bit_cast(float, out | (u & 0x80000000u));
}
inline float to_half(float x, bf16) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t near = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
  return __builtin_bit_cast(float, (u & 0x7fffffffu) > 0x7f800000u ? u : near);
}

// A half type kept as float, of which every operation is rounded: so PyTorch computes here.
template <class Half>
struct Stepwise {
  float v;

  Stepwise() = default;
  Stepwise(double number) : v(to_half(static_cast<float>(number), Half())) {}
  static Stepwise rounded(float exact) {
    Stepwise out;
    out.v = to_half(exact, Half());
    return out;
  }
  Stepwise operator-() const {
    Stepwise out;
    out.v = -v;
    return out;
  }
  Stepwise& operator+=(Stepwise b) { return *this = *this + b; }
  Stepwise& operator-=(Stepwise b) { return *this = *this - b; }
  friend Stepwise operator+(Stepwise a, Stepwise b) { return rounded(a.v + b.v); }
  friend Stepwise operator-(Stepwise a, Stepwise b) { return rounded(a.v - b.v); }
  friend Stepwise operator*(Stepwise a, Stepwise b) { return rounded(a.v * b.v); }
  friend Stepwise operator/(Stepwise a, Stepwise b) { return rounded(a.v / b.v); }
};

inline float plain(float x) { return x; }
inline double plain(double x) { return x; }
template <class Half>
inline float plain(Stepwise<Half> x) {
  return x.v;
}
// f(x), of a function that rounds nothing in half types either.
template <class T, class F>
inline T exactly(T x, F&& f) {
  return T(f(plain(x)));
}

// a * b + c, in one rounding where PyTorch's vectors have it.
inline float fused(float a, float b, float c) {
#ifdef MSA_ISA_IS_BASE
  return a * b + c;
#else
  return __builtin_fmaf(a, b, c);
#endif
}
inline double fused(double a, double b, double c) {
#ifdef MSA_ISA_IS_BASE
  return a * b + c;
#else
  return __builtin_fma(a, b, c);
#endif
}
template <class Half>
inline Stepwise<Half> fused(Stepwise<Half> a, Stepwise<Half> b, Stepwise<Half> c) {
  return a * b + c;
}

template <class T>
inline T floor_of(T x) {
  return exactly(x, [](auto v) { return round_down(v); });
}
template <class T>
inline T nearest_of(T x) {
  return exactly(x, [](auto v) { return round_even(v); });
}
template <class T>
inline T size_of_number(T x) {
  return exactly(x, [](auto v) { return magnitude(v); });
}
template <class T>
inline bool is_within(T x, int64_t size) {
  return plain(x) >= 0 && plain(x) < static_cast<decltype(plain(x))>(size);
}

// A coordinate in elements, and its slope against the grid's number.
template <class T>
struct Coordinate {
  T at, slope;
};

// Into [low, high], and what is not finite outside.
template <class T>
inline Coordinate<T> held_inside(Coordinate<T> c, int64_t size) {
  const T last = T(size - 1);
  if (!(plain(c.at) > 0)) return {T(0), T(0)};  // NaN too
  return plain(c.at) >= plain(last) ? Coordinate<T>{last, T(0)} : c;
}
template <class T>
inline Coordinate<T> finite(Coordinate<T> c) {
  return magnitude(plain(c.at)) < __builtin_inff() ? c : Coordinate<T>{T(-100), T(0)};
}

// --- of images: two reflections at once ---------------------------------------------------------
template <class T>
inline Coordinate<T> folded(Coordinate<T> c, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), twice = T(2 * (align_corners ? size - 1 : size));
  if (plain(twice) == 0) return {T(0), T(0)};
  const T from_low = align_corners ? c.at : c.at - low, off = size_of_number(from_low);
  const T turns = exactly(T(off / twice), [](auto v) { return round_to_zero(v); });
  const T extra = fused(-turns, twice, off), rest = twice - extra;
  const bool back = plain(rest) < plain(extra);
  const T slope = (plain(from_low) < 0) != back ? -c.slope : c.slope, at = back ? rest : extra;
  return {align_corners ? at : at + low, slope};
}

// Brought into the image as the border says.
template <class T>
inline Coordinate<T> bordered(Coordinate<T> c, int64_t size, const GridShape& s) {
  if (s.border == kGridReflection) c = folded(c, size, s.align_corners);
  return finite(s.border == kGridZeros ? c : held_inside(c, size));
}

// From [-1, 1] to elements.
template <class T>
inline Coordinate<T> placed(T g, int64_t size, bool align_corners) {
  const T scale = T(static_cast<double>(align_corners ? size - 1 : size) / 2);
  return {align_corners ? (g + T(1)) * scale : fused(g + T(1), scale, T(-0.5)), scale};
}

// --- of volumes: one reflection after the other -------------------------------------------------
template <class T>
inline Coordinate<T> reflected(Coordinate<T> c, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
  if (plain(span) == 0) return {T(0), T(0)};
  const T from_low = c.at - low, off = size_of_number(from_low);
  const auto turns = round_down(plain(T(off / span)));
  const T extra = T(remainder_toward_zero(plain(off), plain(span)));
  const T slope = plain(from_low) < 0 ? -c.slope : c.slope;
  const bool odd = turns - 2 * round_down(turns / 2) == 1;
  return odd ? Coordinate<T>{span - extra + low, -slope} : Coordinate<T>{extra + low, slope};
}

template <class T>
inline Coordinate<T> volume_coordinate(T g, int64_t size, const GridShape& s) {
  const T n = T(size), one = T(1), two = T(2);
  Coordinate<T> c = s.align_corners
                        ? Coordinate<T>{(g + one) / two * T(size - 1), T(size - 1) / two}
                        : Coordinate<T>{((g + one) * n - one) / two, n / two};
  if (s.border == kGridReflection) c = reflected(c, size, s.align_corners);
  return finite(s.border == kGridZeros ? c : held_inside(c, size));
}
