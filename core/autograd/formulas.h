// Functions that gradient formulas in ops/*.toml may call beside the rows; each is built from rows,
// so that it can be differentiated again. The generator reads this header: one declaration, one
// name.
#pragma once
#include <array>
#include <tuple>

#include "core/autograd/node.h"
#include "core/dispatch/options.h"

namespace msa::formulas {

// A gradient brought back to an input's shape and dtype: sums over broadcast dimensions, casts, and
// takes the real part for a real input.
Tensor reduce_to(const Tensor& grad, const Dims& sizes, DType dtype);
// The gradient of a reduction over `dim`, spread back over the input's sizes.
Tensor spread(const Tensor& grad, const Dims& sizes, const OptDims& dim, bool keepdim);

Tensor to_copy_backward(const Tensor& grad, DType dtype, Device device);

// grad * factor, without the multiplication where the factor is 1.
Tensor scaled(const Tensor& grad, const Scalar& factor);
Scalar conj_scalar(const Scalar& value);
Scalar rest_of_one(const Scalar& value);  // 1 - value

// The gradients of views: the incoming one placed in zeros of the input's shape.
Tensor permute_backward(const Tensor& grad, const Dims& dims);
Tensor slice_backward(const Tensor& grad, const Dims& sizes, int64_t dim, OptInt start, OptInt end,
                      int64_t step);
Tensor select_backward(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t index);
// Zeros of one element's memory, for what writes to a copy of them.
Tensor blank(const Dims& sizes, const Tensor& like);
// Views may overlap themselves. `input_offset` is the input's own.
Tensor as_strided_backward(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                           int64_t input_offset, const Dims& size, const Dims& stride,
                           OptInt storage_offset);
std::tuple<Tensor, Tensor> as_strided_scatter_backward(const Tensor& grad, const Dims& input_sizes,
                                                       const Dims& input_strides,
                                                       int64_t input_offset, const Dims& size,
                                                       const Dims& stride, OptInt storage_offset,
                                                       const std::array<bool, 2>& needs);
Tensor roll_backward(const Tensor& grad, const Dims& shifts, const Dims& dims);
Tensor diagonal_backward(const Tensor& grad, const Dims& sizes, int64_t offset, int64_t dim1,
                         int64_t dim2);
// Windows may overlap: their gradients are added.
Tensor unfold_backward(const Tensor& grad, const Dims& sizes, int64_t dimension, int64_t size,
                       int64_t step);
Tensor split_backward(const Grads& grads, const Dims& sizes, DType dtype, int64_t split_size,
                      int64_t dim);
Tensor split_with_sizes_backward(const Grads& grads, const Dims& sizes, DType dtype,
                                 const Dims& split_sizes, int64_t dim);
Tensor unbind_backward(const Grads& grads, const Dims& sizes, DType dtype, int64_t dim);

// Of products; `needs` says which factor's gradient is wanted.
std::tuple<Tensor, Tensor> matmul_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                                           const std::array<bool, 2>& needs);
std::tuple<Tensor, Tensor> scaled_matmul_backward(const Tensor& grad, const Tensor& a,
                                                  const Tensor& b, const Scalar& alpha,
                                                  const std::array<bool, 2>& needs);
std::tuple<Tensor, Tensor> linear_backward(const Tensor& grad, const Tensor& input,
                                           const Tensor& weight, const std::array<bool, 2>& needs);
Tensor glu_backward(const Tensor& grad, const Tensor& input, int64_t dim);
// The gradient of a bias: the sum over all dimensions but the second.
Tensor sum_to_channels(const Tensor& grad);
// A convolution's first results: a transposed one with output padding has fewer inputs than would
// fit.
Tensor conv_of_size(const Tensor& input, const Tensor& weight, const Dims& sizes,
                    const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups);

// Gradients of functions of one number and powers.
Tensor pow_backward(const Tensor& grad, const Tensor& input, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& input, const Tensor& exponent,
                             const Tensor& result);
// 1 / (x^2 + y^2), and 0 at the origin, where the angle has no slope.
Tensor inverse_square_distance(const Tensor& x, const Tensor& y);
// The third power, rounded where PyTorch's is: in bfloat16 each product.
Tensor cube(const Tensor& t);
Tensor sgn_backward(const Tensor& grad, const Tensor& input, const Tensor& sign);
Tensor mish_backward(const Tensor& grad, const Tensor& input);
Tensor sinc_backward(const Tensor& grad, const Tensor& input);
Tensor angle_backward(const Tensor& grad, const Tensor& input);
// Of an input that PyTorch has no derivative for either: raises NotImplementedError.
Tensor no_gradient(std::string_view op, std::string_view input);
// Second derivatives: `grad` is that of the backward's result, `grad_output` what it was given.
Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& input);
Tensor gelu_erf_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& input);
Tensor gelu_tanh_double_backward(const Tensor& grad, const Tensor& grad_output,
                                 const Tensor& input);

// The gradients of indexing: the incoming one added at the places it was read from.
Tensor index_backward(const Tensor& grad, const Dims& sizes, const TensorList& indices);
Tensor gather_backward(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index);
Tensor im2col_backward(const Tensor& grad, const Dims& sizes, const Dims& kernel_size,
                       const Dims& dilation, const Dims& padding, const Dims& stride);
Tensor resize_smooth_backward(const Tensor& grad, const Dims& sizes, const Dims& output_size,
                              const OptFloats& scales, bool align_corners, bool cubic);
std::tuple<Tensor, Tensor> scatter_fold_backward(const Tensor& grad, const Tensor& input,
                                                 int64_t dim, const Tensor& index,
                                                 const Tensor& src, std::string_view reduce,
                                                 bool include_self, const Tensor& result,
                                                 const std::array<bool, 2>& needs);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                             int64_t dim);
TensorList cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim);

// Reductions.
Tensor mean_backward(const Tensor& grad, const Dims& sizes, const OptDims& dim, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& input, const Tensor& result);
Tensor prod_dim_backward(const Tensor& grad, const Tensor& input, const Tensor& result, int64_t dim,
                         bool keepdim);
// Of the largest or smallest over dimensions: equal elements share the gradient.
Tensor extreme_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                        const OptDims& dim, bool keepdim);
Tensor value_selecting_backward(const Tensor& grad, const Dims& sizes, const Tensor& indices,
                                int64_t dim, bool keepdim);
Tensor var_backward(const Tensor& grad, const Tensor& input, const OptDims& dim, double correction,
                    bool keepdim);
Tensor std_backward(const Tensor& grad, const Tensor& result, const Tensor& input,
                    const OptDims& dim, double correction, bool keepdim);
Tensor var_mean_backward(const Grads& grads, const Tensor& input, const OptDims& dim,
                         double correction, bool keepdim);
Tensor std_mean_backward(const Grads& grads, const Tensor& std, const Tensor& input,
                         const OptDims& dim, double correction, bool keepdim);
Tensor vector_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& result,
                            double ord, const OptDims& dim, bool keepdim);
Tensor renorm_backward(const Tensor& grad, const Tensor& input, const Scalar& p, int64_t dim,
                       const Scalar& maxnorm);
Tensor cumsum_backward(const Tensor& grad, int64_t dim);
Tensor running_best_backward(const Tensor& grad, const Dims& sizes, const Tensor& indices,
                             int64_t dim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& input, const Tensor& result, int64_t dim);

// Of normalisations: one kernel, or operators where the gradient is to be differentiated again.
std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad, const Tensor& input,
                                                       const Tensor& weight, const Tensor& mean,
                                                       const Tensor& invstd, bool training,
                                                       double eps,
                                                       const std::array<bool, 3>& needs);
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad, const Tensor& input,
                                                       const Tensor& weight, const Tensor& mean,
                                                       const Tensor& rstd, const Dims& shape,
                                                       double eps,
                                                       const std::array<bool, 3>& needs);
// Of losses; `reduction` as their rows have it.
Tensor mse_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                    int64_t reduction);
Tensor huber_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                      int64_t reduction, double delta);
std::tuple<Tensor, Tensor> smooth_l1_backward(const Tensor& grad, const Tensor& input,
                                              const Tensor& target, const Scalar& beta,
                                              const std::array<bool, 2>& needs);
Tensor soft_margin_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                            int64_t reduction);
Tensor bce_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                    const Tensor& weight, int64_t reduction);
Tensor bce_with_logits_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                                const Tensor& weight, const Tensor& pos_weight, int64_t reduction);
Tensor bce_with_logits_target_backward(const Tensor& grad, const Tensor& input,
                                       const Tensor& weight, const Tensor& pos_weight,
                                       int64_t reduction);
Tensor bce_target_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                           int64_t reduction);
Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                                 bool scaled);

// Of Fourier transforms.
Tensor fft_r2c_backward(const Tensor& grad, const Dims& dim, int64_t normalization, bool onesided,
                        bool forward, const Dims& input_sizes);
Tensor fft_c2r_backward(const Tensor& grad, const Dims& dim, int64_t normalization, bool forward);

// Of factorizations (formulas_linalg.cpp names the sources). Gradients that did not arrive are
// undefined in `grads`.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper);
std::tuple<Tensor, Tensor> cholesky_solve_backward(const Tensor& grad, const Tensor& factor,
                                                   const Tensor& X, bool upper,
                                                   const std::array<bool, 2>& needs);
Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& factor, const Tensor& inverse,
                                 bool upper);
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& A);
Tensor lu_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
std::tuple<Tensor, Tensor> solve_backward(const Tensor& grad, const Tensor& A, const Tensor& X,
                                          const std::array<bool, 2>& needs);
Tensor inverse_backward(const Tensor& grad, const Tensor& inverse);
std::tuple<Tensor, Tensor> triangular_backward(const Tensor& grad, const Tensor& A, const Tensor& X,
                                               bool upper, bool left, bool unitriangular,
                                               const std::array<bool, 2>& needs);
std::tuple<Tensor, Tensor> householder_product_backward(const Tensor& grad, const Tensor& input,
                                                        const Tensor& tau);
std::tuple<Tensor, Tensor, Tensor> ormqr_backward(const Tensor& grad, const Tensor& input,
                                                  const Tensor& tau, const Tensor& other, bool left,
                                                  bool transpose);
Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                   std::string_view mode);
Tensor eigh_backward(const Grads& grads, const Tensor& values, const Tensor& vectors);
Tensor eig_backward(const Grads& grads, const Tensor& values, const Tensor& vectors, DType dtype);
Tensor svd_backward(const Grads& grads, const Tensor& U, const Tensor& S, const Tensor& Vh);
Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& det);
Tensor slogdet_backward(const Grads& grads, const Tensor& A, const Tensor& sign);
Tensor pinv_backward(const Tensor& grad, const Tensor& inverse, const Tensor& A);
std::tuple<Tensor, Tensor> lstsq_backward(const Tensor& grad, const Tensor& A, const Tensor& B,
                                          const std::array<bool, 2>& needs);

// Of attention, from weights that are computed again.
std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& grad, const Tensor& query,
                                                      const Tensor& key, const Tensor& value,
                                                      bool is_causal, double scale,
                                                      const std::array<bool, 3>& needs);
// Where a query may look at a key: (queries, keys), true up to the query's own position.
Tensor causal_mask(const Tensor& query, const Tensor& key);

// Of a recurrent layer (ops/recurrent.toml): input, hidden and cell state, weights, biases.
using RecurrentGrads = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
RecurrentGrads recurrence_backward(const Grads& grads, const Tensor& input, const Tensor& hidden,
                                   const Tensor& cell, const Tensor& weight_ih,
                                   const Tensor& weight_hh, const Tensor& bias_ih,
                                   const Tensor& bias_hh, const Tensor& output, const Tensor& gates,
                                   std::string_view mode, const Dims& rows, bool backwards,
                                   const std::array<bool, 7>& needs);

}  // namespace msa::formulas
