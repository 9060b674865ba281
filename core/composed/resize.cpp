// Interpolation of (N, C, ...) one dimension at a time: indices and weights are tables made here.
#include "core/composed/resize.h"

#include <cmath>

#include "core/autograd/formulas.h"
#include "core/composed/values.h"
#include "core/dispatch/generated_support.h"
#include "generated/composed_index.h"
#include "generated/composed_layer.h"
#include "generated/ops_convert.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_index.h"
#include "generated/ops_linalg.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

void check(const Tensor& input, const Dims& output_size) {
  MSA_REQUIRE(input.dim() == static_cast<int64_t>(output_size.size()) + 2, Runtime,
              "interpolate: expected an input with ", output_size.size(),
              " spatial dimensions behind batch and channels, but its shape is ",
              DimsView(input.sizes()), ".");
  for (size_t d = 1; d < input.sizes().size(); ++d)
    MSA_REQUIRE(input.sizes()[d] > 0, Runtime,
                "interpolate: only the batch may be empty, but the input's shape is ",
                DimsView(input.sizes()), ".");
  for (int64_t n : output_size)
    MSA_REQUIRE(n > 0, Runtime,
                "interpolate: input and output sizes should be greater than 0, but the output "
                "size is ",
                DimsView(output_size), ".");
}

void require_floating(const Tensor& input) {
  MSA_REQUIRE(is_floating(input.dtype()), NotImplemented, "interpolate: not implemented for ",
              input.dtype(), " in this mode: convert the input first.");
}

// The elements that each output element mixes, tap by tap, and their weights, which are rounded to
// `stored` where that is a half type.
template <class T>
struct Taps {
  std::vector<std::vector<int64_t>> index;
  std::vector<std::vector<T>> weight;

  Taps(int64_t in, int64_t out, T step, bool align_corners, bool cubic, DType stored)
      : index(cubic ? 4 : 2), weight(cubic ? 4 : 2) {
    const auto kept = [stored](T v) {
      return stored == DType::F16    ? T(static_cast<float>(f16(static_cast<float>(v))))
             : stored == DType::BF16 ? T(static_cast<float>(bf16(static_cast<float>(v))))
                                     : v;
    };
    for (int64_t i = 0; i < out; ++i) {
      T at =
          align_corners ? step * static_cast<T>(i) : step * (static_cast<T>(i) + T(0.5)) - T(0.5);
      if (!cubic) at = std::max(at, T(0));
      const int64_t floor = static_cast<int64_t>(std::floor(at));
      const T part = std::min(std::max(at - static_cast<T>(floor), T(0)), T(1));
      const T a = T(-0.75);
      const T cubics[] = {cubic_far(part + 1, a), cubic_near(part, a), cubic_near(1 - part, a),
                          cubic_far(2 - part, a)};
      const T second = kept(part), lines[] = {1 - second, second};
      for (size_t tap = 0; tap < index.size(); ++tap) {
        const int64_t from = floor + static_cast<int64_t>(tap) - (cubic ? 1 : 0);
        index[tap].push_back(std::clamp<int64_t>(from, 0, in - 1));
        weight[tap].push_back(kept(cubic ? cubics[tap] : lines[tap]));
      }
    }
  }
};

// A tap's weights as they go along dimension `dim` of `dims`.
template <class T>
Tensor weights_along(const Taps<T>& taps, size_t tap, int64_t dim, int64_t dims, Device device) {
  Dims column(static_cast<size_t>(dims - dim), 1);
  column[0] = -1;
  return ops::view(table(taps.weight[tap], device), column);
}

template <class T>
Tensor mixed(const Tensor& input, int64_t dim, const Taps<T>& taps) {
  Tensor out;
  for (size_t tap = 0; tap < taps.index.size(); ++tap) {
    const Tensor from = ops::index_select(input, dim, table(taps.index[tap], input.device()));
    const Tensor term = ops::mul(from, weights_along(taps, tap, dim, input.dim(), input.device()));
    out = out.defined() ? ops::add(out, term) : term;
  }
  return out;
}

// The other way: each output's gradient to the elements that it mixes, of which there are `in`.
template <class T>
Tensor unmixed(const Tensor& grad, int64_t dim, int64_t in, const Taps<T>& taps) {
  Dims sizes = grad.sizes();
  sizes[dim] = in;
  Tensor out = ops::zeros(sizes, grad.dtype(), grad.device());
  for (size_t tap = 0; tap < taps.index.size(); ++tap) {
    const Tensor term = ops::mul(grad, weights_along(taps, tap, dim, grad.dim(), grad.device()));
    out = ops::index_add(out, dim, table(taps.index[tap], grad.device()), term);
  }
  return out;
}

// The (in, out) matrix of windows that widen with the step.
template <class T>
std::vector<T> antialias_matrix(int64_t in, int64_t out, T step, bool cubic) {
  std::vector<T> matrix(static_cast<size_t>(in * out), T(0));
  for (int64_t i = 0; i < out; ++i) {
    const Window<T> window = antialias_window(in, i, step, cubic);
    for (size_t j = 0; j < window.weights.size(); ++j)
      matrix[(static_cast<size_t>(window.first) + j) * static_cast<size_t>(out) +
             static_cast<size_t>(i)] = window.weights[j];
  }
  return matrix;
}

// Channels stay innermost where the input has them so.
Tensor in_format_of(const Tensor& input, const Tensor& out) {
  const MemoryFormat last =
      input.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
  const bool kept = input.dim() < 4 || input.is_contiguous() || !input.is_contiguous(last);
  return kept ? out : ops::contiguous(out, last);
}

// body<T>() with the type that indices and weights are computed in.
template <class F>
Tensor in_table_type(const Tensor& input, F&& body) {
  return input.dtype() == DType::F64 ? body.template operator()<double>()
                                     : body.template operator()<float>();
}

}  // namespace

Tensor _resize_nearest(const Tensor& input, const Dims& output_size, const OptFloats& scales,
                       bool exact) {
  check(input, output_size);
  Tensor out = input;
  for (size_t d = 0; d < output_size.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d) + 2, in = input.size(dim);
    const float step = step_of<float>(scales, d, in, output_size[d]);
    std::vector<int64_t> from;
    for (int64_t i = 0; i < output_size[d]; ++i) {
      const float at = (static_cast<float>(i) + (exact ? 0.5f : 0.f)) * step;
      from.push_back(std::min(static_cast<int64_t>(std::floor(at)), in - 1));
    }
    out = ops::index_select(out, dim, table(from, input.device()));
  }
  return in_format_of(input, out);
}

// Half types mix in float and round once. Their weights are rounded first, except those of images
// that are interpolated linearly, which PyTorch computes by a kernel of its own.
Tensor _resize_smooth(const Tensor& input, const Dims& output_size, const OptFloats& scales,
                      bool align_corners, bool cubic) {
  check(input, output_size);
  if (is_image_of_bytes(input))
    return resize_bytes(input, output_size, scales, align_corners, cubic, false);
  require_floating(input);
  const bool exact = output_size.size() == 2 && !cubic;
  const DType stored = exact ? opmath(input.dtype()) : input.dtype();
  return in_table_type(input, [&]<class T>() {
    Tensor out = widened(input);
    for (size_t d = output_size.size(); d-- > 0;) {
      const int64_t dim = static_cast<int64_t>(d) + 2, in = input.size(dim), n = output_size[d];
      const T step = step_of<T>(scales, d, in, n, align_corners);
      if (in != n || step != 1)
        out = mixed(out, dim, Taps<T>(in, n, step, align_corners, cubic, stored));
    }
    return in_format_of(input, narrowed(out, input.dtype()));
  });
}

Tensor _resize_antialias(const Tensor& input, const Dims& output_size, const OptFloats& scales,
                         bool align_corners, bool cubic) {
  check(input, output_size);
  if (is_image_of_bytes(input))
    return resize_bytes(input, output_size, scales, align_corners, cubic, true);
  require_floating(input);
  return in_table_type(input, [&]<class T>() {
    Tensor out = input;
    for (size_t d = output_size.size(); d-- > 0;) {
      const int64_t dim = static_cast<int64_t>(d) + 2, in = input.size(dim), n = output_size[d];
      const T step = step_of<T>(scales, d, in, n, align_corners);
      const Tensor matrix =
          ops::view(table(antialias_matrix(in, n, step, cubic), input.device()), {in, n});
      out = ops::transpose(ops::matmul(ops::transpose(out, dim, -1), matrix), dim, -1);
    }
    return in_format_of(input, ops::contiguous(out));
  });
}

}  // namespace msa::composed

namespace msa::formulas {

// With weights that are not rounded.
Tensor resize_smooth_backward(const Tensor& grad, const Dims& sizes, const Dims& output_size,
                              const OptFloats& scales, bool align_corners, bool cubic) {
  return composed::in_table_type(grad, [&]<class T>() {
    Tensor out = widened(grad);
    for (size_t d = 0; d < output_size.size(); ++d) {
      const int64_t dim = static_cast<int64_t>(d) + 2, in = sizes[dim], n = output_size[d];
      const T step = composed::step_of<T>(scales, d, in, n, align_corners);
      if (in != n || step != 1) {
        const composed::Taps<T> taps(in, n, step, align_corners, cubic, out.dtype());
        out = composed::unmixed(out, dim, in, taps);
      }
    }
    return narrowed(out, grad.dtype());
  });
}

}  // namespace msa::formulas
