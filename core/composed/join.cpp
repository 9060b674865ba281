// Stacking, splitting, padding, turning, and tensors made of places.
#include <algorithm>
#include <numeric>

#include "core/dispatch/host.h"
#include "generated/composed_join.h"
#include "generated/composed_layer.h"
#include "generated/ops_compare.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_index.h"
#include "generated/ops_join.h"
#include "generated/ops_math.h"
#include "generated/ops_order.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// At least `ndim` dimensions, new ones where the stacking functions put them.
Tensor at_least(const Tensor& t, int64_t ndim) {
  Tensor out = t;
  if (out.dim() == 0) out = ops::reshape(out, {1});
  if (ndim > 1 && out.dim() == 1) out = ops::unsqueeze(out, 0);
  if (ndim > 2 && out.dim() == 2) out = ops::unsqueeze(out, -1);
  return out;
}

TensorList all_at_least(const char* op, const TensorList& tensors, int64_t ndim) {
  MSA_REQUIRE(!tensors.empty(), Runtime, op, " expects a non-empty TensorList");
  TensorList out;
  for (const Tensor& t : tensors) out.push_back(at_least(t, ndim));
  return out;
}

void require_dims(const char* op, const Tensor& input, int64_t least) {
  MSA_REQUIRE(input.dim() >= least, Runtime, op, " requires a tensor with at least ", least,
              " dimension", least > 1 ? "s" : "", ", but got a tensor with ", input.dim(),
              " dimensions!");
}

TensorList split_evenly(const char* op, const Tensor& input, int64_t sections, int64_t dim) {
  int64_t n = input.size(dim);
  MSA_REQUIRE(sections > 0 && n % sections == 0, Runtime, op,
              " attempted to split along dimension ", dim, ", but the size of the dimension ", n,
              " is not divisible by the split_size ", sections, "!");
  return ops::tensor_split_sections(input, sections, dim);
}

int64_t columns_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }

}  // namespace

Tensor hstack(const TensorList& tensors) {
  TensorList rows = all_at_least("hstack", tensors, 1);
  return ops::cat(rows, columns_dim(rows[0]));
}
Tensor vstack(const TensorList& tensors) { return ops::cat(all_at_least("vstack", tensors, 2), 0); }
Tensor dstack(const TensorList& tensors) { return ops::cat(all_at_least("dstack", tensors, 3), 2); }
Tensor column_stack(const TensorList& tensors) {
  MSA_REQUIRE(!tensors.empty(), Runtime, "column_stack expects a non-empty TensorList");
  TensorList columns;
  for (const Tensor& t : tensors)
    columns.push_back(t.dim() <= 1 ? ops::reshape(t, {t.numel(), 1}) : t);
  return ops::hstack(columns);
}

TensorList hsplit_int(const Tensor& input, int64_t sections) {
  require_dims("torch.hsplit", input, 1);
  return split_evenly("torch.hsplit", input, sections, columns_dim(input));
}
TensorList hsplit_array(const Tensor& input, const Dims& indices) {
  require_dims("torch.hsplit", input, 1);
  return ops::tensor_split_indices(input, indices, columns_dim(input));
}
TensorList vsplit_int(const Tensor& input, int64_t sections) {
  require_dims("torch.vsplit", input, 2);
  return split_evenly("torch.vsplit", input, sections, 0);
}
TensorList vsplit_array(const Tensor& input, const Dims& indices) {
  require_dims("torch.vsplit", input, 2);
  return ops::tensor_split_indices(input, indices, 0);
}
TensorList dsplit_int(const Tensor& input, int64_t sections) {
  require_dims("torch.dsplit", input, 3);
  return split_evenly("torch.dsplit", input, sections, 2);
}
TensorList dsplit_array(const Tensor& input, const Dims& indices) {
  require_dims("torch.dsplit", input, 3);
  return ops::tensor_split_indices(input, indices, 2);
}

TensorList unsafe_split(const Tensor& input, int64_t split_size, int64_t dim) {
  return ops::split(input, split_size, dim);
}

Tensor constant_pad_nd(const Tensor& input, const Dims& pad, const Scalar& value) {
  auto pairs = static_cast<int64_t>(pad.size() / 2);
  MSA_REQUIRE(pad.size() % 2 == 0, Runtime, "Length of pad must be even but instead it equals ",
              pad.size());
  MSA_REQUIRE(pairs <= input.dim(), Runtime,
              "Length of pad should be no more than twice the number of dimensions of the input. ",
              "Pad length is ", pad.size(), " while the input has ", input.dim(), " dimensions.");
  Dims sizes = input.sizes();
  Tensor kept = input;
  for (int64_t i = 0; i < pairs; ++i) {
    int64_t d = input.dim() - 1 - i, before = pad[2 * i], after = pad[2 * i + 1];
    sizes[d] += before + after;
    MSA_REQUIRE(sizes[d] >= 0, Runtime, "The input size ", input.sizes()[d],
                ", plus negative padding ", before, " and ", after,
                ", resulted in a negative output size, which is invalid. Check dimension ", d,
                " of your input.");
    int64_t cut = std::max<int64_t>(0, -before);
    int64_t length = std::max<int64_t>(0, input.sizes()[d] - cut - std::max<int64_t>(0, -after));
    kept = ops::narrow(kept, d, std::min(cut, input.sizes()[d]), length);
  }
  Tensor out = ops::full(sizes, value, input.dtype(), input.device());
  Tensor place = out;
  for (int64_t i = 0; i < pairs; ++i) {
    int64_t d = input.dim() - 1 - i;
    place = ops::narrow(place, d, std::max<int64_t>(0, pad[2 * i]), kept.size(d));
  }
  ops::copy_(place, kept);
  return out;
}

Tensor _chunk_cat(const TensorList& tensors, int64_t dim, int64_t num_chunks) {
  MSA_REQUIRE(!tensors.empty(), Runtime, "_chunk_cat expects a non-empty input tensor list");
  MSA_REQUIRE(num_chunks >= 1, Runtime, "_chunk_cat expects positive num_chunks, got ", num_chunks);
  TensorList parts;
  for (const Tensor& t : tensors) {
    MSA_REQUIRE(dim < t.dim() && t.numel() > 0 && t.dtype() == tensors[0].dtype(), Runtime,
                "_chunk_cat expects non-empty tensors of one dtype with more than ", dim,
                " dimensions, but got ", t, " beside ", tensors[0]);
    int64_t d = wrap_dim(dim, t.dim()), n = t.size(d), each = (n + num_chunks - 1) / num_chunks;
    Dims pad(static_cast<size_t>(2 * (t.dim() - d)), 0);
    pad[pad.size() - 1] = each * num_chunks - n;
    Dims sizes(DimsView(t.sizes()).first(d));
    sizes.push_back(num_chunks);
    sizes.push_back(t.numel() / n * each / product(DimsView(t.sizes()).first(d)));
    parts.push_back(ops::reshape(ops::constant_pad_nd(t, pad, Scalar(int64_t{0})), sizes));
  }
  return ops::cat(parts, wrap_dim(dim, tensors[0].dim()) + 1);
}

Tensor _unpad(const Tensor& grad_output, const Dims& pad) {
  Dims opposite = pad;
  for (int64_t& n : opposite) n = -n;
  return ops::constant_pad_nd(grad_output, opposite);
}

Tensor rot90(const Tensor& input, int64_t k, const Dims& dims) {
  MSA_REQUIRE(dims.size() == 2, Runtime,
              "expected total rotation dims == 2, but got dims = ", dims.size());
  MSA_REQUIRE(input.dim() >= 2, Runtime,
              "expected total dims >= 2, but got total dims = ", input.dim());
  MSA_REQUIRE(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != input.dim(), Runtime,
              "expected rotation dims to be different, but got dim0 = ", dims[0],
              " and dim1 = ", dims[1]);
  for (int64_t d : dims)
    MSA_REQUIRE(d >= -input.dim() && d < input.dim(), Runtime,
                "Rotation dim out of range, dim = ", d);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return ops::transpose(ops::flip(input, {dims[1]}), dims[0], dims[1]);
    case 2:
      return ops::flip(input, dims);
    case 3:
      return ops::transpose(ops::flip(input, {dims[0]}), dims[0], dims[1]);
    default:
      return ops::clone(input, MemoryFormat::Contiguous);
  }
}

Tensor trace(const Tensor& input) {
  MSA_REQUIRE(input.dim() == 2, Runtime, "trace: expected a matrix, but got tensor with dim ",
              input.dim());
  return ops::sum(ops::diagonal(input));
}

Tensor sum_to_size(const Tensor& input, const Dims& size) {
  auto ndim = static_cast<int64_t>(size.size()), lead = input.dim() - ndim;
  bool fits = lead >= 0;
  Dims summed;
  for (int64_t d = 0; fits && d < input.dim(); ++d) {
    int64_t want = d < lead ? 1 : size[d - lead];
    if (d < lead || (want == 1 && input.sizes()[d] != 1)) summed.push_back(d);
    fits = d < lead || want == 1 || want == input.sizes()[d];
  }
  MSA_REQUIRE(fits, Runtime, "size {", size, "} is not expandable to size {", input.sizes(), "}.");
  if (size.empty()) return ops::sum(input);
  return summed.empty() ? ops::view(input, size)
                        : ops::reshape(ops::sum_dim(input, summed, true), size);
}

namespace {
Tensor triangle_places(const char* op, bool lower, int64_t row, int64_t col, int64_t offset,
                       OptDType dtype, OptDevice device) {
  MSA_REQUIRE(row >= 0, Runtime, op, ": row must be non-negative, got ", row);
  MSA_REQUIRE(col >= 0, Runtime, op, ": col must be non-negative, got ", col);
  // Each row's columns [first, last).
  const auto first = [&](int64_t r) { return lower ? 0 : std::clamp<int64_t>(r + offset, 0, col); };
  const auto last = [&](int64_t r) {
    return lower ? std::clamp<int64_t>(r + offset + 1, 0, col) : col;
  };
  int64_t count = 0;
  for (int64_t r = 0; r < row; ++r) count += last(r) - first(r);
  const Tensor places = empty(Dims{2, count}, DType::I64);
  int64_t *rows = places.data<int64_t>(), *columns = rows + count;
  for (int64_t r = 0; r < row; ++r) {
    const int64_t n = last(r) - first(r);
    std::fill_n(rows, n, r);
    std::iota(columns, columns + n, first(r));
    rows += n;
    columns += n;
  }
  const DType wanted = dtype.value_or(DType::I64);
  const Device where = device.value_or(default_device());
  const bool here = wanted == DType::I64 && where.is_cpu();
  return here ? places : ops::_to_copy(places, wanted, where, MemoryFormat::Contiguous);
}
}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptDevice device) {
  return triangle_places("tril_indices", true, row, col, offset, dtype, device);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, OptDType dtype, OptDevice device) {
  return triangle_places("triu_indices", false, row, col, offset, dtype, device);
}

// Places that rise (with replacement: do not fall) from column to column.
Tensor combinations(const Tensor& input, int64_t r, bool with_replacement) {
  MSA_REQUIRE(input.dim() == 1, Runtime, "Expect a 1D vector, but got shape ", input.sizes());
  MSA_REQUIRE(r >= 0, Runtime, "Expect a non-negative number, but got ", r);
  if (r == 0) return ops::empty({0}, input.dtype(), input.device());
  int64_t n = input.numel();
  Tensor range = ops::arange(Scalar(n), DType::I64, input.device()),
         kept = ops::ones(Dims(static_cast<size_t>(r), n), DType::Bool, input.device());
  auto along = [&](int64_t d) {
    Dims sizes(static_cast<size_t>(r), 1);
    sizes[d] = n;
    return ops::view(range, sizes);
  };
  for (int64_t d = 0; d + 1 < r; ++d)
    kept = ops::logical_and(
        kept, with_replacement ? ops::le(along(d), along(d + 1)) : ops::lt(along(d), along(d + 1)));
  Tensor places = ops::nonzero(kept);
  return ops::reshape(ops::index_select(input, 0, ops::reshape(places, {-1})), {-1, r});
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OptDType dtype,
                OptDevice device) {
  MSA_REQUIRE(steps >= 0, Runtime, "number of steps must be non-negative");
  DType out = dtype.value_or(start.is_complex() || end.is_complex() ? to_complex(default_dtype())
                                                                    : default_dtype());
  if (is_integral(out) && !(start.is_integral() && end.is_integral()))
    return logspace(start.to<int64_t>(), end.to<int64_t>(), steps, base, dtype, device);
  if (is_half(out) && steps > 1) {  // the ends as halves, all else in float
    const auto rounded = [out](const Scalar& v) {
      return load_scalar(out, scalar_tensor(v, out).data());
    };
    return ops::to_dtype(logspace(rounded(start), rounded(end), steps, base, DType::F32, device),
                         out);
  }
  const DType compute = is_complex(out) ? DType::C128 : out == DType::F32 ? out : DType::F64;
  Tensor exponents = ops::linspace(start, end, steps, compute, device);
  return ops::to_dtype(ops::pow(wrapped_number(Scalar(base)), exponents), out);
}

namespace {
Scalar number_in(const char* op, const Tensor& t) {
  MSA_REQUIRE(t.dim() == 0, Runtime, op, ": start and end must be numbers or 0-d tensors, got ", t);
  return load_scalar(t.dtype(), in_host(t).data());
}
}  // namespace

Tensor linspace_tensor(const Tensor& start, const Tensor& end, int64_t steps, OptDType dtype,
                       OptDevice device) {
  return ops::linspace(number_in("linspace", start), number_in("linspace", end), steps, dtype,
                       device);
}

Tensor logspace_tensor(const Tensor& start, const Tensor& end, int64_t steps, double base,
                       OptDType dtype, OptDevice device) {
  return logspace(number_in("logspace", start), number_in("logspace", end), steps, base, dtype,
                  device);
}

Tensor empty_permuted(const Dims& size, const Dims& physical_layout, OptDType dtype,
                      OptDevice device) {
  MSA_REQUIRE(size.size() == physical_layout.size(), Runtime,
              "Number of dimensions in size does not match the length of the ",
              "physical_layout; i.e. len(size) = ", size.size(),
              " is not equal to len(physical_layout) = ", physical_layout.size());
  Dims sizes, order(size.size(), -1);
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t d = physical_layout[i];
    MSA_REQUIRE(d >= 0 && d < static_cast<int64_t>(size.size()) && order[d] < 0, Runtime,
                d < 0 || d >= static_cast<int64_t>(size.size()) ? "Dimension out of range"
                                                                : "Duplicate dim not allowed",
                " in physical_layout ", physical_layout);
    sizes.push_back(size[d]);
    order[d] = static_cast<int64_t>(i);
  }
  return ops::permute(ops::empty(sizes, dtype, device), order);
}

Tensor fill_tensor(const Tensor& input, const Tensor& value) {
  MSA_REQUIRE(value.dim() == 0, Runtime,
              "fill only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  Tensor out = ops::empty_like(input);
  ops::copy_(out, value);
  return out;
}
Tensor fill_scalar(const Tensor& input, const Scalar& value) {
  Tensor out = ops::empty_like(input);
  ops::fill_(out, value);
  return out;
}

}  // namespace msa::composed
