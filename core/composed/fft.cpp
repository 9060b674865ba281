// torch.fft: lengths, normalisation and dtypes around the three transform kernels.
#include <algorithm>

#include "generated/composed_fft.h"
#include "generated/ops_convert.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_fft.h"
#include "generated/ops_index.h"
#include "generated/ops_order.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

int64_t normalization_of(std::string_view op, OptStr norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? 0 : 2;
  if (*norm == "forward") return forward ? 2 : 0;
  MSA_REQUIRE(*norm == "ortho", Runtime, op, ": Invalid normalization mode: \"", *norm,
              "\"; it is one of 'backward', 'forward' and 'ortho'.");
  return 1;
}

// In a dtype that the kernels transform: integers become the default float.
Tensor transformable(std::string_view op, const Tensor& input, bool complex) {
  MSA_REQUIRE(!is_half(input.dtype()), Runtime, op, ": Unsupported dtype ", input.dtype(),
              "; convert the input to float32 first.");
  DType dtype = is_integral(input.dtype()) ? default_dtype() : input.dtype();
  if (complex) dtype = to_complex(dtype);
  return dtype == input.dtype() ? input : ops::to_dtype(input, dtype);
}

Tensor real_input(std::string_view op, const Tensor& input) {
  MSA_REQUIRE(!is_complex(input.dtype()), Runtime, op, ": expects a real input tensor, but got ",
              input.dtype(), ".");
  return transformable(op, input, false);
}

int64_t transformed_dim(std::string_view op, const Tensor& input, int64_t dim) {
  MSA_REQUIRE(input.dim() > 0, Index, op, ": Dimension specified as ", dim,
              " but tensor has no dimensions; unsqueeze it first.");
  return wrap_dim(dim, input.dim());
}

// Cut, or padded with zeros at the end.
Tensor with_length(const Tensor& t, int64_t dim, int64_t n) {
  const int64_t have = t.size(dim);
  if (have == n) return t;
  if (have > n) return ops::narrow(t, dim, 0, n);
  Dims rest = t.sizes();
  rest[wrap_dim(dim, t.dim())] = n - have;
  return ops::cat({t, ops::zeros(rest, t.dtype(), t.device())}, dim);
}

Tensor with_lengths(Tensor t, const Dims& dims, const Dims& sizes) {
  for (size_t i = 0; i < dims.size(); ++i) t = with_length(t, dims[i], sizes[i]);
  return t;
}

void require_points(std::string_view op, int64_t n) {
  MSA_REQUIRE(n >= 1, Runtime, op, ": Invalid number of data points (", n, ") specified.");
}

// What a transform over several dimensions is asked for.
struct Wanted {
  Dims dims, sizes;
};

Wanted wanted(std::string_view op, const Tensor& input, const OptDims& s, const OptDims& dim) {
  Wanted w;
  const int64_t ndim = input.dim();
  if (dim) {
    for (int64_t d : *dim) w.dims.push_back(transformed_dim(op, input, d));
    Dims sorted = w.dims;
    std::sort(sorted.begin(), sorted.end());
    MSA_REQUIRE(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), Runtime, op,
                ": FFT dims must be unique, but dim is ", DimsView(*dim), ".");
    MSA_REQUIRE(!s || s->size() == dim->size(), Runtime, op,
                ": When given, dim and shape arguments must have the same length, but they are ",
                DimsView(*dim), " and ", DimsView(*s), ".");
  } else {
    const int64_t n = s ? static_cast<int64_t>(s->size()) : ndim;
    MSA_REQUIRE(n <= ndim, Runtime, op, ": Got shape with ", n,
                " values but input tensor only has ", ndim, " dimensions.");
    for (int64_t d = ndim - n; d < ndim; ++d) w.dims.push_back(d);
  }
  for (size_t i = 0; i < w.dims.size(); ++i) {
    w.sizes.push_back(s && (*s)[i] != -1 ? (*s)[i] : input.size(w.dims[i]));
  }
  return w;
}

void require_points(std::string_view op, const Wanted& w) {
  for (int64_t n : w.sizes) require_points(op, n);
}

Tensor complex_1d(std::string_view op, const Tensor& input, OptInt n, int64_t dim, OptStr norm,
                  bool forward) {
  const int64_t d = transformed_dim(op, input, dim), length = n.value_or(input.size(d));
  require_points(op, length);
  const int64_t mode = normalization_of(op, norm, forward);
  const Tensor line = with_length(transformable(op, input, false), d, length);
  if (!is_complex(line.dtype())) return ops::_fft_r2c(line, {d}, mode, false, forward);
  return ops::_fft_c2c(line, {d}, mode, forward);
}

Tensor half_of_real_1d(std::string_view op, const Tensor& input, OptInt n, int64_t dim, OptStr norm,
                       bool forward) {
  const Tensor real = real_input(op, input);
  const int64_t d = transformed_dim(op, input, dim), length = n.value_or(input.size(d));
  require_points(op, length);
  return ops::_fft_r2c(with_length(real, d, length), {d}, normalization_of(op, norm, forward), true,
                       forward);
}

Tensor real_of_half_1d(std::string_view op, const Tensor& input, OptInt n, int64_t dim, OptStr norm,
                       bool forward) {
  const int64_t d = transformed_dim(op, input, dim), length = n.value_or(2 * (input.size(d) - 1));
  require_points(op, length);
  const Tensor half = with_length(transformable(op, input, true), d, length / 2 + 1);
  return ops::_fft_c2r(half, {d}, normalization_of(op, norm, forward), length, forward);
}

Tensor complex_nd(std::string_view op, const Tensor& input, const OptDims& s, const OptDims& dim,
                  OptStr norm, bool forward) {
  const Wanted w = wanted(op, input, s, dim);
  require_points(op, w);
  const Tensor box = with_lengths(transformable(op, input, true), w.dims, w.sizes);
  return ops::_fft_c2c(box, w.dims, normalization_of(op, norm, forward), forward);
}

Tensor half_of_real_nd(std::string_view op, const Tensor& input, const OptDims& s,
                       const OptDims& dim, OptStr norm, bool forward) {
  const Tensor real = real_input(op, input);
  const Wanted w = wanted(op, input, s, dim);
  MSA_REQUIRE(!w.dims.empty(), Runtime, op,
              ": must transform at least one axis, but dim is empty.");
  require_points(op, w);
  const Tensor box = with_lengths(real, w.dims, w.sizes);
  const int64_t mode = normalization_of(op, norm, forward);
  if (forward || w.dims.size() == 1) return ops::_fft_r2c(box, w.dims, mode, true, forward);
  Dims others = w.dims;  // transformed on their own, as the order in memory shows
  others.pop_back();
  return ops::_fft_c2c(ops::_fft_r2c(box, {w.dims.back()}, mode, true, false), others, mode, false);
}

Tensor real_of_half_nd(std::string_view op, const Tensor& input, const OptDims& s,
                       const OptDims& dim, OptStr norm, bool forward) {
  Wanted w = wanted(op, input, s, dim);
  MSA_REQUIRE(!w.dims.empty(), Runtime, op,
              ": must transform at least one axis, but dim is empty.");
  if (!s || s->back() == -1) w.sizes.back() = 2 * (w.sizes.back() - 1);
  require_points(op, w);
  const int64_t last = w.sizes.back();
  w.sizes.back() = last / 2 + 1;
  const Tensor half = with_lengths(transformable(op, input, true), w.dims, w.sizes);
  return ops::_fft_c2r(half, w.dims, normalization_of(op, norm, forward), last, forward);
}

Tensor shifted(std::string_view op, const Tensor& input, const OptDims& dim, bool back) {
  Dims dims = dim.value_or(Dims()), by;
  if (!dim) {
    for (int64_t d = 0; d < input.dim(); ++d) dims.push_back(d);
  }
  MSA_REQUIRE(!dims.empty(), Runtime, op,
              ": needs at least one dimension to shift along, but the input is ", input,
              " and dim is empty.");
  for (int64_t d : dims) by.push_back((input.size(transformed_dim(op, input, d)) + back) / 2);
  return ops::roll(input, by, dims);
}

Tensor spaced(std::string_view op, Tensor steps, int64_t n, double d) {
  MSA_REQUIRE(is_inexact(steps.dtype()), Runtime, op,
              ": requires a floating point or complex dtype, but got ", steps.dtype(), ".");
  return ops::mul_(steps, wrapped_number(Scalar(1.0 / (static_cast<double>(n) * d))));
}

}  // namespace

Tensor fft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return complex_1d("fft", input, n, dim, norm, true);
}
Tensor ifft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return complex_1d("ifft", input, n, dim, norm, false);
}
Tensor rfft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return half_of_real_1d("rfft", input, n, dim, norm, true);
}
Tensor ihfft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return half_of_real_1d("ihfft", input, n, dim, norm, false);
}
Tensor irfft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return real_of_half_1d("irfft", input, n, dim, norm, false);
}
Tensor hfft(const Tensor& input, OptInt n, int64_t dim, OptStr norm) {
  return real_of_half_1d("hfft", input, n, dim, norm, true);
}

Tensor fftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return complex_nd("fftn", input, s, dim, norm, true);
}
Tensor ifftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return complex_nd("ifftn", input, s, dim, norm, false);
}
Tensor rfftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return half_of_real_nd("rfftn", input, s, dim, norm, true);
}
Tensor ihfftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return half_of_real_nd("ihfftn", input, s, dim, norm, false);
}
Tensor irfftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return real_of_half_nd("irfftn", input, s, dim, norm, false);
}
Tensor hfftn(const Tensor& input, const OptDims& s, const OptDims& dim, OptStr norm) {
  return real_of_half_nd("hfftn", input, s, dim, norm, true);
}

Tensor fft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return fftn(input, s, dim, norm);
}
Tensor ifft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return ifftn(input, s, dim, norm);
}
Tensor rfft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return rfftn(input, s, dim, norm);
}
Tensor irfft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return irfftn(input, s, dim, norm);
}
Tensor hfft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return hfftn(input, s, dim, norm);
}
Tensor ihfft2(const Tensor& input, const OptDims& s, const Dims& dim, OptStr norm) {
  return ihfftn(input, s, dim, norm);
}

Tensor fftfreq(int64_t n, double d, OptDType dtype, OptDevice device) {
  const DType type = dtype.value_or(default_dtype());
  const int64_t half = (n + 1) / 2;
  const Tensor steps = ops::empty({n}, type, device);
  Tensor rising = ops::narrow(steps, 0, 0, half), falling = ops::narrow(steps, 0, half, n - half);
  ops::arange_start_step_out(0, half, 1, type, device, rising);
  ops::arange_start_step_out(half - n, 0, 1, type, device, falling);
  return spaced("fftfreq", steps, n, d);
}
Tensor rfftfreq(int64_t n, double d, OptDType dtype, OptDevice device) {
  return spaced("rfftfreq", ops::arange(n / 2 + 1, dtype.value_or(default_dtype()), device), n, d);
}

Tensor fftshift(const Tensor& input, const OptDims& dim) {
  return shifted("fftshift", input, dim, false);
}
Tensor ifftshift(const Tensor& input, const OptDims& dim) {
  return shifted("ifftshift", input, dim, true);
}

}  // namespace msa::composed
