// Forward-mode AD: tangents that travel with tensors while a level is open.
//
// A level is a layer. It sees every operator that runs; where an input has a tangent at the level,
// it finds the results' tangents from the operator's gradient formulas. There is no second table:
// a vector-Jacobian product is linear in its cotangent, so its derivative with respect to the
// cotangent, applied to the tangent, is the Jacobian-vector product.
#pragma once
#include "core/dispatch/layers.h"

namespace msa {

class DualLayer;

// What one value carries: at most one tangent for each open level.
struct Tangents : Counted {
  struct At {
    DualLayer* level;
    Tensor tangent;
  };
  std::vector<At> at;
  static void destroy(Tangents* t);
};
void drop_tangents(Tangents* t);
bool tangents_open();                                     // in this thread
void share_tangents(Tensor& alias, const Tensor& value);  // also those that `value` gets later

// The tensor to differentiate by: connected to its own graph, with its tangents.
Tensor fresh_input(const Tensor& t);
Tensor without_history(const Tensor& t);  // detached, but for its tangents

int enter_dual_level();  // levels nest; the outermost is 0
void leave_dual_level();
int dual_depth();
// A view of `primal` with the tangent at the level.
Tensor make_dual(const Tensor& primal, const Tensor& tangent, int level);
Tensor tangent_of(const Tensor& t, int level);  // undefined: none
Tensor primal_of(const Tensor& t, int level);   // a view without the tangent at the level
void set_tangent(const Tensor& t, const Tensor& tangent, int level);

// Whether operators of this thread make tangents.
bool tangents_enabled();
void enable_tangents(bool on);

}  // namespace msa
