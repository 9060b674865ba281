// Contiguity, broadcasting and view rules over sizes and strides.
#include "core/layout/layout.h"

#include <algorithm>

#include "core/base/error.h"

namespace msa {
namespace {

// The dimension order in which the strides of a dense layout grow, for 4-d and 5-d channels last.
constexpr int kOrder4[] = {1, 3, 2, 0};
constexpr int kOrder5[] = {1, 4, 3, 2, 0};

std::span<const int> channels_last_order(size_t ndim) {
  MSA_REQUIRE(ndim == 4 || ndim == 5, Runtime,
              "channels_last needs a 4-d tensor, channels_last_3d a 5-d one; got ", ndim,
              " dimensions");
  return ndim == 4 ? std::span<const int>(kOrder4) : std::span<const int>(kOrder5);
}

// Whether dimension `a` should come outside `b` (1), inside (-1), or is tied (0): the first operand
// that does not repeat along either decides.
int compare_dims(DimsView sizes, std::span<const DimsView> strides, int64_t a, int64_t b) {
  for (DimsView s : strides) {
    if (s[a] == 0 || s[b] == 0) continue;
    if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

Dims broadcast_slow(std::string_view who, DimsView a, DimsView b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims out(a);
  size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t x = a[lead + i], y = b[i];
    MSA_REQUIRE(x == y || x == 1 || y == 1, Runtime, who, ": cannot broadcast ", a, " with ", b,
                ": dim ", lead + i, " is ", x, " and ", y);
    if (x == 1) out[lead + i] = y;
  }
  return out;
}

}  // namespace

int64_t product(DimsView sizes) {
  int64_t n = 1;
  for (int64_t s : sizes)
    MSA_REQUIRE(!__builtin_mul_overflow(n, s, &n), Runtime, "the sizes ", sizes,
                " overflow: their product does not fit into 64 bits.");
  return n;
}

// Steps are unsigned: those of an empty tensor may leave 64 bits, and nothing is ever read there.
Dims contiguous_strides(DimsView sizes) {
  Dims strides(sizes.size());
  uint64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

Dims channels_last_strides(DimsView sizes) {
  Dims strides(sizes.size());
  uint64_t step = 1;
  for (int d : channels_last_order(sizes.size())) {
    strides[d] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(sizes[d]);
  }
  return strides;
}

bool is_contiguous(DimsView sizes, DimsView strides) {
  int64_t step = 1;
  bool ok = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) {
      ok &= strides[i] == step;
      step *= sizes[i];
    }
  }
  return ok;
}

bool is_channels_last(DimsView sizes, DimsView strides) {
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  int64_t step = 1;
  for (int d : channels_last_order(sizes.size())) {
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

bool is_dense(DimsView sizes, DimsView strides) {
  if (is_contiguous(sizes, strides)) return true;
  Dims order;  // dimensions that matter, strides growing
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 2) continue;
    size_t at = 0;
    while (at < order.size() && strides[order[at]] <= strides[d]) ++at;
    order.insert(at, static_cast<int64_t>(d));
  }
  int64_t step = 1;
  for (int64_t d : order) {
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

bool is_expanded(DimsView sizes, DimsView strides) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (strides[d] == 0 && sizes[d] > 1) return true;
  return false;
}

bool may_overlap_itself(DimsView sizes, DimsView strides) {
  if (is_dense(sizes, strides)) return false;
  Dims order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 2) continue;
    size_t at = 0;
    while (at < order.size() && strides[order[at]] <= strides[d]) ++at;
    order.insert(at, static_cast<int64_t>(d));
  }
  int64_t reach = 0;  // the farthest element that the smaller strides get to
  for (int64_t d : order) {
    if (strides[d] <= reach) return true;
    reach += strides[d] * (sizes[d] - 1);
  }
  return false;
}

Dims stride_order(DimsView sizes, std::span<const DimsView> strides) {
  Dims order;
  for (size_t d = sizes.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t before = i; before-- > 0;) {
      int c = compare_dims(sizes, strides, order[before], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[before], order[at]);
        at = before;
      }
    }
  }
  return order;
}

Dims preserved_strides(DimsView sizes, DimsView strides) {
  if (is_dense(sizes, strides)) return strides;
  Dims out(sizes.size());
  int64_t step = 1;
  for (int64_t d : stride_order(sizes, {&strides, 1})) {
    out[d] = step;
    if (sizes[d] > 1) step *= sizes[d];
  }
  return out;
}

Dims broadcast_sizes(std::string_view who, DimsView a, DimsView b) {
  if (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin())) return a;
  return broadcast_slow(who, a, b);
}

Dims expanded_strides(DimsView from_sizes, DimsView from_strides, DimsView to) {
  Dims out(to.size(), 0);
  size_t lead = to.size() - from_sizes.size();
  for (size_t i = 0; i < from_sizes.size(); ++i)
    if (from_sizes[i] == to[lead + i]) out[lead + i] = from_strides[i];
  return out;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  int64_t n = std::max<int64_t>(ndim, 1);
  MSA_REQUIRE(dim >= -n && dim < n, Index, "Dimension out of range (expected to be in range of [",
              -n, ", ", n - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

Dims infer_sizes(DimsView sizes, int64_t numel) {
  Dims out(sizes);
  int64_t known = 1, free = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      MSA_REQUIRE(free < 0, Runtime, "only one dimension can be inferred: shape ", sizes,
                  " has several -1");
      free = static_cast<int64_t>(i);
    } else {
      MSA_REQUIRE(sizes[i] >= 0, Runtime, "invalid shape dimension ", sizes[i], " in ", sizes);
      if (__builtin_mul_overflow(known, sizes[i], &known)) known = -1;
    }
  }
  if (free >= 0 && known == 0)
    MSA_REQUIRE(numel != 0, Runtime, "cannot reshape tensor of 0 elements into shape ", sizes,
                " because the unspecified dimension size -1 can be any value and is ambiguous");
  bool fits = free < 0 ? known == numel : known > 0 && numel % known == 0;
  MSA_REQUIRE(fits, Runtime, "shape ", sizes, " is invalid for input of size ", numel);
  if (free >= 0) out[free] = numel / known;
  return out;
}

std::optional<Dims> view_strides(DimsView sizes, DimsView strides, DimsView new_sizes) {
  if (product(sizes) == 0) {
    bool same = std::equal(sizes.begin(), sizes.end(), new_sizes.begin(), new_sizes.end());
    return same ? Dims(strides) : contiguous_strides(new_sizes);
  }
  Dims out(new_sizes.size(), 1);
  auto to = static_cast<int64_t>(new_sizes.size()) - 1;
  // Old dimensions that lie as one run are one chunk; the new ones must cut each chunk evenly.
  int64_t chunk = 1, cut = 1;
  int64_t base = strides.empty() ? 1 : strides.back();
  for (auto from = static_cast<int64_t>(sizes.size()) - 1; from >= 0; --from) {
    chunk *= sizes[from];
    if (from > 0 && (sizes[from - 1] == 1 || strides[from - 1] == chunk * base)) continue;
    while (to >= 0 && (cut < chunk || new_sizes[to] == 1)) {
      out[to] = cut * base;
      cut *= new_sizes[to--];
    }
    if (cut != chunk) return std::nullopt;
    if (from > 0) {
      base = strides[from - 1];
      chunk = cut = 1;
    }
  }
  if (to != -1 && !sizes.empty()) return std::nullopt;
  return out;
}

}  // namespace msa
