// torch.result_type: dimensioned tensors decide the dtype; 0-d ones and numbers only the category.
#include "core/dispatch/elementwise.h"

namespace msa {
namespace {

constexpr DType kNone = DType::Count;

DType promote(DType a, DType b) {
  if (a == kNone) return b;
  return b == kNone ? a : promote_types(a, b);
}

// `strong` keeps its dtype unless `weak` is of a higher category (bool, integer, float, complex).
DType combine(DType strong, DType weak) {
  if (strong == kNone) return weak;
  if (weak == kNone || is_complex(strong)) return strong;
  if (is_floating(strong)) return is_complex(weak) ? to_complex(strong) : strong;
  return strong == DType::Bool || is_inexact(weak) ? promote(strong, weak) : strong;
}

DType weak_dtype(DType number) {
  if (is_complex(number)) return to_complex(default_dtype());
  return is_floating(number) ? default_dtype() : number;
}

}  // namespace

DType result_type(std::span<const Tensor* const> inputs) {
  DType dimensioned = kNone, zero_dim = kNone, number = kNone;
  for (const Tensor* t : inputs) {
    const TensorImpl& impl = *t->impl();
    if (!impl.sizes.empty()) {
      dimensioned = promote(dimensioned, impl.dtype);
    } else if (impl.wrapped_number) {
      number = promote(number, weak_dtype(impl.dtype));
    } else {
      zero_dim = promote(zero_dim, impl.dtype);
    }
  }
  return combine(dimensioned, combine(zero_dim, number));
}

}  // namespace msa
