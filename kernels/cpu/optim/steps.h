// One optimizer step of one parameter, in one pass over its memory.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the buffer takes the gradient itself
};

// `buffer` is undefined without momentum.
void sgd_step(const SgdStep& step, const Tensor& param, const Tensor& grad, const Tensor& buffer);

struct AdamStep {
  double beta1, beta2, eps;
  double weight_decay;  // added to the gradient
  double shrink;        // what the parameter is multiplied by first: decoupled weight decay
  double step_size;     // lr / (1 - beta1^step)
  double root;          // sqrt(1 - beta2^step)
  bool maximize;
};

// `largest` is undefined without amsgrad.
void adam_step(const AdamStep& step, const Tensor& param, const Tensor& grad, const Tensor& average,
               const Tensor& square, const Tensor& largest);

}  // namespace msa::cpu
