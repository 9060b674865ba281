// Numbers of places brought in order: a stable radix sort that looks only at the bits they use.
#pragma once
#include <cstdint>
#include <memory>

namespace msa::cpu {

struct Place {
  int64_t number;  // the cell's, counted row by row
  int64_t entry;   // which of the places it was
};

// Sorts n places whose numbers are in [0, bound); `spare` has room for as many. Returns where the
// result is: `places` or `spare`.
Place* sort_places(Place* places, Place* spare, int64_t n, int64_t bound);

}  // namespace msa::cpu
