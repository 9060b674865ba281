// Where column-major matrices live.
#include "kernels/cpu/linalg/batch.h"

#include <limits>

namespace msa::cpu::linalg {

Dims column_major_strides(DimsView sizes) {
  Dims strides = contiguous_strides(sizes);
  const size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(1, sizes[n - 2]);
  return strides;
}

Columns::Columns(const Tensor& target) : target_(target) {
  const Dims strides = column_major_strides(target.sizes());
  room_ =
      target.strides() == strides ? target : empty_strided(target.sizes(), strides, target.dtype());
  MSA_REQUIRE(std::max(target.size(-1), target.size(-2)) <= std::numeric_limits<int>::max(),
              Runtime, "linalg: matrices of shape ", DimsView(target.sizes()),
              " are larger than LAPACK's 32-bit sizes.");
}

Columns working_copy(const Tensor& from) {
  return Columns(empty_strided(from.sizes(), column_major_strides(from.sizes()), from.dtype()),
                 from);
}

int64_t matrices_in(const Tensor& t) {
  return product(DimsView(t.sizes()).first(t.sizes().size() - 2));
}

void Failure::raise_if(const char* op) const {
  const int info = info_.load();
  MSA_REQUIRE(info == 0, LinAlg, op,
              ": the algorithm failed to converge: the input is ill-conditioned, has too many ",
              "repeated values, or is not finite (LAPACK's code: ", info, ").");
}

}  // namespace msa::cpu::linalg
