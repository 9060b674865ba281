// Reading images at real-valued places: grid_sampler and the grids of affine maps.
#include "core/composed/values.h"
#include "generated/composed_layer.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_layer.h"
#include "generated/ops_linalg.h"
#include "generated/ops_math.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

enum Mode : int64_t { kBilinear, kNearest, kBicubic };
enum Border : int64_t { kZeros, kEdge, kReflection };

Tensor times(const Tensor& t, double factor) { return ops::mul(t, number(factor)); }
Tensor plus(const Tensor& t, double term) { return ops::add(t, number(term)); }

// One spatial dimension of the input as the grid's coordinates see it.
struct Axis {
  int64_t size;
  int64_t border;
  bool align_corners;

  // From [-1, 1] to elements.
  Tensor place(const Tensor& grid) const {
    const double n = static_cast<double>(size);
    return align_corners ? times(plus(grid, 1), (n - 1) / 2)
                         : times(plus(times(plus(grid, 1), n), -1), 0.5);
  }

  // Brought into the image where the border says so; what is not finite falls outside.
  Tensor inside(const Tensor& place) const {
    Tensor at = place;
    if (border == kReflection) at = reflected(at);
    if (border != kZeros) at = ops::clamp(at, number(0), number(static_cast<double>(size) - 1));
    return ops::masked_fill(at, ops::logical_not(ops::isfinite(at)), number(-100));
  }

  Tensor reflected(const Tensor& at) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return times(at, 0);
    const Tensor off = ops::abs(plus(at, -low));
    const Tensor extra = ops::fmod(off, number(span));
    const Tensor odd =
        ops::eq(ops::remainder(ops::floor(times(off, 1 / span)), number(2)), number(1));
    return plus(ops::where(odd, ops::rsub(extra, number(span)), extra), low);
  }
};

// An element along one axis, as whole numbers, and its weight (undefined: 1).
struct Tap {
  Tensor at, weight;
};

std::vector<Tap> cubic_taps(const Axis& axis, const Tensor& place) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& x) {
    return plus(ops::mul(plus(times(x, a + 2), -(a + 3)), ops::mul(x, x)), 1);
  };
  const auto far = [](const Tensor& x) {
    return plus(ops::mul(plus(ops::mul(plus(times(x, a), -5 * a), x), 8 * a), x), -4 * a);
  };
  const Tensor floor = ops::floor(place), part = ops::sub(place, floor);
  const Tensor rest = ops::rsub(part, number(1));
  const Tensor weights[] = {far(plus(part, 1)), near(part), near(rest), far(plus(rest, 1))};
  std::vector<Tap> taps;
  for (int64_t i = 0; i < 4; ++i)
    taps.push_back({axis.inside(plus(floor, static_cast<double>(i - 1))), weights[i]});
  return taps;
}

std::vector<Tap> taps_of(const Axis& axis, const Tensor& grid, int64_t mode) {
  const Tensor place = axis.place(grid);
  if (mode == kBicubic) return cubic_taps(axis, place);
  const Tensor at = axis.inside(place);
  if (mode == kNearest) return {{ops::round(at), Tensor()}};
  const Tensor floor = ops::floor(at), part = ops::sub(at, floor);
  return {{floor, ops::rsub(part, number(1))}, {plus(floor, 1), part}};
}

// The elements (N, C, places) at one combination of taps, weighted; 0 outside the image.
Tensor term(const Tensor& flat, const std::vector<const Tap*>& corner, const Dims& sizes) {
  Tensor index, valid, weight;
  for (size_t d = 0; d < corner.size(); ++d) {
    const Tensor& at = corner[d]->at;
    const double last = static_cast<double>(sizes[d + 2]) - 1;
    const Tensor within = ops::logical_and(ops::ge(at, number(0)), ops::le(at, number(last)));
    const Tensor whole =
        ops::to_dtype(ops::masked_fill(at, ops::logical_not(within), number(0)), DType::I64);
    index = index.defined() ? ops::add(ops::mul(index, wrapped_number(Scalar(sizes[d + 2]))), whole)
                            : whole;
    valid = valid.defined() ? ops::logical_and(valid, within) : within;
    const Tensor& w = corner[d]->weight;
    if (w.defined()) weight = weight.defined() ? ops::mul(weight, w) : w;
  }
  const Dims all{flat.size(0), flat.size(1), index.size(1)};
  const Tensor read = ops::gather(flat, 2, ops::expand(ops::unsqueeze(index, 1), all));
  const Tensor kept = ops::masked_fill(read, ops::unsqueeze(ops::logical_not(valid), 1), number(0));
  return weight.defined() ? ops::mul(kept, ops::unsqueeze(weight, 1)) : kept;
}

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
  if (input.dim() == 4 && interpolation_mode != kBicubic && is_floating(input.dtype()))
    return ops::_grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners);
  const int64_t spatial = input.dim() - 2, batch = input.size(0);
  const int64_t places = batch ? grid.numel() / batch / spatial : 0;
  std::vector<std::vector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    const Axis axis{input.size(d + 2), padding_mode, align_corners};
    const Tensor along = ops::reshape(ops::select(grid, -1, spatial - 1 - d), {batch, places});
    taps.push_back(taps_of(axis, along, interpolation_mode));
  }
  const Tensor flat = ops::flatten(input, 2, -1);
  const size_t each = taps[0].size();
  size_t corners = 1;
  for (int64_t d = 0; d < spatial; ++d) corners *= each;
  Tensor out;
  for (size_t c = 0; c < corners; ++c) {
    std::vector<const Tap*> corner;
    for (size_t d = 0, rest = c; d < taps.size(); ++d, rest /= each)
      corner.push_back(&taps[d][rest % each]);
    const Tensor one = term(flat, corner, input.sizes());
    out = out.defined() ? ops::add(out, one) : one;
  }
  if (interpolation_mode == kNearest && grid.requires_grad()) {  // its gradient is 0, not none
    out = ops::add(out,
                   ops::sum(ops::masked_fill(grid, ops::ones_like(grid, DType::Bool), number(0))));
  }
  Dims sizes{batch, input.size(1)};
  for (int64_t d = 1; d <= spatial; ++d) sizes.push_back(grid.size(d));
  return ops::view(out, sizes);
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
