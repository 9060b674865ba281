// Staged axes, offsets of taps and rows, and the copy itself.
#include "kernels/cpu/conv/staging.h"

#include <algorithm>

namespace msa::cpu {
namespace {

// Columns of stride s are stored phase by phase: x, x + s, x + 2s ... then lie side by side.
struct Columns {
  int64_t phases, phase_length;
  int64_t at(int64_t x) const { return x % phases * phase_length + x / phases; }
};

StagedAxis forward_axis(const ConvShape& s, int d) {
  StagedAxis axis(
      static_cast<size_t>((s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1));
  for (size_t u = 0; u < axis.size(); ++u) {
    const int64_t i = static_cast<int64_t>(u) - s.padding[d];
    axis[u] = i >= 0 && i < s.in[d] ? i : -1;
  }
  return axis;
}

StagedAxis gradient_axis(const ConvShape& s, int d) {
  const int64_t reach = (s.kernel[d] - 1) * s.dilation[d];
  StagedAxis axis(static_cast<size_t>(s.in[d] + reach));
  for (size_t u = 0; u < axis.size(); ++u) {
    const int64_t i = static_cast<int64_t>(u) + s.padding[d] - reach;
    axis[u] = i >= 0 && i % s.stride[d] == 0 && i / s.stride[d] < s.out[d] ? i / s.stride[d] : -1;
  }
  return axis;
}

StagedAxis by_phase(const StagedAxis& axis, const Columns& columns) {
  StagedAxis sorted(static_cast<size_t>(columns.phases * columns.phase_length), -1);
  for (size_t u = 0; u < axis.size(); ++u)
    sorted[static_cast<size_t>(columns.at(static_cast<int64_t>(u)))] = axis[u];
  return sorted;
}

bool is_identity(const StagedAxis& axis, int64_t extent) {
  return static_cast<int64_t>(axis.size()) <= extent && (axis.empty() || axis[0] == 0) &&
         std::is_sorted(axis.begin(), axis.end()) &&
         (axis.empty() || axis.back() + 1 == static_cast<int64_t>(axis.size()));
}

// A staged (or the source's own) plane: where taps and rows lie in it.
struct Plane {
  int64_t sizes[3];
  Columns columns;
  int64_t at(int64_t z, int64_t y, int64_t x) const {
    return (z * sizes[1] + y) * sizes[2] + columns.at(x);
  }
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
};

template <class F>
void each_tap(const ConvShape& s, F&& visit) {
  for (int64_t z = 0; z < s.kernel[0]; ++z)
    for (int64_t y = 0; y < s.kernel[1]; ++y)
      for (int64_t x = 0; x < s.kernel[2]; ++x)
        visit(z * s.dilation[0], y * s.dilation[1], x * s.dilation[2]);
}

void set_rows(Staging& st, const Plane& plane, const int64_t* rows, const int64_t* steps) {
  for (int64_t z = 0; z < rows[0]; ++z)
    for (int64_t y = 0; y < rows[1]; ++y)
      st.row_offsets.push_back(plane.at(z * steps[0], y * steps[1], 0));
}

// The part of an axis that is a run of consecutive sources, zeros around it.
struct Run {
  int64_t begin = 0, end = 0, source = 0;
  bool consecutive = true;
};
Run run_of(const StagedAxis& axis) {
  const auto is_source = [](int64_t i) { return i >= 0; };
  const auto first = std::find_if(axis.begin(), axis.end(), is_source);
  Run run;
  if (first == axis.end()) return run;
  run.begin = first - axis.begin();
  run.end = std::find_if(axis.rbegin(), axis.rend(), is_source).base() - axis.begin();
  run.source = *first;
  for (int64_t u = run.begin; u < run.end; ++u)
    run.consecutive = run.consecutive && axis[static_cast<size_t>(u)] == run.source + u - run.begin;
  return run;
}

template <class To, class From>
void stage_row(const StagedAxis& axis, const Run& run, const From* from, int64_t stride, To* to) {
  if (!run.consecutive) {
    for (const int64_t i : axis) *to++ = i < 0 ? To(0.0f) : static_cast<To>(from[i * stride]);
    return;
  }
  std::fill(to, to + run.begin, To(0.0f));
  from += run.source * stride;
  if (stride == 1) {
    std::copy(from, from + (run.end - run.begin), to + run.begin);
  } else {
    for (int64_t u = run.begin; u < run.end; ++u, from += stride) to[u] = static_cast<To>(*from);
  }
  std::fill(to + run.end, to + axis.size(), To(0.0f));
}

}  // namespace

Staging stage_forward(const ConvShape& s, bool must_copy) {
  Staging st;
  st.channels = s.in_channels;
  Columns columns{s.stride[2], 1};
  st.needed = must_copy || columns.phases != 1;
  for (int d = 0; d < 3; ++d) {
    st.axes[d] = forward_axis(s, d);
    st.needed = st.needed || !is_identity(st.axes[d], s.in[d]);
  }
  columns.phase_length =
      (static_cast<int64_t>(st.axes[2].size()) + columns.phases - 1) / columns.phases;
  if (columns.phases != 1) st.axes[2] = by_phase(st.axes[2], columns);
  Plane plane{{}, columns};
  for (int d = 0; d < 3; ++d)
    plane.sizes[d] = st.needed ? static_cast<int64_t>(st.axes[d].size()) : s.in[d];
  for (int64_t c = 0; c < st.channels; ++c)
    each_tap(s, [&](int64_t z, int64_t y, int64_t x) {
      st.tap_offsets.push_back(c * plane.count() + plane.at(z, y, x));
    });
  set_rows(st, plane, s.out, s.stride);
  return st;
}

Staging stage_input_gradient(const ConvShape& s, bool must_copy) {
  Staging st;
  st.channels = s.out_channels;
  st.needed = must_copy;
  int64_t reach[3];
  for (int d = 0; d < 3; ++d) {
    st.axes[d] = gradient_axis(s, d);
    reach[d] = (s.kernel[d] - 1) * s.dilation[d];
    st.needed = st.needed || s.stride[d] != 1 || !is_identity(st.axes[d], s.out[d]);
  }
  Plane plane{{}, {1, 0}};
  for (int d = 0; d < 3; ++d)
    plane.sizes[d] = st.needed ? static_cast<int64_t>(st.axes[d].size()) : s.out[d];
  plane.columns.phase_length = plane.sizes[2];
  // Tap k of an input meets the output k before it, so taps are read from the end of their reach.
  each_tap(s, [&](int64_t z, int64_t y, int64_t x) {
    for (int64_t c = 0; c < st.channels; ++c)
      st.tap_offsets.push_back(c * plane.count() +
                               plane.at(reach[0] - z, reach[1] - y, reach[2] - x));
  });
  constexpr int64_t kOne[3] = {1, 1, 1};
  set_rows(st, plane, s.in, kOne);
  return st;
}

template <class To, class From>
void stage(const Staging& st, const From* from, const int64_t* strides, To* to) {
  const int64_t width = static_cast<int64_t>(st.axes[2].size());
  const Run run = run_of(st.axes[2]);
  for (int64_t c = 0; c < st.channels; ++c) {
    for (const int64_t z : st.axes[0]) {
      for (const int64_t y : st.axes[1]) {
        if (z < 0 || y < 0) {
          std::fill_n(to, width, To(0.0f));
        } else {
          stage_row(st.axes[2], run, from + c * strides[0] + z * strides[1] + y * strides[2],
                    strides[3], to);
        }
        to += width;
      }
    }
  }
}

template void stage<float, float>(const Staging&, const float*, const int64_t*, float*);
template void stage<double, double>(const Staging&, const double*, const int64_t*, double*);
template void stage<float, f16>(const Staging&, const f16*, const int64_t*, float*);
template void stage<float, bf16>(const Staging&, const bf16*, const int64_t*, float*);

}  // namespace msa::cpu
