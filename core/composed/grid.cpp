// Reading images at real-valued places: grid_sampler and the grids of affine maps.
#include "core/composed/values.h"
#include "generated/composed_layer.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_layer.h"
#include "generated/ops_linalg.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

constexpr int64_t kBicubic = 2;

void check(const Tensor& input, const Tensor& grid, int64_t mode) {
  MSA_REQUIRE(input.dim() == 4 || input.dim() == 5, Runtime,
              "grid_sampler: expected a 4D or 5D input, but its shape is ", DimsView(input.sizes()),
              ".");
  MSA_REQUIRE(grid.dim() == input.dim() && grid.size(0) == input.size(0) &&
                  grid.size(-1) == input.dim() - 2,
              Runtime, "grid_sampler: expected a grid (", input.size(0), ", ..., ", input.dim() - 2,
              ") of ", input.dim(), " dimensions, but its shape is ", DimsView(grid.sizes()), ".");
  MSA_REQUIRE(input.dtype() == grid.dtype(), Runtime,
              "grid_sampler: expected input and grid to have same dtype, but input has ",
              input.dtype(), " and grid has ", grid.dtype(), ".");
  MSA_REQUIRE(mode != kBicubic || input.dim() == 4, Runtime,
              "grid_sampler: bicubic interpolation only supports 4D input.");
  for (size_t d = 2; d < input.sizes().size(); ++d)
    MSA_REQUIRE(
        input.sizes()[d] > 0, Runtime,
        "grid_sampler: expected input to have non-empty spatial dimensions, but its shape is ",
        DimsView(input.sizes()), ".");
}

}  // namespace

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners) {
  check(input, grid, interpolation_mode);
  return ops::_grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor affine_grid_generator(const Tensor& theta, const Dims& size, bool align_corners) {
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  MSA_REQUIRE(spatial == 2 || spatial == 3, Runtime,
              "affine_grid_generator: needs 4d (spatial) or 5d (volumetric) size, but got ",
              DimsView(size), ".");
  MSA_REQUIRE(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == spatial &&
                  theta.size(2) == spatial + 1,
              Runtime, "affine_grid_generator: expected a batch of affine matrices (", size[0],
              ", ", spatial, ", ", spatial + 1, "), but got ", DimsView(theta.sizes()), ".");
  Dims out(DimsView(size).subspan(2));
  // The coordinates x, y, (z,) 1 of all places.
  std::vector<Tensor> coordinates;
  for (int64_t d = spatial - 1; d >= 0; --d) {
    const int64_t n = size[static_cast<size_t>(d) + 2];
    std::vector<double> line;
    for (int64_t i = 0; i < n; ++i) {
      const double from_corner =
          n > 1 ? -1 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1) : 0;
      line.push_back(align_corners
                         ? from_corner
                         : from_corner * static_cast<double>(n - 1) / static_cast<double>(n));
    }
    Dims column(static_cast<size_t>(spatial - d), 1);
    column[0] = n;
    const Tensor values = ops::to_dtype(table(line, theta.device()), theta.dtype());
    coordinates.push_back(ops::expand(ops::view(values, column), out));
  }
  coordinates.push_back(ops::ones_like(coordinates[0]));
  const Tensor base = ops::view(ops::stack(coordinates, -1), {-1, spatial + 1});
  Dims sizes{size[0]};
  for (int64_t n : out) sizes.push_back(n);
  sizes.push_back(spatial);
  return ops::view(ops::matmul(base, ops::transpose(theta, 1, 2)), sizes);
}

}  // namespace msa::composed
