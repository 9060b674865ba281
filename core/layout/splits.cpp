// Layouts of the views that return several tensors: all are pieces along one dimension.
#include <algorithm>

#include "generated/layouts_view.h"

namespace msa::layouts {
namespace {

void require_dims(const char* op, const Layout& input) {
  MSA_REQUIRE(!input.sizes.empty(), Runtime, op,
              " expects at least a 1-dimensional tensor, but got a tensor with 0 dims");
}

int64_t wrapped(const Layout& input, int64_t dim) {
  return wrap_dim(dim, static_cast<int64_t>(input.sizes.size()));
}

Layout piece(const Layout& input, int64_t dim, int64_t start, int64_t length) {
  Layout out = input;
  out.sizes[dim] = length;
  out.offset += start * input.strides[dim];
  return out;
}

}  // namespace

std::vector<Layout> split(const Layout& input, int64_t split_size, int64_t dim) {
  require_dims("split", input);
  MSA_REQUIRE(split_size >= 0, Runtime,
              "split expects split_size be non-negative, but got split_size=", split_size);
  dim = wrapped(input, dim);
  int64_t n = input.sizes[dim];
  MSA_REQUIRE(split_size > 0 || n == 0, Runtime,
              "split: split_size can only be 0 if dimension size is 0, but got dimension size of ",
              n);
  int64_t count = split_size == 0 ? 1 : std::max<int64_t>((n - 1) / split_size + (n > 0), 1);
  std::vector<Layout> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(piece(input, dim, i * split_size, std::min(split_size, n - i * split_size)));
  return out;
}

std::vector<Layout> split_with_sizes(const Layout& input, const Dims& split_sizes, int64_t dim) {
  require_dims("split_with_sizes", input);
  dim = wrapped(input, dim);
  std::vector<Layout> out;
  int64_t start = 0, n = input.sizes[dim];
  for (int64_t size : split_sizes) {
    MSA_REQUIRE(
        size >= 0, Runtime,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        split_sizes);
    MSA_REQUIRE(size <= n - start, Runtime,
                "split_with_sizes expects split_sizes to sum exactly to ", n,
                " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
    out.push_back(piece(input, dim, start, size));
    start += size;
  }
  MSA_REQUIRE(start == n, Runtime, "split_with_sizes expects split_sizes to sum exactly to ", n,
              " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  return out;
}

std::vector<Layout> unbind(const Layout& input, int64_t dim) {
  MSA_REQUIRE(!input.sizes.empty(), Index, "unbind: Dimension specified as ", dim,
              " but tensor has no dimensions");
  dim = wrapped(input, dim);
  std::vector<Layout> out;
  for (int64_t i = 0; i < input.sizes[dim]; ++i) out.push_back(select(input, dim, i));
  return out;
}

}  // namespace msa::layouts
