// What the products of CSR matrices share: the check of their places, and the types they compute
// in.
#pragma once
#include "core/tensor/tensor.h"

namespace msa::cpu {

// Raises unless contiguous int64 parts name places within `n_columns` columns: nothing else has
// checked that.
void check_places(const Tensor& ends, const Tensor& columns, int64_t n_columns);

// f<T>() with the type that products of `dtype` are computed in.
template <class F>
auto with_product_type(DType dtype, F&& f) {
  switch (opmath(dtype)) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::C64:
      return f.template operator()<c64>();
    case DType::C128:
      return f.template operator()<c128>();
    default:
      MSA_REQUIRE(is_integral(dtype) && dtype != DType::Bool, NotImplemented,
                  "mm: not implemented for sparse matrices of ", dtype,
                  "; convert with .to(torch.float32) first");
      return f.template operator()<int64_t>();
  }
}

}  // namespace msa::cpu
