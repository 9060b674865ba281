// How far two runs of numbers are apart, wherever they lie: in memory or in files of any size.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/dtype/dtype.h"

namespace msa::compare {

// A run of bytes of an open file.
struct Piece {
  int file;
  int64_t offset;
  int64_t bytes;
};

// Where the elements of one side are: at `memory`, or else in the pieces, one after the other.
struct Source {
  DType dtype;
  const char* memory = nullptr;
  std::vector<Piece> pieces;
};

struct Tolerance {
  double relative, absolute;  // near: |b - a| <= absolute + relative * |a|
  bool equal_nan;             // NaN is near NaN
};

// Of pairs of real numbers; a complex element is two. Sums and maxima are over pairs without NaN.
struct Figures {
  int64_t count = 0, near = 0, equal = 0;
  int64_t nan_a = 0, nan_b = 0, inf_a = 0, inf_b = 0;
  double max_abs = 0, sum_abs = 0;
  double max_rel = 0, sum_rel = 0;         // relative to the larger of the two
  double dot = 0, norm_a = 0, norm_b = 0;  // of finite pairs, the norms squared
  uint64_t max_ulp = 0;
  double sum_ulp = 0;
  bool has_ulp = false;  // both sides have one floating-point type
  // The pair farthest apart; one with a single NaN is farther than all others.
  int64_t worst = -1;
  double worst_distance = 0, worst_a = 0, worst_b = 0;
  int error = 0;            // errno of a read that failed
  bool ends_early = false;  // a file has fewer bytes than its pieces say

  void add(const Figures& next);  // that of the elements after ours
};

// Compares `count` elements. Works without the core lock, in pieces that fit the cache, on all
// threads; the result does not depend on their number.
Figures compare(const Source& a, const Source& b, int64_t count, const Tolerance& near);

// One block of at most kBlock pairs, already as doubles; `first` is the index of the block's first.
inline constexpr int64_t kBlock = 2048;
using BlockLoop = void (*)(const double* a, const double* b, int64_t n, int64_t first,
                           const Tolerance& near, Figures& into);
using UlpLoop = void (*)(const void* a, const void* b, int64_t n, Figures& into);
using ConvertLoop = void (*)(const void* from, double* to, int64_t n);
inline constexpr int kDTypesRead = static_cast<int>(DType::F8E8M0FNU) + 1;
struct Loops {
  BlockLoop block;
  UlpLoop ulp[kDTypesRead];          // null for types without ULPs
  ConvertLoop convert[kDTypesRead];  // for complex types: n counts their parts
};
const Loops& loops();
const double* float8_values(DType t);  // of all 256 bytes

// The loop that reads elements of a dtype; null for names of bytes that are no numbers.
inline ConvertLoop reader_of(DType t) {
  return static_cast<int>(t) < kDTypesRead ? loops().convert[static_cast<int>(t)] : nullptr;
}

}  // namespace msa::compare
