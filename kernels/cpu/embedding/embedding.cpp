// Rows picked by index, their gradients added back, and one-hot vectors.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/lock.h"
#include "generated/kernels_nn.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/threads.h"

namespace msa {
namespace {

// Indices as contiguous int64, all of them in [0, rows).
Tensor checked(const char* op, const Tensor& indices, int64_t rows) {
  const Tensor flat = cpu::contiguous(indices, DType::I64);
  const int64_t* i = flat.data<int64_t>();
  for (int64_t k = 0; k < flat.numel(); ++k)
    MSA_REQUIRE(i[k] >= 0 && i[k] < rows, Index, op, ": index out of range: ", i[k],
                " is not in [0, ", rows, ").");
  return flat;
}

template <class T>
void add_rows(const T* grad, const Tensor& indices, int64_t width, int64_t padding_idx,
              const std::vector<int64_t>& uses, T* out) {
  const int64_t* row = indices.data<int64_t>();
  for (int64_t k = 0; k < indices.numel(); ++k, grad += width) {
    if (row[k] == padding_idx) continue;
    T* to = out + row[k] * width;
    const auto times = static_cast<float>(uses.empty() ? 1 : uses[static_cast<size_t>(row[k])]);
    const T scale = static_cast<T>(T(1) / T(times));
    for (int64_t j = 0; j < width; ++j)
      to[j] = static_cast<T>(to[j] + static_cast<T>(grad[j] * scale));
  }
}

template <class T>
double norm_of(const T* row, int64_t n, double p) {
  double sum = 0, most = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double a = std::abs(static_cast<double>(row[j]));
    most = std::max(most, a);
    sum += p == 2 ? a * a : std::pow(a, p);
  }
  return std::isinf(p) ? most : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

}  // namespace

namespace kernels {

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  const Tensor rows = cpu::contiguous(weight),
               at = checked("embedding", indices, weight.sizes()[0]);
  cpu::fill_contiguous(out, out.dtype(), [&](const Tensor& to) {
    const size_t bytes = static_cast<size_t>(rows.sizes()[1]) * rows.item_bytes();
    const int64_t* index = at.data<int64_t>();
    const char* from = rows.data<char>();
    char* into = to.data<char>();
    const Unlocked unlocked(to.numel() >= cpu::kGrain);
    cpu::parallel(at.numel(), std::max<int64_t>(1, cpu::kGrain / (rows.sizes()[1] + 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t k = begin; k < end; ++k)
                      std::memcpy(into + static_cast<size_t>(k) * bytes,
                                  from + static_cast<size_t>(index[k]) * bytes, bytes);
                  });
  });
}

void _embedding_backward(const Tensor& grad_output, const Tensor& indices, const Dims& weight_size,
                         int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const Tensor at = checked("embedding", indices, weight_size[0]);
  std::vector<int64_t> uses;
  if (scale_grad_by_freq) {
    uses.resize(static_cast<size_t>(weight_size[0]));
    for (int64_t k = 0; k < at.numel(); ++k) ++uses[static_cast<size_t>(at.data<int64_t>()[k])];
  }
  const auto run = [&]<class T>() {
    const Tensor grad = cpu::as<T>(grad_output);
    cpu::fill_contiguous(out, dtype_of<T>::value, [&](const Tensor& to) {
      std::fill_n(to.data<T>(), to.numel(), T(0));
      add_rows(grad.data<T>(), at, weight_size[1], padding_idx, uses, to.data<T>());
    });
  };
  if (grad_output.dtype() == DType::F16) return run.operator()<f16>();  // rounded at each row
  if (grad_output.dtype() == DType::BF16) return run.operator()<bf16>();
  cpu::with_real("embedding", grad_output.dtype(), run);
}

void embedding_renorm_(Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  const Tensor at = cpu::copied(checked("embedding_renorm_", indices, weight.sizes()[0]));
  int64_t* index = at.data<int64_t>();
  std::sort(index, index + at.numel());
  const int64_t* end = std::unique(index, index + at.numel());
  cpu::with_real("embedding_renorm_", weight.dtype(), [&]<class T>() {
    const Tensor rows = cpu::as<T>(weight);
    const int64_t width = rows.sizes()[1];
    for (; index != end; ++index) {
      T* row = rows.data<T>() + *index * width;
      const double norm = norm_of(row, width, norm_type);
      if (norm <= max_norm) continue;
      const T scale = static_cast<T>(max_norm / (norm + 1e-7));
      for (int64_t j = 0; j < width; ++j) row[j] *= scale;
    }
    if (rows.impl() != weight.impl()) cpu::copy_into(weight, rows);
  });
}

Tensor one_hot(const Tensor& input, int64_t num_classes) {
  MSA_REQUIRE(input.dtype() == DType::I64, Runtime,
              "one_hot: only int64 class indices are taken, but got ", input.dtype(),
              "; convert with .long().");
  const Tensor at = cpu::contiguous(input);
  const int64_t *index = at.data<int64_t>(), *end = index + at.numel();
  MSA_REQUIRE(
      index != end || num_classes > 0, Runtime,
      "one_hot: an empty tensor does not say how many classes there are: give num_classes.");
  MSA_REQUIRE(index == end || *std::min_element(index, end) >= 0, Runtime,
              "one_hot: class values must be non-negative, but the smallest is ",
              index == end ? 0 : *std::min_element(index, end), ".");
  const int64_t largest = index == end ? -1 : *std::max_element(index, end);
  MSA_REQUIRE(num_classes == -1 || largest < num_classes, Runtime,
              "one_hot: class values must be smaller than num_classes, but got ", largest,
              " and num_classes=", num_classes, ".");
  const int64_t classes = num_classes == -1 ? largest + 1 : num_classes;
  Dims sizes = input.sizes();
  sizes.push_back(classes);
  const Tensor out = empty(sizes, DType::I64);
  int64_t* to = out.data<int64_t>();
  std::fill_n(to, out.numel(), 0);
  for (; index != end; ++index, to += classes) to[*index] = 1;
  return out;
}

}  // namespace kernels
}  // namespace msa
