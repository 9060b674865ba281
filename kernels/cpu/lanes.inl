// Vectors of which only the first lanes count, and the fused multiply-add; included by kernels that
// each_isa.h compiles, inside an instruction set's namespace. For products of our own: results may
// differ in the last bit between instruction sets, as they do between PyTorch's builds.

template <class T>
inline V<T> splat(T x) {
  return x - V<T>{};
}
template <class T>
inline V<T> load_lanes(const T* p) {
  V<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store_lanes(T* p, const V<T>& v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Loads and stores of the first `count` lanes; the others read as zero and are not written.
#if MSA_VECTOR_BYTES == 64

inline __mmask16 first_lanes(int count) { return static_cast<__mmask16>((1u << count) - 1u); }
inline V<float> load_lanes(const float* p, int count) { return _mm512_maskz_loadu_ps(first_lanes(count), p); }
inline V<double> load_lanes(const double* p, int count) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(first_lanes(count)), p);
}
inline void store_lanes(float* p, V<float> v, int count) { _mm512_mask_storeu_ps(p, first_lanes(count), v); }
inline void store_lanes(double* p, V<double> v, int count) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(first_lanes(count)), v);
}
inline V<float> fma(V<float> a, V<float> b, V<float> c) { return _mm512_fmadd_ps(a, b, c); }
inline V<double> fma(V<double> a, V<double> b, V<double> c) { return _mm512_fmadd_pd(a, b, c); }

#elif MSA_VECTOR_BYTES == 32

// Lane i is on where i < count: a window into eight ones followed by eight zeros.
alignas(64) constexpr int32_t kLaneMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
inline __m256i first_lanes(int words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMasks + 8 - words));
}
inline V<float> load_lanes(const float* p, int count) { return _mm256_maskload_ps(p, first_lanes(count)); }
inline V<double> load_lanes(const double* p, int count) { return _mm256_maskload_pd(p, first_lanes(2 * count)); }
inline void store_lanes(float* p, V<float> v, int count) { _mm256_maskstore_ps(p, first_lanes(count), v); }
inline void store_lanes(double* p, V<double> v, int count) { _mm256_maskstore_pd(p, first_lanes(2 * count), v); }
inline V<float> fma(V<float> a, V<float> b, V<float> c) { return _mm256_fmadd_ps(a, b, c); }
inline V<double> fma(V<double> a, V<double> b, V<double> c) { return _mm256_fmadd_pd(a, b, c); }

#else

template <class T>
inline V<T> load_lanes(const T* p, int count) {
  V<T> v{};
  for (int i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
template <class T>
inline void store_lanes(T* p, V<T> v, int count) {
  for (int i = 0; i < count; ++i) p[i] = v[i];
}
inline V<float> fma(V<float> a, V<float> b, V<float> c) { return a * b + c; }
inline V<double> fma(V<double> a, V<double> b, V<double> c) { return a * b + c; }

#endif

template <class T>
inline T sum_of_lanes(V<T> v) {
  for (int width = kLanes<T> / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) v[i] += v[i + width];
  return v[0];
}

template <class T>
inline V<T> larger(V<T> a, V<T> b) {
  return a > b ? a : b;
}
template <class T>
inline T largest_lane(V<T> v) {
  T best = v[0];
  for (int i = 1; i < kLanes<T>; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

// Calls step(offset, lanes) over n elements, whole vectors first.
template <class T, class F>
inline void by_lanes(int64_t n, F&& step) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) step(i, kLanes<T>);
  if (i < n) step(i, static_cast<int>(n - i));
}

// Whether a comparison holds in some lane.
template <class M>
inline bool any_lane(M mask) {
#if MSA_VECTOR_BYTES == 64
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif MSA_VECTOR_BYTES == 32
  return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
#else
  constexpr int lanes = sizeof(M) / sizeof(mask[0]);
  bool any = false;
  for (int i = 0; i < lanes; ++i) any |= mask[i] != 0;
  return any;
#endif
}

// Whether some lane is below zero.
inline bool any_negative(V<float> x) {
#if MSA_VECTOR_BYTES == 64
  return _mm512_cmp_ps_mask(x, V<float>{}, _CMP_LT_OQ) != 0;
#elif MSA_VECTOR_BYTES == 32
  return _mm256_movemask_ps(_mm256_cmp_ps(x, V<float>{}, _CMP_LT_OQ)) != 0;
#else
  return any_lane(x < 0.0f);
#endif
}
inline bool any_negative(V<double> x) { return any_lane(x < 0.0); }

template <class T>
inline V<T> size_of(V<T> x) {
  return x < T(0) ? -x : x;
}
// The whole number nearest to x, 0 <= x < 2^23 (2^52).
template <class T>
inline V<T> nearest_whole(V<T> x) {
  constexpr T shift = sizeof(T) == 4 ? T(1 << 23) : T(int64_t{1} << 52);
  return (x + shift) - shift;
}
