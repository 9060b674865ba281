// Shape rules of matrix products, with the checks of their operands.
#include "core/rules/rules.h"
#include "generated/rules_linalg.h"

namespace msa::rules {
namespace {

void same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  MSA_REQUIRE(a.dtype() == b.dtype(), Runtime, op,
              ": expected both operands to have the same dtype, but got ", a.dtype(), " and ",
              b.dtype(), "; convert one with .to().");
}

void has_dims(std::string_view op, const char* name, const Tensor& t, int64_t dims) {
  MSA_REQUIRE(t.dim() == dims, Runtime, op, ": ", name, " must have ", dims,
              " dimensions, but its shape is ", DimsView(t.sizes()), ".");
}

void inner_fits(std::string_view op, const Tensor& a, const Tensor& b, int64_t left,
                int64_t right) {
  MSA_REQUIRE(left == right, Runtime, op, ": shapes ", DimsView(a.sizes()), " and ",
              DimsView(b.sizes()), " cannot be multiplied: the inner sizes are ", left, " and ",
              right, ".");
}

Dims mm_sizes(std::string_view op, const Tensor& a, const Tensor& b) {
  has_dims(op, "the first matrix", a, 2);
  has_dims(op, "the second matrix", b, 2);
  inner_fits(op, a, b, a.sizes()[1], b.sizes()[0]);
  same_dtype(op, a, b);
  return {a.sizes()[0], b.sizes()[1]};
}

Dims mv_sizes(std::string_view op, const Tensor& a, const Tensor& x) {
  has_dims(op, "the matrix", a, 2);
  has_dims(op, "the vector", x, 1);
  inner_fits(op, a, x, a.sizes()[1], x.sizes()[0]);
  same_dtype(op, a, x);
  return {a.sizes()[0]};
}

Dims bmm_sizes(std::string_view op, const Tensor& a, const Tensor& b) {
  has_dims(op, "the first batch", a, 3);
  has_dims(op, "the second batch", b, 3);
  MSA_REQUIRE(a.sizes()[0] == b.sizes()[0], Runtime, op, ": batches of ", a.sizes()[0], " and ",
              b.sizes()[0], " matrices: shapes are ", DimsView(a.sizes()), " and ",
              DimsView(b.sizes()), ".");
  inner_fits(op, a, b, a.sizes()[2], b.sizes()[1]);
  same_dtype(op, a, b);
  return {a.sizes()[0], a.sizes()[1], b.sizes()[2]};
}

void fits_dtype(std::string_view op, const Scalar& number, DType dtype) {
  MSA_REQUIRE(!number.is_complex() || is_complex(dtype), Runtime, op,
              ": value cannot be converted to type ", dtype, " without overflow: ", number);
}

// The sum's first operand broadcasts to the product.
OutSpec added(std::string_view op, const Tensor& input, const Tensor& factor, Dims sizes,
              const Scalar& beta, const Scalar& alpha) {
  same_dtype(op, input, factor);
  fits_dtype(op, beta, input.dtype());
  fits_dtype(op, alpha, input.dtype());
  MSA_REQUIRE(broadcast_sizes(op, sizes, input.sizes()) == sizes, Runtime, op, ": input of shape ",
              DimsView(input.sizes()), " does not broadcast to the product's shape ",
              DimsView(sizes), ".");
  return {sizes, factor.dtype()};
}

DimsView batch_part(const Tensor& t) {
  return DimsView(t.sizes()).first(static_cast<size_t>(t.dim() - 2));
}

}  // namespace

OutSpec mm(const Tensor& input, const Tensor& mat2) {
  return {mm_sizes("mm", input, mat2), input.dtype()};
}
OutSpec mv(const Tensor& input, const Tensor& vec) {
  return {mv_sizes("mv", input, vec), input.dtype()};
}
OutSpec bmm(const Tensor& input, const Tensor& mat2) {
  return {bmm_sizes("bmm", input, mat2), input.dtype()};
}

OutSpec dot(const Tensor& input, const Tensor& tensor) {
  has_dims("dot", "the first vector", input, 1);
  has_dims("dot", "the second vector", tensor, 1);
  inner_fits("dot", input, tensor, input.numel(), tensor.numel());
  same_dtype("dot", input, tensor);
  return {{}, input.dtype()};
}

OutSpec matmul(const Tensor& input, const Tensor& other) {
  const int64_t left = input.dim(), right = other.dim();
  MSA_REQUIRE(left && right, Runtime,
              "matmul: both operands need at least one dimension, but their shapes are ",
              DimsView(input.sizes()), " and ", DimsView(other.sizes()), "; use mul for scalars.");
  inner_fits("matmul", input, other, input.size(-1), other.size(right == 1 ? 0 : right - 2));
  same_dtype("matmul", input, other);
  Dims sizes;
  if (left > 2 || right > 2) {
    sizes = left <= 2    ? Dims(batch_part(other))
            : right <= 2 ? Dims(batch_part(input))
                         : broadcast_sizes("matmul", batch_part(input), batch_part(other));
  }
  if (left > 1) sizes.push_back(input.size(-2));
  if (right > 1) sizes.push_back(other.size(-1));
  return {sizes, input.dtype()};
}

OutSpec addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
              const Scalar& alpha) {
  return added("addmm", input, mat1, mm_sizes("addmm", mat1, mat2), beta, alpha);
}
OutSpec addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta,
              const Scalar& alpha) {
  return added("addmv", input, mat, mv_sizes("addmv", mat, vec), beta, alpha);
}
OutSpec baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha) {
  return added("baddbmm", input, batch1, bmm_sizes("baddbmm", batch1, batch2), beta, alpha);
}

OutSpec linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  MSA_REQUIRE(input.dim() >= 1 && (weight.dim() == 2 || weight.dim() == 1), Runtime,
              "linear: expected an input of at least one dimension and a weight of two, but their "
              "shapes are ",
              DimsView(input.sizes()), " and ", DimsView(weight.sizes()), ".");
  inner_fits("linear", input, weight, input.size(-1), weight.size(-1));
  same_dtype("linear", input, weight);
  Dims sizes = input.sizes();
  sizes.pop_back();
  if (weight.dim() == 2) sizes.push_back(weight.sizes()[0]);
  if (bias.defined()) {
    same_dtype("linear", input, bias);
    MSA_REQUIRE(broadcast_sizes("linear", sizes, bias.sizes()) == sizes, Runtime,
                "linear: bias of shape ", DimsView(bias.sizes()),
                " does not fit the result's shape ", DimsView(sizes), ".");
  }
  return {sizes, input.dtype()};
}

}  // namespace msa::rules
