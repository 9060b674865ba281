// Batched tensors: what a function under vmap sees, one example's shape over the values of all.
//
// A batched tensor is a TensorImpl whose storage holds another tensor, on a device kind of its own.
// As with sparse tensors no kernel takes that kind: once autograd has recorded its node, the call
// goes to `batch_backend()`, which turns it into calls on the tensors inside. So gradients above a
// vmap belong to the batched tensors, and gradients below it to those inside.
#pragma once
#include "core/dispatch/layers.h"

namespace msa {

struct BatchedParts {
  Tensor value;     // has the batch dimension
  int64_t dim = 0;  // where in `value`
  int level = 0;    // of the vmap that made it, counted from the outermost: 1
};

inline bool is_batched(const Tensor& t) {
  return __builtin_expect(t.defined() && t->storage->device.kind == kBatchedKind, 0);
}
inline bool is_batched(const TensorList& list) {
  for (const Tensor& t : list)
    if (is_batched(t)) return true;
  return false;
}
template <class... T>
inline bool any_batched(const T&... inputs) {
  return (is_batched(inputs) || ...);
}
inline const BatchedParts& batched_parts(const Tensor& t) {
  return *static_cast<const BatchedParts*>(t->storage->context);
}

// `value` seen without its dimension `dim`, in the vmap at `level`.
Tensor make_batched(const Tensor& value, int64_t dim, int level);

// A tensor from the vmap at `level`: its value and batch dimension, or itself and -1. What all
// examples share (a batch dimension of stride 0) comes without one.
struct Operand {
  Tensor value;
  int64_t dim = -1;
  bool batched() const { return dim >= 0; }
};
Operand operand_at(const Tensor& t, int level);
// Its value with the batch dimension in front (a view); without one as it is.
Tensor in_front(const Operand& operand);
// The same, with the logical dimensions padded by ones in front to `rank`.
Tensor in_front(const Operand& operand, int64_t rank);
Tensor over_batch(const Operand& operand, int64_t size);  // in front, expanded if it had none

enum class Randomness : uint8_t { Error, Different, Same };

// The vmaps that this thread is in.
struct VmapLevel {
  int64_t size;
  Randomness randomness;
  int level;
};
void enter_vmap(int64_t size, Randomness randomness);
void leave_vmap();
int vmap_depth();
const VmapLevel& vmap_at(int level);

// Calls made now are those of the vmap at `level`: seen by the transforms outside it only.
class BelowVmap {
 public:
  explicit BelowVmap(int level);
  ~BelowVmap();
  BelowVmap(const BelowVmap&) = delete;
  BelowVmap& operator=(const BelowVmap&) = delete;

 private:
  SeenBelow below_;
  int before_;
};

Backend& batch_backend();

// Raised where a call cannot be made for all examples at once; a composed operator whose parts
// raise it runs once for each example.
struct BatchRefusal : Error {
  explicit BatchRefusal(std::string text) : Error(ErrorKind::Runtime, std::move(text)) {}
};
// Before elements are read into C++ or Python values: a batched tensor has many for each.
void refuse_reading(const Tensor& t);
// The values of all examples of all vmaps; of a plain tensor itself.
inline const Tensor& innermost(const Tensor& t) {
  return is_batched(t) ? innermost(batched_parts(t).value) : t;
}

// How a row is called on batched tensors (its `batch` field, or what its kind implies).
enum class BatchRule : uint8_t {
  Elementwise,  // all tensors broadcast together
  Dims,         // its `dim` parameters count from the first tensor's dimensions
  SharedIndex,  // the same, with an `index` that has no batch dimension
  Leading,      // works on the last dimensions; those before are a batch to it
  Fold,         // its first dimension is a batch: the vmap's is folded into it
  Widen,        // makes a tensor of its `size`: one for each example
  Parts,        // batched::<row>, of other operators, above autograd
  Own,          // batched::<row>, called with the batched tensors below autograd
  Loop          // once for each example
};
struct BatchRow {
  const OpInfo* op;
  BatchRule rule;
  bool view;    // the results share the first tensor's memory
  bool random;  // draws numbers
  Boxed own;    // Parts, Own
};
extern const BatchRow batch_table[];  // generated
extern const size_t batch_count;
const BatchRow* batch_row(const OpInfo& op);  // null: Loop

}  // namespace msa
