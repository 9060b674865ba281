// How the batched::<row> functions below autograd take their tensors apart and wrap their results.
#pragma once
#include "core/transforms/calls.h"

namespace msa::batched {

// The innermost vmap among the tensors of one call.
class Batch {
 public:
  template <class... T>
  explicit Batch(const T&... tensors) {
    (look(tensors), ...);
    size = vmap_at(level).size;
  }
  Operand of(const Tensor& t) const { return operand_at(t, level); }
  bool has(const Tensor& t) const { return of(t).batched(); }
  // What `has` no batch comes out of the vmap here, too: all examples may share a batched tensor.
  Tensor front(const Tensor& t) const { return in_front(of(t)); }
  Tensor front(const Tensor& t, int64_t rank) const { return in_front(of(t), rank); }
  Tensor over(const Tensor& t) const { return over_batch(of(t), size); }
  // The batch folded into the first of the example's dimensions.
  Tensor folded(const Tensor& t) const;
  Tensor unfolded(const Tensor& t, int64_t dim = 0) const;  // (..., batch * n, ...) in two
  Tensor made(const Tensor& value, int64_t dim = 0) const {
    return make_batched(value, dim, level);
  }
  int level = 0;
  int64_t size = 0;

 private:
  void look(const Tensor& t) {
    if (is_batched(t)) level = std::max(level, batched_parts(t).level);
  }
  void look(const TensorList& list) {
    for (const Tensor& t : list) look(t);
  }
};

inline Dims with_front(int64_t first, DimsView rest) {
  Dims dims{first};
  for (int64_t d : rest) dims.push_back(d);
  return dims;
}

}  // namespace msa::batched
