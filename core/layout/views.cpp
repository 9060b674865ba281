// Layouts of the views that return one tensor.
#include <algorithm>

#include "generated/layouts_view.h"

namespace msa::layouts {
namespace {

int64_t rank(const Layout& input) { return static_cast<int64_t>(input.sizes.size()); }

void drop_dim(Layout& layout, size_t dim) {
  layout.sizes.erase(dim);
  layout.strides.erase(dim);
}

void add_dim(Layout& layout, size_t at, int64_t size, int64_t stride) {
  layout.sizes.insert(at, size);
  layout.strides.insert(at, stride);
}

}  // namespace

Layout view(const Layout& input, const Dims& size) {
  Dims sizes = infer_sizes(size, product(input.sizes));
  std::optional<Dims> strides = view_strides(input.sizes, input.strides, sizes);
  MSA_REQUIRE(strides, Runtime, "view: size ", size, " is not compatible with a tensor of size ",
              input.sizes, " and stride ", input.strides,
              ": a new dimension would span two separate old ones. Use .reshape(...) instead.");
  return {sizes, *strides, input.offset};
}

Layout expand(const Layout& input, const Dims& size) {
  MSA_REQUIRE(size.size() >= input.sizes.size(), Runtime, "expand: the number of sizes provided (",
              size.size(), ") must be greater or equal to the number of dimensions in the tensor (",
              input.sizes.size(), ")");
  Layout out{size, Dims(size.size(), 0), input.offset};
  size_t lead = size.size() - input.sizes.size();
  for (size_t d = size.size(); d-- > 0;) {
    bool exists = d >= lead;
    MSA_REQUIRE(exists || size[d] >= 0, Runtime, "expand: the expanded size of the tensor (",
                size[d], ") isn't allowed in a leading, non-existing dimension ", d);
    int64_t have = exists ? input.sizes[d - lead] : 1, want = size[d] == -1 ? have : size[d];
    MSA_REQUIRE(want >= 0 && (have == want || have == 1), Runtime,
                "expand: the expanded size of the tensor (", want,
                ") must match the existing size (", have, ") at non-singleton dimension ", d,
                ". Target sizes: ", size, ". Tensor sizes: ", input.sizes);
    out.sizes[d] = want;
    if (have != want || input.sizes.empty()) continue;
    out.strides[d] = exists ? input.strides[d - lead] : out.sizes[d + 1] * out.strides[d + 1];
  }
  return out;
}

Layout permute(const Layout& input, const Dims& dims) {
  MSA_REQUIRE(dims.size() == input.sizes.size(), Runtime, "permute: ", dims, " has ", dims.size(),
              " dimensions and the tensor ", input.sizes.size(), "; name each of them once");
  Layout out{Dims(dims.size()), Dims(dims.size()), input.offset};
  Dims seen(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t d = wrap_dim(dims[i], rank(input));
    MSA_REQUIRE(!seen[d]++, Runtime, "permute(): duplicate dims are not allowed: ", dims);
    out.sizes[i] = input.sizes[d];
    out.strides[i] = input.strides[d];
  }
  return out;
}

Layout transpose(const Layout& input, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, rank(input));
  dim1 = wrap_dim(dim1, rank(input));
  Layout out = input;
  if (rank(input) == 0) return out;
  std::swap(out.sizes[dim0], out.sizes[dim1]);
  std::swap(out.strides[dim0], out.strides[dim1]);
  return out;
}

Layout t(const Layout& input) {
  MSA_REQUIRE(rank(input) <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is ",
              rank(input), "D; use transpose(dim0, dim1)");
  return rank(input) < 2 ? input : transpose(input, 0, 1);
}

Layout alias(const Layout& input) { return input; }

Layout unsqueeze(const Layout& input, int64_t dim) {
  dim = wrap_dim(dim, rank(input) + 1);
  Layout out = input;
  int64_t stride = dim < rank(input) ? input.sizes[dim] * input.strides[dim] : 1;
  add_dim(out, dim, 1, stride);
  return out;
}

Layout squeeze(const Layout& input) {
  Layout out = input;
  for (size_t d = out.sizes.size(); d-- > 0;)
    if (out.sizes[d] == 1) drop_dim(out, d);
  return out;
}

Layout squeeze_dim(const Layout& input, int64_t dim) {
  dim = wrap_dim(dim, rank(input));
  Layout out = input;
  if (rank(input) > 0 && out.sizes[dim] == 1) drop_dim(out, dim);
  return out;
}

Layout squeeze_dims(const Layout& input, const Dims& dim) {
  uint64_t named = 0;
  for (int64_t d : dim) {
    int64_t w = wrap_dim(d, rank(input));
    MSA_REQUIRE(!(named >> w & 1), Runtime, "squeeze: dim ", w,
                " appears multiple times in the list of dims");
    named |= uint64_t{1} << w;
  }
  Layout out = input;
  for (size_t d = out.sizes.size(); d-- > 0;)
    if ((named >> d & 1) && out.sizes[d] == 1) drop_dim(out, d);
  return out;
}

Layout slice(const Layout& input, int64_t dim, OptInt start, OptInt end, int64_t step) {
  MSA_REQUIRE(rank(input) > 0, Index, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, rank(input));
  MSA_REQUIRE(step > 0, Runtime, "slice step must be positive, got ", step,
              "; use flip() to reverse a tensor");
  int64_t n = input.sizes[dim];
  auto bound = [n](int64_t i) { return std::clamp(i < 0 ? i + n : i, int64_t{0}, n); };
  int64_t from = bound(start.value_or(0)), to = std::max(bound(end.value_or(n)), from);
  Layout out = input;
  out.sizes[dim] = (to - from) / step + ((to - from) % step != 0);
  out.offset += from * input.strides[dim];
  // A step past the end leaves one element at most, whose stride is never used.
  if (__builtin_mul_overflow(input.strides[dim], step, &out.strides[dim]))
    out.strides[dim] = input.strides[dim];
  return out;
}

Layout select(const Layout& input, int64_t dim, int64_t index) {
  MSA_REQUIRE(rank(input) > 0, Index, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, rank(input));
  int64_t n = input.sizes[dim];
  MSA_REQUIRE(index >= -n && index < n, Index, "select(): index ", index,
              " out of range for tensor of size ", input.sizes, " at dimension ", dim);
  Layout out = input;
  out.offset += (index < 0 ? index + n : index) * input.strides[dim];
  drop_dim(out, dim);
  return out;
}

Layout narrow(const Layout& input, int64_t dim, int64_t start, int64_t length) {
  MSA_REQUIRE(rank(input) > 0, Runtime, "narrow() cannot be applied to a 0-dim tensor.");
  MSA_REQUIRE(length >= 0, Runtime, "narrow(): length must be non-negative, got ", length);
  dim = wrap_dim(dim, rank(input));
  int64_t n = input.sizes[dim];
  MSA_REQUIRE(start >= -n && start <= n, Index,
              "narrow(): start out of range (expected to be in range of [", -n, ", ", n,
              "], but got ", start, ")");
  if (start < 0) start += n;
  MSA_REQUIRE(length <= n - start, Runtime, "narrow(): start (", start, ") + length (", length,
              ") exceeds dimension size (", n, ")");
  Layout out = input;
  out.sizes[dim] = length;
  out.offset += start * input.strides[dim];
  return out;
}

Layout diagonal(const Layout& input, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t a = wrap_dim(dim1, rank(input)), b = wrap_dim(dim2, rank(input));
  MSA_REQUIRE(a != b, Runtime, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t rows = input.sizes[a] + std::min<int64_t>(offset, 0),
          columns = input.sizes[b] - std::max<int64_t>(offset, 0);
  int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  Layout out = input;
  if (length > 0)
    out.offset += offset >= 0 ? offset * input.strides[b] : -offset * input.strides[a];
  drop_dim(out, std::max(a, b));
  drop_dim(out, std::min(a, b));
  add_dim(out, out.sizes.size(), length, input.strides[a] + input.strides[b]);
  return out;
}

Layout unfold(const Layout& input, int64_t dimension, int64_t size, int64_t step) {
  int64_t dim = wrap_dim(dimension, rank(input));
  bool scalar = rank(input) == 0;
  int64_t n = scalar ? 1 : input.sizes[dim], stride = scalar ? 1 : input.strides[dim];
  MSA_REQUIRE(size >= 0, Runtime, "unfold: size is ", size, " but must be >= 0");
  MSA_REQUIRE(size <= n, Runtime, "unfold: maximum size for tensor at dimension ", dim, " is ", n,
              " but size is ", size);
  MSA_REQUIRE(step > 0, Runtime, "unfold: step is ", step, " but must be > 0");
  Layout out = input;
  if (!scalar) {
    out.sizes[dim] = (n - size) / step + 1;
    out.strides[dim] = stride * step;
  }
  add_dim(out, out.sizes.size(), size, stride);
  return out;
}

// Whether it stays inside the storage is checked where the tensor is made, see `alias`.
Layout as_strided(const Layout& input, const Dims& size, const Dims& stride,
                  OptInt storage_offset) {
  MSA_REQUIRE(size.size() == stride.size(), Runtime,
              "as_strided: mismatch in length of strides and shape: ", stride, " and ", size);
  for (int64_t s : stride)
    MSA_REQUIRE(
        s >= 0, Runtime,
        "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
  return {size, stride, storage_offset.value_or(input.offset)};
}

// The parts of complex elements as a last dimension, and back; layouts count in the new elements.
Layout view_as_real(const Layout& input) {
  Layout out = input;
  for (int64_t& stride : out.strides) stride *= 2;
  out.offset *= 2;
  add_dim(out, out.sizes.size(), 2, 1);
  return out;
}

Layout view_as_complex(const Layout& input) {
  MSA_REQUIRE(rank(input) > 0 && input.sizes.back() == 2 && input.strides.back() == 1, Runtime,
              "view_as_complex: the last dimension must have size 2 and stride 1, got sizes ",
              input.sizes, ", strides ", input.strides, "; call contiguous() first");
  Layout out = input;
  drop_dim(out, out.sizes.size() - 1);
  bool even = out.offset % 2 == 0;
  for (int64_t& stride : out.strides) {
    even &= stride % 2 == 0;
    stride /= 2;
  }
  MSA_REQUIRE(even, Runtime,
              "view_as_complex: offset and strides but the last must be divisible by 2, got ",
              input.offset, " and ", input.strides, "; call clone() first");
  out.offset /= 2;
  return out;
}

}  // namespace msa::layouts
