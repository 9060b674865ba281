// Vectors of doubles for sums and maxima in lanes; included in the namespace of each instruction
// set.
constexpr int64_t kDoubles = MSA_VECTOR_BYTES / 8;
typedef double Doubles __attribute__((vector_size(MSA_VECTOR_BYTES)));
typedef int64_t Mask __attribute__((vector_size(MSA_VECTOR_BYTES)));  // a lane is 0 or -1

inline Doubles load(const double* from) {
  Doubles v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline Doubles magnitude(Doubles v) { return v < 0 ? -v : v; }
inline Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }
inline double sum_of(Doubles v) {
  double s = 0;
  for (int64_t i = 0; i < kDoubles; ++i) s += v[i];
  return s;
}
inline int64_t count_of(Mask m) {
  int64_t s = 0;
  for (int64_t i = 0; i < kDoubles; ++i) s -= m[i];
  return s;
}
inline double max_of(Doubles v) {
  double s = v[0];
  for (int64_t i = 1; i < kDoubles; ++i) s = v[i] > s ? v[i] : s;
  return s;
}
