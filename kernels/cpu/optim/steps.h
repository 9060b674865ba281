// One optimizer step of one parameter, in one pass over its memory: what each optimizer's step is
// made of. Formulas: docs/optimizers.md.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// What every step begins with.
struct StepStart {
  bool maximize = false;    // the gradient's sign is turned
  double weight_decay = 0;  // times the parameter, added to the gradient
  double shrink = 1;        // what the parameter is multiplied by: decoupled weight decay
};

// `kStates` counts the tensors that a step keeps for a parameter, named behind it in order; those
// with a question mark are undefined where their option is off.
struct SgdStep {
  static constexpr size_t kStates = 1;  // momentum_buffer?
  StepStart start;
  double lr, momentum, dampening;
  bool nesterov;
  bool first;  // the buffer takes the gradient itself
};
struct AdamStep {
  static constexpr size_t kStates = 3;  // exp_avg, exp_avg_sq, max_exp_avg_sq?
  StepStart start;
  double beta1, beta2, eps;
  double step_size;  // lr / (1 - beta1^step)
  double root;       // sqrt(1 - beta2^step)
};
struct RmspropStep {
  static constexpr size_t kStates = 3;  // square_avg, grad_avg?, momentum_buffer?
  StepStart start;
  double lr, alpha, eps, momentum;
};
struct AdagradStep {
  static constexpr size_t kStates = 1;  // sum
  StepStart start;
  double rate, eps;
};
struct AdadeltaStep {
  static constexpr size_t kStates = 2;  // square_avg, acc_delta
  StepStart start;
  double lr, rho, eps;
};
struct AdamaxStep {
  static constexpr size_t kStates = 2;  // exp_avg, exp_inf
  StepStart start;
  double beta1, beta2, eps;
  double rate;  // lr / (1 - beta1^step)
};
struct NadamStep {
  static constexpr size_t kStates = 2;  // exp_avg, exp_avg_sq
  StepStart start;
  double beta1, beta2, eps;
  double correction2;              // 1 - beta2^step
  double grad_rate, average_rate;  // of the gradient itself and of its running mean
};
struct RadamStep {
  static constexpr size_t kStates = 2;  // exp_avg, exp_avg_sq
  StepStart start;
  double beta1, beta2, eps, lr;
  double correction1;  // 1 - beta1^step
  double root2;        // sqrt(1 - beta2^step)
  double rectifier;    // 0 while the variance rests on too few steps to be used
};
struct AsgdStep {
  static constexpr size_t kStates = 1;  // ax
  StepStart start;
  double keep;  // what is left of the parameter: 1 - lambd * eta
  double eta, mu;
};
struct RpropStep {
  static constexpr size_t kStates = 2;  // prev, step_size
  StepStart start;
  double shrink, grow, least, most;
};

template <class Step>
void optim_step(const char* op, const Step& step, const Tensor& param, const Tensor& grad,
                const std::array<Tensor, Step::kStates>& states);

}  // namespace msa::cpu
