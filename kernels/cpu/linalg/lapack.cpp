// Looks LAPACK's routines up in the library that brings BLAS.
#include "kernels/cpu/linalg/lapack.h"

#include <string>

#include "core/base/error.h"
#include "kernels/cpu/blas.h"

namespace msa::cpu::lapack {
namespace {

// LAPACKE would refuse NaN with an argument error; LAPACK itself carries it through.
void let_nan_through() {
  static const bool done = [] {
    if (auto set = reinterpret_cast<void (*)(int)>(blas::symbol("LAPACKE_set_nancheck"))) set(0);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

void* find(const char* interface, char letter, const char* routine) {
  let_nan_through();
  const std::string name = cat(interface, letter, routine);
  void* const found = blas::symbol(name.c_str());
  MSA_REQUIRE(found, Runtime, "linalg: needs LAPACK's ", name,
              ", but no OpenBLAS was found; install the package scipy-openblas32.");
  return found;
}

}  // namespace msa::cpu::lapack
